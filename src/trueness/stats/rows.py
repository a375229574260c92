"""Rows of scores with a mask: what every batched statistic does first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.stats.undefined import Bools, Floats, Reason

Ints = npt.NDArray[np.int64]


def as_rows(values: Any) -> Floats:
    """A float64 matrix, one instance a row; torch tensors on any device are accepted."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if rows.ndim != 2:
        raise ValueError(f"expected (instances, features), got shape {rows.shape}")
    return rows


def as_values(values: Any) -> Floats:
    """A float64 array of defined values; a masked array with anything hidden is refused, not read as numbers."""
    if np.ma.is_masked(values):
        raise ValueError("some values are undefined; pass .compressed() and report how many were left out")
    return np.asarray(values, dtype=np.float64)


def as_mask(mask: Any, shape: tuple[int, int]) -> Bools:
    """A boolean matrix of that shape; no mask means every feature counts."""
    if mask is None:
        return np.ones(shape, dtype=bool)
    if hasattr(mask, "detach"):
        mask = mask.detach().cpu().numpy()
    result = np.atleast_2d(np.asarray(mask, dtype=bool))
    if result.shape != shape:
        raise ValueError(f"the mask has shape {result.shape}, the scores {shape}")
    return result


@dataclass(frozen=True)
class Pair:
    """Two score matrices over the same features; what lies outside the mask is 0 and never used."""

    a: Floats
    b: Floats
    mask: Bools
    size: Ints
    finite: Bools

    def undefined(self, *, constant: bool = True) -> dict[Reason, Bools]:
        """The rows that no comparison of two rankings can answer, by reason."""
        found = {Reason.EMPTY: self.size == 0, Reason.NOT_FINITE: ~self.finite, Reason.SINGLE: self.size == 1}
        if constant:
            found[Reason.CONSTANT] = self._constant(self.a) | self._constant(self.b)
        return found

    def _constant(self, rows: Floats) -> Bools:
        if rows.shape[1] == 0:
            return np.ones(len(rows), dtype=bool)
        low = np.where(self.mask, rows, np.inf).min(axis=1)
        high = np.where(self.mask, rows, -np.inf).max(axis=1)
        return np.asarray(low >= high)


def pair_rows(a: Any, b: Any, mask: Any = None) -> Pair:
    """Bring two inputs and their mask into one shape; rows with NaN or infinity are marked and emptied."""
    first, second = as_rows(a), as_rows(b)
    if first.shape != second.shape:
        raise ValueError(f"the inputs have shapes {first.shape} and {second.shape}")
    valid = as_mask(mask, first.shape)
    for given in (a, b):
        if np.ma.isMaskedArray(given):  # what a masked array hides is outside the mask
            valid = valid & ~np.atleast_2d(np.ma.getmaskarray(given))
    finite: Bools = np.asarray(((np.isfinite(first) & np.isfinite(second)) | ~valid).all(axis=1))
    used = valid & finite[:, None]
    return Pair(np.where(used, first, 0.0), np.where(used, second, 0.0), valid, valid.sum(axis=1), finite)


@dataclass(frozen=True)
class Ranked:
    """Rows ranked in ascending order; features outside the mask form one last group of their own."""

    first: Ints
    """Ordinal position of the first member of the feature's tie group, from 0."""
    count: Ints
    """Number of members of the feature's tie group."""

    def rows(self, which: Bools) -> Ranked:
        """Some rows."""
        return Ranked(self.first[which], self.count[which])

    def in_top(self, k: int | Ints) -> Floats:
        """The probability that a feature is among the first k when ties are ordered at random."""
        return np.asarray(np.clip(k - self.first, 0, self.count) / np.maximum(self.count, 1))

    @property
    def average(self) -> Floats:
        """Average ranks, from 1, as Spearman uses them."""
        return self.first + (self.count + 1) / 2.0


def runs(ordered: npt.NDArray[Any]) -> tuple[Bools, Ints, Ints]:
    """Runs of equal neighbours within rows: where one begins (matrix), then per run its flat start and length."""
    starts = np.ones(ordered.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=starts[:, 1:])
    at = np.flatnonzero(starts)
    return starts, at, np.diff(at, append=ordered.size)


def rank_rows(rows: Floats, mask: Bools) -> Ranked:
    """Rank every row, ascending, ties together."""
    filled = np.where(mask, rows + 0.0, np.inf)
    order = np.argsort(filled, axis=1)
    starts, at, length = runs(np.take_along_axis(filled, order, axis=1))
    group = np.cumsum(starts.ravel()) - 1
    return Ranked(
        first=_unsort((at % max(rows.shape[1], 1))[group].reshape(rows.shape), order),
        count=_unsort(length[group].reshape(rows.shape), order),
    )


def _unsort(values: npt.NDArray[Any], order: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    result = np.empty_like(values)
    np.put_along_axis(result, order, values, axis=1)
    return result


def row_chunks(rows: int, bytes_per_row: int, max_bytes: int) -> list[slice]:
    """Slices over the rows, each small enough that its scratch memory stays under `max_bytes` (one row at least)."""
    step = max(1, max_bytes // max(bytes_per_row, 1))
    return [slice(begin, min(begin + step, rows)) for begin in range(0, rows, step)]


def either(*parts: Mapping[Reason, Bools]) -> dict[Reason, Bools]:
    """The rows that are undefined in one of several statistics, by reason."""
    found: dict[Reason, Bools] = {}
    for part in parts:
        for reason, where in part.items():
            found[reason] = found[reason] | where if reason in found else where
    return found
