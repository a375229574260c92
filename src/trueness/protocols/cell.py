"""The place that scores, warnings and claims are about: one kind of model on one dataset, over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from trueness.protocols.result import Abstention, ResultWarning

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
