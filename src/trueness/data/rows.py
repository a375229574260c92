"""Examples of one size on a device; and those that are rows of values, of which a hidden one shows a blank value."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.units import seeded

_EXPLAINED = 1 << 14
"""Values of a batch that is explained."""


class EvenBatch:
    """What batches of examples of one size have in common: nothing is padded, all of it is explained."""

    labels: Tensor
    numbers: Tensor
    """(examples,) of each its number in the split: what is drawn for it depends on nothing else."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def width(self) -> int:
        """How many values each has."""
        raise NotImplementedError

    @property
    def lengths(self) -> Tensor:
        """(examples,) how many values each has."""
        return torch.full((len(self),), self.width, device=self.labels.device)

    def rows(self, index: Tensor) -> Self:
        """Some of the examples, in the order given, repeats allowed."""
        raise NotImplementedError

    def cut(self, width: int, *, full: bool) -> Self:  # noqa: ARG002
        """All examples have one size."""
        return self

    def alone(self) -> Iterator[Self]:
        """One example at a time."""
        for row in range(len(self)):
            yield self.rows(torch.tensor([row], device=self.labels.device))

    def generators(self, seed: int) -> Iterator[torch.Generator]:
        """Random draws that are fixed by the seed and an example's number."""
        return (seeded(seed, number) for number in self.numbers.tolist())


class EvenSplit:
    """What splits of examples of one size have in common."""

    device: torch.device
    labels: Any
    units: int
    """Of each example."""
    most, most_units = 1 << 30, 1 << 17
    """Examples and units of a batch that is looked at."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many units each example has."""
        return np.full(len(self), self.units, dtype=np.int64)

    @property
    def tokens(self) -> int:
        """Units of all examples."""
        return len(self) * self.units

    @property
    def maskable(self) -> Tensor:
        """(tokens,) which units may be hidden: all."""
        return torch.ones(self.tokens, dtype=torch.bool, device=self.device)

    def addresses(self, rows: npt.NDArray[np.intp], width: int) -> Tensor:
        """(rows, width): the number that each unit has among all of the split."""
        first = torch.from_numpy(np.asarray(rows, dtype=np.int64)).to(self.device) * self.units
        return first[:, None] + torch.arange(width, device=self.device)

    def batch(self, rows: npt.ArrayLike) -> Any:
        """The examples of those numbers."""
        raise NotImplementedError

    def in_order(self, max_tokens: int | None = None) -> Iterator[tuple[npt.NDArray[np.intp], Any]]:
        """Batches with the numbers of their examples, of at most so many units, and one example at least."""
        size = max(1, min(self.most, (max_tokens or self.most_units) // max(1, self.units)))
        for begin in range(0, len(self), size):
            rows = np.arange(begin, min(begin + size, len(self)), dtype=np.intp)
            yield rows, self.batch(rows)

    def shuffled(self, size: int, rng: np.random.Generator) -> list[npt.NDArray[np.intp]]:
        """Numbers of examples in random order, so many at a time."""
        order = rng.permutation(len(self))
        return [order[begin : begin + size] for begin in range(0, len(order), size)]


@dataclass(frozen=True)
class RowBatch(EvenBatch):
    """Some examples as tensors."""

    values: Tensor
    """(examples, values)"""
    labels: Tensor
    numbers: Tensor
    blank: Tensor
    """(values,) what a hidden value shows."""
    background: Tensor
    """(some, values) other examples of the split."""

    grid = ()
    """Values have no neighbours."""

    @property
    def width(self) -> int:
        """How many values there are."""
        return int(self.values.shape[1])

    @property
    def mask(self) -> Tensor:
        """(examples, values) true at explainable units: all of them."""
        return torch.ones_like(self.values, dtype=torch.bool)

    def rows(self, index: Tensor) -> RowBatch:
        """Some of the examples, in the order given, repeats allowed."""
        return replace(self, values=self.values[index], labels=self.labels[index], numbers=self.numbers[index])

    def hide(self, where: Tensor) -> RowBatch:
        """The same with the values (examples, values) at `where` hidden."""
        return replace(self, values=torch.where(where, self.blank, self.values))

    def finest(self) -> RowBatch:
        """Values cannot be divided."""
        return self

    def groups(self) -> Tensor:
        """(examples, values) each value is hidden alone."""
        return torch.arange(self.width, device=self.values.device).expand(len(self), -1)

    def windows(self, size: float) -> tuple[Tensor, list[Tensor]]:  # noqa: ARG002  # none has neighbours
        """Each value alone, whatever the size of a window."""
        kept = ~torch.eye(self.width, dtype=torch.bool)
        return self.groups(), [kept] * len(self)


class RowSplit(EvenSplit):
    """Rows on a device, ready to be batched."""

    def __init__(
        self,
        values: npt.NDArray[Any],
        labels: npt.ArrayLike,
        device: str | torch.device = "cpu",
        blank: npt.ArrayLike | None = None,
    ) -> None:
        """(examples, units) numbers of any type; a hidden one shows its `blank`, by default its mean over these."""
        self.device = torch.device(device)
        self._rows_of_values = torch.tensor(values, device=self.device)
        self.labels = torch.tensor(np.asarray(labels, dtype=np.int64), device=self.device)
        self._row_numbers = torch.arange(len(self.labels), device=self.device)
        given = values.mean(axis=0, dtype=np.float64) if blank is None else np.asarray(blank)
        given = np.broadcast_to(given, values.shape[1:])
        self._blank = torch.tensor(given, dtype=self._rows_of_values.dtype, device=self.device)
        some = np.unique(np.linspace(0, max(len(self) - 1, 0), min(64, len(self))).astype(np.int64))
        self._spread_rows = self._rows_of_values[torch.from_numpy(some).to(self.device)]
        self._draws_hidden: np.random.Generator | None = None
        self.units = int(values.shape[1])

    def _with(self, values: Tensor) -> RowSplit:
        other = copy.copy(self)
        other._rows_of_values = values
        return other

    def hidden(self, where: Tensor) -> RowSplit:
        """The same examples with some values hidden: (tokens,) truth values, numbered as in `addresses`."""
        return self._with(torch.where(where.to(self.device).view(len(self), -1), self._blank, self._rows_of_values))

    def outline(self, where: Tensor) -> RowSplit:
        """Only which values are hidden: one at these, zero elsewhere."""
        return self._with(where.to(self.device).view(len(self), -1).to(self._blank.dtype))

    def hidden_at_random(self, seed: int) -> RowSplit:
        """Every second example as it is, of the others a random share of values hidden; drawn anew for every pass."""
        other = copy.copy(self)
        other._draws_hidden = np.random.default_rng([seed, *b"hidden"])
        return other

    def only(self, rows: npt.ArrayLike) -> RowSplit:
        """Some examples alone, with the numbers and the background that they have here."""
        other = copy.copy(self)
        index = self._index(rows)
        other._rows_of_values, other.labels, other._row_numbers = (
            self._rows_of_values[index],
            self.labels[index],
            self._row_numbers[index],
        )
        return other

    def labelled(self, labels: npt.ArrayLike) -> RowSplit:
        """The same examples under other labels."""
        other = copy.copy(self)
        other.labels = torch.as_tensor(np.asarray(labels, dtype=np.int64), device=self.device)
        return other

    def _index(self, rows: npt.ArrayLike) -> Tensor:
        return torch.from_numpy(np.asarray(rows, dtype=np.int64)).to(self.device)

    def batch(self, rows: npt.ArrayLike) -> RowBatch:
        """The examples of those numbers."""
        return self.gather(self._index(rows), (self.units, 0))

    def widths(self, rows: npt.NDArray[np.intp]) -> tuple[int, int]:  # noqa: ARG002  # the same for all
        """How many values they have."""
        return self.units, 0

    @property
    def longest(self) -> tuple[int, int]:
        """The widths that hold every example."""
        return self.units, 0

    def gather(self, index: Tensor, widths: tuple[int, int]) -> RowBatch:  # noqa: ARG002  # of one width
        """The examples whose numbers are on the device."""
        made = RowBatch(
            self._rows_of_values[index], self.labels[index], self._row_numbers[index], self._blank, self._spread_rows
        )
        if self._draws_hidden is None:
            return made
        share = np.where(self._draws_hidden.random(len(made)) < 0.5, 0.0, self._draws_hidden.random(len(made)))
        where = self._draws_hidden.random((len(made), self.units)) < share[:, None]
        return made.hide(torch.from_numpy(where).to(self.device))

    def to_explain(self) -> Iterator[tuple[npt.NDArray[np.intp], RowBatch]]:
        """The same in smaller batches: an explanation takes more memory than a look."""
        return self.in_order(_EXPLAINED)
