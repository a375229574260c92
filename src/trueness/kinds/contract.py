"""What a kind of input is: one object that reads it, opens its models, plants evidence in it and draws it.

Everything outside `kinds/` asks a `Kind`, and never which one it is. To add a kind is one folder and one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from trueness.data.dataset import Dataset
    from trueness.data.inputs import Split
    from trueness.engine import Stored
    from trueness.explainers.contract import Explainer
    from trueness.models.network import Network
    from trueness.registry import Registry


@dataclass(frozen=True)
class Words:
    """How people speak of this kind. Sentences are made with these words; no sentence is changed afterwards."""

    example: str = "example"
    examples: str = "examples"
    unit: str = "unit"
    units: str = "units"
    edit: str = "something changes that means nothing"
    """What the harmless edit does, as a clause: "a full stop is added or taken away"."""


class Model(Protocol):
    """A trained classifier with all it needs to read examples."""

    @property
    def kind(self) -> str:
        """The name of its kind."""
        ...

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

    @property
    def families(self) -> Registry[Any]:
        """What can be trained, by name; `pretrained` says of one that it is fine-tuned from a folder."""
        ...

    def recognises(self, model: Any) -> bool:
        """Whether a folder, an address of code, or an object can be opened as a model; nothing of it is run."""
        ...

    def open(self, model: Any, device: str = "cpu", family: Any = None) -> Model:
        """The model: from a folder, an address, or whatever object people have one in; UserError with what to do."""
        ...

    def train(self, family: str, data: Any, seeds: Sequence[int], **how: Any) -> Sequence[Model]:
        """One model a seed: `data` has the splits train and dev; asked for are recipe, device, states and more."""
        ...

    def pack(self, models: Mapping[str, Any]) -> dict[str, Any]:
        """Payloads of a task that hold models of one family, by their seeds or other names."""
        ...

    def unpack(self, stored: Stored, name: str, device: str) -> Model:
        """One of them again."""
        ...


class Data(Protocol):
    """How data of a kind are read, and kept between tasks."""

    @property
    def datasets(self) -> Registry[Any]:
        """Those that have a name."""
        ...

    def recognises(self, data: Any) -> bool:
        """Whether a name, file, folder or object holds examples of this kind."""
        ...

    def read(
        self,
        data: Any,
        *,
        model: Any = None,
        columns: Mapping[str, str] | None = None,
        root: str | Path | None = None,
        **options: Any,
    ) -> Dataset[Any]:
        """A labelled dataset, with the splits that there are; `model` tells for example what size images need."""
        ...

    def look(
        self,
        data: Any,
        model: Model,
        *,
        split: str | None = None,
        columns: Mapping[str, str] | None = None,
        gold: bool = True,
    ) -> Dataset[Any]:
        """Examples as a model reads them, with labels or without: the split asked for is the first, others may follow.

        Labels are numbers of the model's classes, -1 where there is none; unless `gold` labels are left out.
        """
        ...

    def sources(self, data: str) -> Sequence[Path]:
        """The files and folders that a dataset of that name or path is read from: what they hold is part of a key."""
        ...

    def pack(self, data: Any) -> dict[str, Any]:
        """Payloads of a task that hold a dataset."""
        ...

    def unpack(self, stored: Stored) -> Dataset[Any]:
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
    outlines: Callable[..., Sequence[float]] | None = None
    """How well labels can be told from which units are hidden; if it is None, models of the same family are trained."""
