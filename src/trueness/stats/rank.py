"""Rank and linear correlation of two score matrices, one coefficient per instance."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.stats.order import inverse, inversions, ordered, taken
from trueness.stats.rows import Ints, Pair, pair_rows, rank_rows, row_chunks, runs
from trueness.stats.undefined import Bools, Floats, Measured, Reason

_SCRATCH_BYTES = 96  # scratch memory of one feature in `_kendall_counts`, measured
_EXACT_SIZE = 33  # up to this length the null distribution is enumerated, as SciPy does


@dataclass(frozen=True)
class Kendall:
    """Kendall's tau-b per instance and its two-sided p-value."""

    statistic: Measured
    p_value: Measured
    pairwise_agreement: Measured
    """Share of feature pairs in the same order, a tied pair counting one half: [0, 1], chance 1/2."""


@dataclass(frozen=True)
class _Counts:
    """Pair counts of the rows of a batch, in the notation of SciPy's kendalltau."""

    total: Floats
    discordant: Floats
    ties_a: Floats
    """(3, rows) sums of `_tie_sums`: tied pairs first."""
    ties_b: Floats
    tied_both: Floats


def kendall(a: Any, b: Any, mask: Any = None, *, max_bytes: int = 16 << 20) -> Kendall:
    """Kendall's tau-b with ties, and the two-sided p-value of no association.

    Range [-1, 1], higher means more agreement, 0 under no relation. Undefined for fewer than two features and where
    either ranking is constant. The p-value is exact without ties up to 33 features and asymptotic otherwise,
    as in `scipy.stats.kendalltau`. Cost O(T log T) per row; `max_bytes` bounds the scratch memory.
    """
    pair = pair_rows(a, b, mask)
    rows, width = pair.a.shape
    statistic, p_value, agreement = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    undefined = pair.undefined(constant=False)
    undefined[Reason.CONSTANT] = np.zeros(rows, dtype=bool)
    for part in row_chunks(rows, width * _SCRATCH_BYTES, max_bytes):
        chunk = Pair(pair.a[part], pair.b[part], pair.mask[part], pair.size[part], pair.finite[part])
        counts = _kendall_counts(chunk)
        tied_a, tied_b = counts.ties_a[0], counts.ties_b[0]
        undefined[Reason.CONSTANT][part] = (tied_a == counts.total) | (tied_b == counts.total)
        surplus = counts.total - tied_a - tied_b + counts.tied_both - 2 * counts.discordant
        with np.errstate(divide="ignore", invalid="ignore"):
            tau = surplus / np.sqrt((counts.total - tied_a) * (counts.total - tied_b))
            statistic[part] = np.clip(tau, -1.0, 1.0)
            p_value[part] = _p_value(chunk.size, surplus, counts)
            agreement[part] = (1 + surplus / counts.total) / 2
    return Kendall(*(Measured(found, undefined) for found in (statistic, p_value, agreement)))


def _kendall_counts(pair: Pair) -> _Counts:
    rows, width = pair.a.shape
    outside = ~pair.mask
    a, b = pair.a, pair.b
    if outside.any():
        a, b = np.where(outside, np.inf, a), np.where(outside, np.inf, b)
    order, by_a = ordered(a)
    dense_a, sums_a = _dense_sorted(by_a)
    moved, by_b = ordered(taken(b, order))  # the places by a, in the order of b: as many inversions as b by a
    dense_b, sums_b = _dense_sorted(by_b)
    tied_both = np.zeros(rows)
    if sums_a[0].any():
        # Within a tie of a the order of b is free: sort it ascending, so that no inversion is counted there.
        bits = max(width, 1).bit_length()
        key = dense_a.astype(np.int64 if 2 * bits > 31 else np.int32) << bits
        key |= inverse(moved, np.arange(width, dtype=np.int32))
        key.sort(axis=1)
        moved = key & ((1 << bits) - 1)
        both = (dense_a.astype(key.dtype) << bits) | taken(dense_b, moved)
        hidden = taken(outside, order) if outside.any() else outside
        tied_both = _tie_sums(both, hidden)[0]
    size = pair.size.astype(np.float64)
    return _Counts(size * (size - 1) / 2, inversions(moved), sums_a, sums_b, tied_both)


def _dense_sorted(ordered: Floats) -> tuple[npt.NDArray[np.int32], Floats]:
    """Dense ranks of sorted rows, and the rows' tie sums."""
    starts = np.ones(ordered.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=starts[:, 1:])
    dense = np.cumsum(starts, axis=1, dtype=np.int32)
    dense -= 1
    if starts.all():
        return dense, np.zeros((3, len(ordered)))
    return dense, _tie_sums(ordered, np.isinf(ordered))


def _tie_sums(ordered: npt.NDArray[Any], hidden: Bools) -> Floats:
    """Per row, over tie groups of t features, none of them hidden: sums of t(t-1)/2, t(t-1)(t-2) and t(t-1)(2t+5)."""
    _, at, length = runs(ordered)
    tied = (length > 1) & ~hidden.ravel()[at]
    row, t = at[tied] // max(ordered.shape[1], 1), length[tied].astype(np.float64)
    terms = (t * (t - 1) / 2, t * (t - 1) * (t - 2), t * (t - 1) * (2 * t + 5))
    return np.stack([np.bincount(row, weights=term, minlength=len(ordered)) for term in terms])


def _p_value(size: Ints, surplus: Floats, counts: _Counts) -> Floats:
    n = size.astype(np.float64)
    m = n * (n - 1)
    (tied_a, cubic_a, variance_a), (tied_b, cubic_b, variance_b) = counts.ties_a, counts.ties_b
    variance = (m * (2 * n + 5) - variance_a - variance_b) / 18
    variance += 2 * tied_a * tied_b / m
    third = cubic_a * cubic_b
    variance += np.where(third > 0, third / np.where(n > 2, 9 * m * (n - 2), 1.0), 0.0)
    from scipy.special import ndtr  # a slow import, needed for computing only

    p = 2 * ndtr(-np.abs(surplus) / np.sqrt(variance))

    fewest = np.minimum(counts.discordant, counts.total - counts.discordant)
    untied = (tied_a == 0) & (tied_b == 0) & (size > 1)
    exact = untied & ((size <= _EXACT_SIZE) | (fewest <= 1))
    for length in np.unique(size[exact]):
        rows = exact & (size == length)
        by_number = _exact_two_sided(int(length))
        p[rows] = by_number[np.minimum(fewest[rows], len(by_number) - 1).astype(int)]
    return np.asarray(np.minimum(p, 1.0))


@functools.cache
def _exact_two_sided(n: int) -> Floats:
    """Two-sided p-values by the number of discordant pairs, for permutations of n untied ranks.

    The number of permutations with c inversions has the generating function prod_j (1 + x + ... + x^j).
    Beyond `_EXACT_SIZE` only the entries for 0 and 1 discordant pairs are returned.
    """
    if n > _EXACT_SIZE:
        return np.array([2 * math.exp(-math.lgamma(n + 1)), 2 * math.exp(-math.lgamma(n))])
    probability = np.ones(1)
    for j in range(2, n + 1):
        probability = np.convolve(probability, np.full(j, 1 / j))
    half = (len(probability) - 1) // 2 + 1
    result: Floats = np.minimum(2 * np.cumsum(probability)[:half], 1.0)
    return result


def weighted_kendall(a: Any, b: Any, mask: Any = None, *, max_bytes: int = 64 << 20) -> Measured:
    """Kendall's tau in which exchanges at the top weigh more, as `scipy.stats.weightedtau` (Vigna 2015).

    A pair counts 1/(r + 1) + 1/(s + 1), r and s the ranks of its members from 0; the mean of both rankings' weights.
    Range [-1, 1], higher means more agreement, 0 under no relation. Undefined as `kendall` is. Cost O(T^2) per row.
    """
    pair = pair_rows(a, b, mask)
    rows, width = pair.a.shape
    value = np.zeros(rows)
    for part in row_chunks(rows, 4 * width * width, max_bytes):
        x, y, inside = pair.a[part], pair.b[part], pair.mask[part]
        joint = inside[:, :, None] & inside[:, None, :]
        orders = [(rows[:, :, None] > rows[:, None, :]).astype(np.int8) for rows in (x, y)]
        signs = [(order - order.transpose(0, 2, 1)) * joint for order in orders]
        concord = (signs[0] * signs[1]).sum(axis=2, dtype=np.float64)
        apart = [np.abs(sign).sum(axis=2, dtype=np.float64) for sign in signs]
        for keys in ((y, x), (x, y)):  # the last key counts first
            weight = np.where(inside, 1.0 / (1.0 + _descending_ranks(keys, inside)), 0.0)
            surplus = (weight * concord).sum(axis=1)
            most = (weight * apart[0]).sum(axis=1) * (weight * apart[1]).sum(axis=1)
            value[part] += surplus / np.sqrt(np.where(most > 0, most, 1.0)) / 2
    return Measured(np.clip(value, -1.0, 1.0), pair.undefined())


def _descending_ranks(keys: tuple[Floats, Floats], mask: Bools) -> Floats:
    """Ranks from 0 by the second key, largest first, ties by the first one; positions outside the mask come last."""
    order = np.lexsort((-keys[0], -keys[1], ~mask), axis=1)
    ranks = np.empty(order.shape)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(order.shape[1], dtype=np.float64), order.shape), axis=1)
    return ranks


def pearson(a: Any, b: Any, mask: Any = None) -> Measured:
    """Pearson's linear correlation per instance.

    Range [-1, 1], higher means more agreement, 0 under no relation. Undefined for fewer than two features and where
    either input is constant.
    """
    pair = pair_rows(a, b, mask)
    return _correlate(pair.a, pair.b, pair)


def spearman(a: Any, b: Any, mask: Any = None) -> Measured:
    """Spearman's rank correlation per instance, ties sharing their average rank.

    Range [-1, 1], higher means more agreement, 0 under no relation. Undefined as `pearson` is.
    """
    pair = pair_rows(a, b, mask)
    return _correlate(rank_rows(pair.a, pair.mask).average, rank_rows(pair.b, pair.mask).average, pair)


def _correlate(a: Floats, b: Floats, pair: Pair) -> Measured:
    size = np.maximum(pair.size, 1)

    def centred(rows: Floats) -> Floats:
        # Scaling by a power of two is exact and keeps tiny and huge inputs from under- or overflowing; subtracting one
        # of the values keeps the digits in which nearly equal ones differ. Correlation notices neither.
        inside = np.where(pair.mask, rows, 0.0)
        exponent = np.frexp(np.abs(inside).max(axis=1, initial=0.0))[1]
        scaled = np.ldexp(inside, -exponent[:, None])
        one = np.take_along_axis(scaled, pair.mask.argmax(axis=1)[:, None], axis=1) if rows.shape[1] else 0.0
        shifted = np.where(pair.mask, scaled - one, 0.0)
        spread = np.abs(shifted).max(axis=1, initial=0.0)
        shifted /= np.where(spread > 0, spread, 1.0)[:, None]
        return np.where(pair.mask, shifted - (shifted.sum(axis=1) / size)[:, None], 0.0)

    x, y = centred(a), centred(b)
    norm = np.sqrt((x * x).sum(axis=1)) * np.sqrt((y * y).sum(axis=1))
    reasons = pair.undefined()
    reasons[Reason.CONSTANT] = reasons[Reason.CONSTANT] | (norm == 0)
    product = (x * y).sum(axis=1) / np.where(norm > 0, norm, 1.0)
    return Measured(np.clip(product, -1.0, 1.0), reasons)
