"""What a kind of input is: one object that reads it, opens its models, plants evidence in it and draws it.

Everything outside `kinds/` asks a `Kind`, and never which one it is. To add a kind is one folder and one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trueness.data.inputs import Split
    from trueness.engine import Stored
    from trueness.explainers.contract import Explainer
    from trueness.models.network import Network
    from trueness.registry import Registry


@dataclass(frozen=True)
class Words:
    """How people speak of this kind. Sentences are made with these words; no sentence is changed afterwards."""

    example: str
    examples: str
    unit: str
    units: str
    edit: str = ""
    """What the harmless edit does, as a clause: "a full stop is added or taken away"."""


class Examples(Protocol):
    """Inputs as people give them, each with the number of its class."""

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """(examples,) classes."""
        ...

    def __len__(self) -> int: ...

    def pick(self, rows: npt.ArrayLike) -> Examples:
        """Some of them, in the order given."""
        ...

    def labelled(self, labels: npt.ArrayLike) -> Examples:
        """The same inputs under other classes."""
        ...


class Dataset(Protocol):
    """Named splits of examples."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def classes(self) -> tuple[str, ...]:
        """Their names, in the order of their numbers."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed, converted or left out while reading."""
        ...

    @property
    def splits(self) -> Mapping[str, Examples]:
        """By name: train, dev, test, or one alone."""
        ...

    def default_split(self, split: str | None = None) -> Examples:
        """The split of that name; without a name test, or the only one there is."""
        ...


class Model(Protocol):
    """A trained classifier with all it needs to read examples."""

    @property
    def network(self) -> Network:
        """What explainers look at."""
        ...

    @property
    def classes(self) -> tuple[str, ...]:
        """Their names."""
        ...

    def coded(self, examples: Any) -> Split:
        """Examples on the model's device, ready to be batched."""
        ...

    def save(self, folder: str | Path) -> Path:
        """Write it to a folder from which its kind opens it."""
        ...


class Models(Protocol):
    """How models of a kind are found, opened and trained."""

    families: Registry[Any]

    def recognises(self, model: Any) -> bool:
        """Whether a folder, an address of code, or an object is a model of this kind; nothing of it is run."""
        ...

    def open(self, model: Any, device: str = "cpu", family: Any = None) -> Model:
        """The model: from a folder, an address, or whatever object people have one in; UserError with what to do."""
        ...

    def train(self, family: str, data: Any, seeds: Sequence[int], **how: Any) -> Sequence[Model]:
        """One model a seed."""
        ...


class Data(Protocol):
    """How data of a kind are read, and kept between tasks."""

    datasets: Registry[Any]

    def recognises(self, data: Any) -> bool:
        """Whether a name, file, folder or object holds examples of this kind."""
        ...

    def read(self, data: Any, *, model: Any = None, columns: Mapping[str, str] | None = None, **options: Any) -> Any:
        """A dataset of whatever people have; `model` tells what size or words it reads."""
        ...

    def pack(self, data: Any) -> dict[str, Any]:
        """Payloads of a task that hold a dataset."""
        ...

    def unpack(self, stored: Stored) -> Any:
        """The dataset again."""
        ...


@dataclass(frozen=True)
class Kind:
    """One sort of input. What is None cannot be done for it, and the trials that need it say so."""

    name: str
    words: Words
    models: Models
    data: Data
    explainers: Registry[Explainer]
    usual: Callable[[Model], Sequence[str]]
    """The explainers that an audit of a model puts on trial if none is named."""
    foils: tuple[str, ...] = ("random",)
    """Made-up explainers that must fail."""
    edit: Callable[[Any], Any] | None = None
    """Examples after a change that means nothing: an added full stop, one level of brightness."""
    plant: Any = None
    """Evidence planted in a dataset that a model like the audited one must use."""
    relatives: Any = None
    """How models like the audited one are trained."""
    trials: tuple[Any, ...] = field(default=())
    """Trials that only this kind has."""
    view: Any = None
    """How an example with scores is drawn."""
