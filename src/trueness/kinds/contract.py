"""What a kind of input is: one object that reads it, opens its models, plants evidence in it and draws it.

Everything outside `kinds/` asks a `Kind`, and never which one it is. To add a kind is one folder and one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from numpy.random import Generator as Draws
    from torch import Generator

    from trueness.data.dataset import Dataset
    from trueness.data.inputs import Split
    from trueness.engine import Stored
    from trueness.explainers.contract import Explainer
    from trueness.models.network import Network
    from trueness.protocols.result import Result
    from trueness.registry import Registry
    from trueness.stats.undefined import Bools, Floats


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

    @property
    def network(self) -> Network:
        """What explainers look at."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Their names."""

    def coded(self, examples: Any) -> Split:
        """Examples on the model's device, ready to be batched."""

    def save(self, folder: str | Path) -> Path:
        """Write it to a folder from which its kind opens it."""


class Models(Protocol):
    """How models of a kind are found, opened and trained."""

    @property
    def families(self) -> Registry[Any]:
        """What can be trained, by name; `pretrained` says of one that it is fine-tuned from a folder."""

    def recognises(self, model: Any) -> bool:
        """Whether a folder, an address of code, or an object can be opened as a model; nothing of it is run."""

    def open(self, model: Any, device: str = "cpu", family: Any = None) -> Model:
        """The model: from a folder, an address, or whatever object people have one in; UserError with what to do."""

    def modules(self, model: Any) -> Sequence[str]:
        """What takes long to import, of what opening a model imports: processes that will open it load it before."""
        ...

    def train(self, family: str, data: Any, seeds: Sequence[int], **how: Any) -> Sequence[Model]:
        """One model a seed: `data` has the splits train and dev; asked for are recipe, device, states and more."""

    def pack(self, models: Mapping[str, Any]) -> dict[str, Any]:
        """Payloads of a task that hold models of one family, by their seeds or other names."""

    def unpack(self, stored: Stored, name: str, device: str) -> Model:
        """One of them again."""


class Data(Protocol):
    """How data of a kind are read, and kept between tasks."""

    @property
    def datasets(self) -> Registry[Any]:
        """Those that have a name."""

    def recognises(self, data: Any) -> bool:
        """Whether a name, file, folder or object holds examples of this kind."""

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

    def check(
        self, data: str, *, columns: Mapping[str, str] | None = None, root: str | Path | None = None
    ) -> dict[str, Any]:
        """What is in a dataset of that name or path, and whether it can be used."""

    def sources(self, data: str) -> Sequence[Path]:
        """The files and folders that a dataset of that name or path is read from: what they hold is part of a key."""

    def pack(self, data: Any) -> dict[str, Any]:
        """Payloads of a task that hold a dataset."""

    def holds(self, stored: Stored) -> bool:
        """Whether a task left a dataset of this kind."""

    def unpack(self, stored: Stored) -> Dataset[Any]:
        """The dataset again."""


class Explaining(Protocol):
    """What `tn.explain` and its neighbours ask of a kind.

    `tn.explain` explains at the finest units, such as pixels, unless `finest` is there and false.
    """

    def usual(self, model: Any) -> Sequence[str]:
        """Explainers that are worth comparing, the first one being the first to try."""

    def is_data(self, examples: Any) -> bool:
        """Whether these are data to be read, of which a split is looked at, and not the examples themselves."""

    def given(self, examples: Any, model: Any, others: Sequence[str] | None = None) -> tuple[Any, bool]:
        """Examples as somebody gives them, each of them kept and in its place; and whether they are without labels."""

    def shown(self, model: Any, examples: Any, row: int, scores: Floats) -> Mapping[str, Any]:
        """What an Explanation has of one example: `scores`, made of those (values,), and `tokens` or `pixels`."""


class Attacks(Protocol):
    """What can be asked of models with attention."""

    def adversary(self, model: Any, examples: Any, epsilon: float) -> Result:
        """The attention that differs most from the model's own while its output changes by at most epsilon."""

    def attefa(self, base: Any, other: Any, examples: Any) -> Result:
        """Whether two models predict the same while attending elsewhere."""


@dataclass(frozen=True)
class Finding:
    """One check of a trial that a single kind has: numbers of examples beside a threshold; larger is better."""

    name: str
    measure: str
    """What the number is, in plain words."""
    values: Floats
    """(examples,) from 0 to 1. Not a number where nothing was measured."""
    threshold: float
    shares: bool = False
    """Whether the share of examples with a value above 0 is judged, whatever these are, and not the mean."""
    null: float = 0.0
    """What an explanation that knows nothing gets."""


@dataclass(frozen=True)
class KindTrial:
    """A trial that only models of one kind have."""

    name: str
    question: str
    how: str
    """For everybody: what is done, and what it shows."""
    papers: tuple[str, ...]
    measure: Callable[[Any, Any, Explainer], tuple[Sequence[Finding], Sequence[str]]]
    """Of a model, examples and an explainer: checks, and sentences beside them; no checks where it does not apply."""


@dataclass(frozen=True)
class Planted:
    """A dataset that a model can only learn by evidence that was planted in it."""

    dataset: Any
    """With the splits train, dev and test."""
    bound: float
    """The accuracy that a model blind to the evidence has at best."""
    evidence: str
    """What was planted, in a word or two."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What `Planter.where` has to know, as plain JSON."""


class Planter(Protocol):
    """Plants evidence that a model must use."""

    @property
    def speaks(self) -> bool:
        """Whether evidence speaks for the class of its example: then scores with signs have to be above 0 there.

        What is planted in examples of one class alone does not; scores are ranked by magnitude.
        """

    def plant(self, model: Any, dataset: Any, seed: int) -> Planted:
        """Other labels, and evidence of them; UserError where the dataset does not allow it."""

    def where(self, model: Any, examples: Any, about: Mapping[str, Any]) -> tuple[Bools, Bools]:
        """(examples, units) where the evidence is, and where what only looks like it is."""


@dataclass(frozen=True)
class Known:
    """A classifier of which it is known why it decides as it does, and examples of it: what audits are tried on.

    Its log odds add up over the units, or nearly: what hiding each alone does to them is the right explanation.
    """

    model: Any
    examples: Any
    wrong: Mapping[str, Explainer] = field(default_factory=dict)
    """Explanations that are wrong in a way which only these examples allow, such as one that is blind to "not"."""
    draws: Callable[[Any, int], Iterator[Generator]] | None = None
    """Of a batch and a seed: draws for each example that the harmless edit leaves alone; `generators` where None."""
    dataset: Any = None
    """More such examples, under the model's classes, to train others on; None where that would teach nothing."""
    like: Mapping[str, Any] = field(default_factory=dict)
    """What `Relatives.train` has to know."""


class Relatives(Protocol):
    """How models like the audited one are trained."""

    def passes(self, like: Mapping[str, Any]) -> tuple[float, float]:
        """About how many passes over the data training takes: with planted evidence, and of the others."""

    def like(self, model: Path | str, family: Any = None) -> Mapping[str, Any] | None:
        """What `train` has to know, as parameters of tasks; None where such a model has nothing to train."""

    def train(
        self,
        like: Mapping[str, Any],
        dataset: Any,
        seed: int,
        *,
        purpose: Purpose,
        epochs: int,
        device: str,
        longer: bool = False,
    ) -> Any:
        """A model of the same architecture; see `Purpose`. With `epochs` at most so many passes.

        `longer` is for those that did not learn by the usual way: None where there is no longer one.
        """

    def retraining(self, like: Mapping[str, Any]) -> dict[str, Any] | None:
        """How Recursive ROAR trains such models again, as parameters of its tasks; None where it cannot."""


class View(Protocol):
    """How examples with their scores are shown."""

    def contents(self, model: Any, examples: Any) -> Sequence[Content]:
        """What a person sees of each."""

    def scores(self, model: Any, examples: Any, row: int, scores: Floats) -> Sequence[float]:
        """One score for each unit that a person sees, from those (units,) of the network."""


@dataclass(frozen=True)
class Content:
    """An example as a person sees it: as units side by side, or as a picture under a grid of units."""

    units: tuple[str, ...] = ()
    image: str = ""
    """A PNG in base 64."""
    grid: tuple[int, int] = (0, 0)
    """Of a picture: rows and columns of units."""
    beside: str = ""
    """What belongs to it and is not explained, such as the second text of a pair."""


Purpose = Literal["planted", "companion", "twin", "stranger"]
"""What a model is trained for: to use planted evidence; to say what the audited one says with units hidden at random
(companion), or from another seed (twin); to learn random labels from weights in random order (stranger)."""


@dataclass(frozen=True)
class Kind:
    """One sort of input. What is None cannot be done for it, and the trials that need it say so."""

    name: str
    words: Words
    models: Models
    data: Data
    explainers: Registry[Explainer]
    usual: Callable[[Any, Any], Sequence[str]]
    """The explainers that an audit puts on trial if none is named: of a model's folder or address, and its family."""
    foils: tuple[str, ...] = ("random",)
    """Made-up explainers that must fail."""
    edit: Callable[[Any], tuple[Any, Sequence[int]]] | None = None
    """Examples after a change that means nothing (an added full stop, one level of brightness), and of each how many
    units that a person sees, from the first, are still the same."""
    planter: Planter | None = None
    """Evidence planted in a dataset that a model like the audited one must use."""
    relatives: Relatives | None = None
    """How models like the audited one are trained."""
    trials: tuple[KindTrial, ...] = ()
    """Trials that only this kind has."""
    view: View | None = None
    """How an example with scores is drawn."""
    oddities: Callable[[Any, Any], Mapping[str, int]] | None = None
    """Of a model and examples: clauses on how it reads them ("are cut off"), and of how many that is true."""
    plantings: Registry[Any] | None = None
    """What can be planted, by name."""
    outlines: Callable[..., Sequence[float]] | None = None
    """How well labels can be told from which units are hidden; if it is None, models of the same family are trained."""
    known: Mapping[str, Callable[[Draws, int], Known]] = field(default_factory=dict)
    """By name, made from random draws and a number of examples: models that audits are tried on."""
    explaining: Explaining | None = None
    """How examples are given to `tn.explain`, and how their scores are shown."""
    attacks: Attacks | None = None
    """What can be asked of attention, where models of this kind have some."""
    write_splits: Callable[..., dict[str, Any]] | None = None
    """Writes one file as train, dev and test."""
    sizes: Callable[[Any], Mapping[str, Any]] | None = None
    """Of a model's folder or address: how much of everything an audit does, where neither sizes nor a budget say."""
    demos: Mapping[str, Callable[..., Mapping[str, Any]]] = field(default_factory=dict)
    """Demonstrations that need nothing of one's own, by name: of a store, an executor and a listener, a table."""
    dry_run: str = ""
    """The study that plants evidence in one's own data, if this kind has its own. Otherwise its planter is asked, with
    no model."""


def known_later(module: str, makers: Mapping[str, str]) -> Mapping[str, Callable[[Draws, int], Known]]:
    """Makers of known models by name, from the names of functions of a module that is imported when one is asked."""

    def asked(maker: str, draws: Draws, examples: int) -> Known:
        found: Known = getattr(import_module(module), maker)(draws, examples)
        return found

    return {name: partial(asked, maker) for name, maker in makers.items()}
