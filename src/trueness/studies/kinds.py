"""The kinds of study: one object each says how its files are checked and planned, and how its results are shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.engine import Stored, Task
from trueness.errors import UserError
from trueness.protocols.result import Result
from trueness.registry import Registry
from trueness.studies.schema import Study

if TYPE_CHECKING:
    import pandas as pd

Published = Mapping[tuple[str, ...], dict[str, Any]]
"""Published figures by quantity, dataset, model and method; facts copied from a paper."""
PUBLISHED_KEY = ("quantity", "dataset", "model", "method")


@dataclass(frozen=True)
class Margin:
    """How far apart two runs of a paper's own lie, of one quantity: within it a value counts as the same."""

    quantity: str
    method: str
    """Of which method's values; of all where it is empty."""
    model: str
    """Of which models, as a pattern such as bilstm-*; of all where it is empty."""
    margin: float
    group: str
    """What the quantity is counted with."""
    source: str
    """Where in the paper the margin is from."""

    def is_for(self, fact: Mapping[str, Any]) -> bool:
        """Whether a published value is judged by it."""
        mine = fact["quantity"] == self.quantity and self.method in ("", fact["method"])
        return mine and fnmatchcase(fact["model"], self.model or "*")


@dataclass(frozen=True)
class StudyKind:
    """All that belongs to one kind of study."""

    name: str
    description: str
    schema: type[Study]
    plan: Callable[[Any], Task]
    """From a checked study to the task whose payloads are the study's result."""
    intervals: str
    """How the intervals of its scores are made, in words."""
    figures: Callable[[Result], Iterable[Any]] = lambda _: ()
    tables: Callable[[Result, Published], Iterable[Any]] = lambda *_: ()
    beside: Callable[[Stored], Mapping[str, pd.DataFrame]] = lambda _: {}
    """Tables that come from the tasks behind a result and are no part of it."""
    folder: str | Path | None = None
    """The package or folder in which its study files (.toml) and published.csv lie, if it has any."""
    headlines: tuple[str, ...] = ()
    """Of studies with many scores: the quantities that a terminal shows."""

    def published(self) -> Published:
        """The published figures."""
        return {tuple(row[name] for name in PUBLISHED_KEY): row for row in self._rows("published.csv")}

    def margins(self) -> tuple[Margin, ...]:
        """Within which a value agrees with a published one; a quantity without a margin is shown, not judged."""
        rows = self._rows("margins.csv")
        return tuple(Margin(**{**row, "margin": float(row["margin"])}) for row in rows)

    def files(self) -> dict[str, str]:
        """Name to TOML text of the studies that come with it."""
        texts = {item.name: item.read_text(encoding="utf-8") for item in self._files() if item.name.endswith(".toml")}
        return {name.removesuffix(".toml"): texts[name] for name in sorted(texts)}

    def _rows(self, name: str) -> list[dict[str, Any]]:
        file = next((item for item in self._files() if item.name == name), None)
        return list(csv.DictReader(io.StringIO("" if file is None else file.read_text(encoding="utf-8"))))

    def _files(self) -> list[Traversable]:
        if self.folder is None:
            return []
        place = resources.files(self.folder) if isinstance(self.folder, str) else self.folder
        return [item for item in place.iterdir() if item.is_file()]


def later(package: str, module: str, name: str = "") -> Callable[..., Any]:
    """The function `name` of a package's module, or the one called as the module is; it loads when it is called.

    It shows a result: one that lacks what is shown was made by another version.
    """

    def call(*given: Any) -> Any:
        try:
            found = getattr(import_module(f"{package}.{module}"), name or module)(*given)
            return list(found) if isinstance(found, Iterator) else found
        except KeyError as error:
            raise UserError(
                f"The result has no {error.args[0]!r}: another version of trueness made it; run the study again."
            ) from error

    return call


def _as_kind(thing: Any, name: str) -> StudyKind:
    if not isinstance(thing, StudyKind):
        raise UserError(f"{name} is no study kind: it must be a StudyKind.")
    return thing


KINDS: Registry[StudyKind] = Registry("study kind", group="trueness.studies", adapt=_as_kind)


def published_study(package: str | None, **about: Any) -> StudyKind:
    """Register the kind of study that a paper's package holds, with its modules figures and tables."""
    assert package is not None
    there = {item.name for item in resources.files(package).iterdir()}
    shown = {name: later(package, name) for name in ("figures", "tables") if f"{name}.py" in there}
    kind = StudyKind(folder=package, **{**shown, **about})
    return KINDS.add(kind.name, kind, kind.description)


def plan(study: Study) -> Task:
    """The task whose payloads are the study's result; its upstream is the whole plan."""
    return KINDS[study.kind].plan(study)
