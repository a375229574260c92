"""All scores at a glance: one row per method, one column per quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueness.protocols.result import Result, Score

_MOST = 14
"""Columns; of studies with more quantities only the headlines stand here."""


@dataclass(frozen=True)
class Column:
    """A quantity, and which way is better."""

    name: str
    direction: str
    null: float | None
    """What a random explanation gets, where it is the same for all rows."""


@dataclass(frozen=True)
class Row:
    """One method at one dataset and model; None where nothing was measured."""

    method: str
    place: tuple[str, ...]
    scores: tuple[Score | None, ...]


@dataclass(frozen=True)
class Matrix:
    """Methods and trials."""

    places: tuple[str, ...]
    """What tells rows of one method apart: dataset, model, variant, where there are several."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def matrix(result: Result, headlines: Sequence[str] = ()) -> Matrix:
    """The scores as a table of methods and quantities, in order of appearance."""
    scores = [score for score in result.scores if score.method]
    names = list(dict.fromkeys(score.quantity for score in scores))
    if len(names) > _MOST:
        names = [name for name in names if name in headlines] or names[:_MOST]
    places = tuple(
        name for name in ("dataset", "model", "variant") if len({getattr(score, name) for score in scores}) > 1
    )
    found: dict[tuple[str, tuple[str, ...]], dict[str, Score]] = {}
    for score in scores:
        if score.quantity in names:
            place = tuple(str(getattr(score, name)) for name in places)
            found.setdefault((score.method, place), {})[score.quantity] = score
    directions = {score.quantity: score.direction for score in reversed(scores)}
    nulls = {name: _one({score.null for score in scores if score.quantity == name}) for name in names}
    return Matrix(
        places,
        tuple(Column(name, directions[name], nulls[name]) for name in names),
        tuple(Row(method, place, tuple(some.get(name) for name in names)) for (method, place), some in found.items()),
    )


def _one(values: set[float | None]) -> float | None:
    return values.pop() if len(values) == 1 else None
