"""What is measured, declared once, and the place it is measured in: a kind of model on a dataset, over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from trueness.protocols.result import Abstention, Direction, ResultWarning, Score, Variant
from trueness.stats import Interval, Reason, Undefined, within

Some = TypeVar("Some", bound="Cell")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Cell:
    """One kind of model on one dataset; each protocol adds what it knows of it."""

    dataset: str
    model: str
    target: str = field(default="the predicted class", kw_only=True)
    """What is explained there."""

    @property
    def where(self) -> str:
        """In words."""
        return f"{self.dataset}, {self.model}"

    @property
    def place(self) -> dict[str, str]:
        """As columns of a table."""
        return {"dataset": self.dataset, "model": self.model}

    def warn(self, code: str, message: str, *more: str) -> ResultWarning:
        """A warning about the cell, or with `more` words about a part of it."""
        return ResultWarning(code=code, where=", ".join((self.where, *more)), message=message)

    def abstain(self, quantity: str, reason: str, *more: str) -> Abstention:
        """No answer in the cell, or with `more` words in a part of it."""
        return Abstention(quantity=quantity, where=", ".join((self.where, *more)), reason=reason)


def of_each(cells: Iterable[Some], make: Callable[[Some], Iterable[Made]]) -> tuple[Made, ...]:
    """What is made of each cell, in order."""
    return tuple(item for cell in cells for item in make(cell))


@dataclass(frozen=True)
class Quantity:
    """Which way is better, what a random explanation and what the best one gets, and the range it can have."""

    name: str
    direction: Direction = "neither"
    null: float | None = None
    best: float | None = None
    least: float = -math.inf
    most: float = math.inf

    def of(self, part: str | None) -> Quantity:
        """The same, of a part of the data such as one class or seed, or of all."""
        return self if part is None else replace(self, name=f"{self.name}, {part}")

    def score(
        self,
        cell: Cell,
        method: str,
        interval: Interval,
        *,
        variant: Variant = "corrected",
        null: float | None = None,
        best: float | None = None,
        note: str = "",
        after: str = "",
    ) -> Iterator[Score]:
        """The score of a method in a cell, its interval cut to the range; nothing where the value is undefined.

        `null` and `best` are given where they depend on the data. `note` is said before why a bound is missing, `after`
        behind it.
        """
        if isinstance(interval.value, Undefined):
            return
        interval = within(interval, self.least, self.most)
        yield Score(
            quantity=self.name,
            dataset=cell.dataset,
            model=cell.model,
            method=method,
            variant=variant,
            target=cell.target,
            value=float(interval.value),
            low=_known(interval.low),
            high=_known(interval.high),
            level=interval.level,
            n=interval.n,
            direction=self.direction,
            null=self.null if null is None else null,
            best=self.best if best is None else best,
            note="; ".join(text for text in (note, _missing(interval), after) if text),
        )


def share(
    name: str, direction: Direction = "neither", null: float | None = None, best: float | None = None
) -> Quantity:
    """Something between 0 and 1."""
    return Quantity(name, direction, null, best, 0.0, 1.0)


ACCURACY = share("accuracy", "higher is better", best=1.0)


def columns(interval: Interval) -> dict[str, Any]:
    """An interval as columns of a table: mean, low, high, n; an undefined bound is missing."""
    ends = {"low": _known(interval.low), "high": _known(interval.high)}
    return {"mean": float(interval.value), **ends, "n": interval.n}


def _known(value: float | Undefined) -> float | None:
    return None if isinstance(value, Undefined) else value


def _missing(interval: Interval) -> str:
    """Why there is no interval, if so."""
    if not isinstance(interval.low, Undefined):
        return ""
    same = interval.low.reason is Reason.CONSTANT
    return "no interval: the same value every time" if same else f"no interval: it is {interval.low}"
