"""The kinds of study: one object each says how its files are checked and planned, and how its results are shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from trueness.engine import Stored, Task
from trueness.protocols.result import Result
from trueness.registry import Registry
from trueness.studies.schema import Study

if TYPE_CHECKING:
    import pandas as pd

Published = Mapping[tuple[str, ...], dict[str, Any]]
"""Published figures by quantity, dataset, model and method; facts copied from a paper."""
PUBLISHED_KEY = ("quantity", "dataset", "model", "method")


@dataclass(frozen=True)
class StudyKind:
    """All that belongs to one kind of study."""

    name: str
    description: str
    folder: str
    """The package in which its study files (.toml) and published.csv lie."""
    schema: type[Study]
    plan: Callable[[Any], Task]
    """From a checked study to the task whose payloads are the study's result."""
    intervals: str
    """How the intervals of its scores are made, in words."""
    figures: Callable[[Result], Iterable[Any]] = lambda _: ()
    tables: Callable[[Result, Published], Iterable[Any]] = lambda *_: ()
    beside: Callable[[Stored], Mapping[str, pd.DataFrame]] = lambda _: {}
    """Tables that come from the tasks behind a result and are no part of it."""
    headlines: tuple[str, ...] = ()
    """Of studies with many scores: the quantities that a terminal shows."""

    def published(self) -> Published:
        """The published figures."""
        file = resources.files(self.folder) / "published.csv"
        if not file.is_file():
            return {}
        rows = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))
        return {tuple(row[name] for name in PUBLISHED_KEY): row for row in rows}

    def files(self) -> dict[str, str]:
        """Name to TOML text of the studies that come with it."""
        found = sorted(
            (item for item in resources.files(self.folder).iterdir() if item.name.endswith(".toml")),
            key=lambda item: item.name,
        )
        return {item.name.removesuffix(".toml"): item.read_text(encoding="utf-8") for item in found}


KINDS: Registry[StudyKind] = Registry("study kind")
"""Filled from above: `trueness.papers` adds the papers'."""


def plan(study: Study) -> Task:
    """The task whose payloads are the study's result; its upstream is the whole plan."""
    return KINDS[study.kind].plan(study)
