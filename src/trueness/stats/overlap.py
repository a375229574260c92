"""Agreement at the top of two explanations: rank-biased overlap and the top-k family of the disagreement literature.

Features are ranked by descending magnitude |score|; the sign enters only where a name says so. Ties are not broken by
position: every value is the expectation over independent random orders within each tie, in closed form.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.stats.rank import kendall
from trueness.stats.rows import Pair, Ranked, either, pair_rows, rank_rows
from trueness.stats.undefined import Bools, Floats, Measured, Reason

_NEGLIGIBLE = 1e-17


def chance_corrected(value: Measured, chance: Measured, best: float = 1.0) -> Measured:
    """(value - chance) / (best - chance): 0 under no relation, 1 at best, negative below chance."""
    room = best - chance.values.data
    corrected = (value.values.data - chance.values.data) / np.where(room == 0, 1.0, room)
    return Measured(corrected, {**either(value.undefined(), chance.undefined()), Reason.NO_ROOM: room == 0})


@dataclass(frozen=True)
class Overlap:
    """An agreement per instance and what independent random rankings would get."""

    value: Measured
    chance: Measured

    @property
    def corrected(self) -> Measured:
        """Rescaled so that chance is 0 and perfect agreement is 1."""
        return chance_corrected(self.value, self.chance)


@dataclass(frozen=True)
class TopK:
    """The top-k agreement family of Krishna et al. (2024): all in [0, 1], higher means more agreement."""

    feature: Overlap
    """Share of the k top features that both have: chance k/T."""
    rank: Overlap
    """Share of the k top features that both have, at the same rank: chance 1/T."""
    sign: Overlap
    """Share of the k top features that both have, with the same sign: chance k/(2T) under random signs."""
    signed_rank: Overlap
    """Share of the k top features that both have, at the same rank with the same sign: chance 1/(2T)."""


def rank_biased_overlap(a: Any, b: Any, mask: Any = None, *, p: float = 0.9) -> Overlap:
    """Extrapolated rank-biased overlap (Webber et al. 2010, equation 32) of two complete rankings.

    Range [0, 1], higher means more agreement, most weight on the top 1/(1-p) features. The overlap at depth d is the
    expected number of features in both top d, over d. `chance` is its expectation over random rankings,
    p^T + (1-p)/p sum_d p^d d/T. Undefined for fewer than two features and where either ranking is constant.
    """
    if not 0 < p < 1:
        raise ValueError(f"p must lie between 0 and 1, not {p}")
    pair = _magnitudes(a, b, mask)
    first, second = _descending(pair)
    size = np.maximum(pair.size, 1)
    # Deeper than this the weights are below the rounding error of the sum.
    deepest = min(pair.a.shape[1], math.ceil(math.log(_NEGLIGIBLE) / math.log(p)))
    depths = np.arange(1, deepest + 1)
    weights = (1 - p) * p ** (depths - 1.0)
    last = np.minimum(pair.size, deepest)
    tail = p ** pair.size.astype(np.float64)
    chance = tail + np.concatenate([[0.0], np.cumsum(weights * depths)])[last] / size
    # A feature without ties is in both tops from the deeper of its two places on.
    upto = np.concatenate([[0.0], np.cumsum(weights / depths)])
    from_ = np.minimum(np.maximum(first.first, second.first), deepest)
    value = tail + np.where(pair.mask, np.maximum(upto[last][:, None] - upto[from_], 0.0), 0.0).sum(axis=1)
    tied: Bools = np.any(np.where(pair.mask, np.maximum(first.count, second.count), 1) > 1, axis=1)
    if tied.any():
        value[tied] = tail[tied] + _depth_by_depth(pair.mask[tied], first.rows(tied), second.rows(tied), weights)
    reasons = pair.undefined()
    return Overlap(Measured(np.minimum(value, 1.0), reasons), Measured(chance, reasons))


def _depth_by_depth(mask: Bools, first: Ranked, second: Ranked, weights: Floats) -> Floats:
    """The weighted overlap of every row, for ties at any place."""
    value, size = np.zeros(len(mask)), mask.sum(axis=1)
    for depth, weight in enumerate(weights, start=1):
        common = np.where(mask, first.in_top(depth) * second.in_top(depth), 0.0).sum(axis=1)
        value += np.where(depth <= size, weight, 0.0) * common / depth
    return value


def top_k_agreement(a: Any, b: Any, mask: Any = None, *, k: int | npt.ArrayLike = 5) -> TopK:
    """Feature, rank, sign and signed-rank agreement of the k features of largest magnitude.

    `k` is one number or one per instance. Undefined where an instance has fewer than k features, fewer than two, or a
    constant input. A score of exactly 0 has a sign of its own and agrees only with another 0.
    """
    signed, pair = pair_rows(a, b, mask), _magnitudes(a, b, mask)
    wanted = np.asarray(k)
    if not np.issubdtype(wanted.dtype, np.integer) or (wanted < 1).any():
        raise ValueError("k must be a whole number of at least 1")
    top = np.broadcast_to(wanted.astype(np.int64), signed.size.shape)
    first, second = _descending(pair)
    limit = top[:, None]

    both = np.where(pair.mask, first.in_top(limit) * second.in_top(limit), 0.0)
    begin = np.maximum(first.first, second.first)
    end = np.minimum(np.minimum(first.first + first.count, second.first + second.count), limit)
    same_rank = np.where(pair.mask, np.clip(end - begin, 0, None) / (first.count * second.count), 0.0)
    same_sign = np.sign(signed.a) == np.sign(signed.b)

    reasons = pair.undefined()
    reasons[Reason.TOO_FEW] = pair.size < top
    size = np.maximum(pair.size, 1)

    def overlap(weight: Floats, chance: Floats) -> Overlap:
        return Overlap(Measured(np.minimum(weight.sum(axis=1) / top, 1.0), reasons), Measured(chance, reasons))

    return TopK(
        feature=overlap(both, top / size),
        rank=overlap(same_rank, 1 / size),
        sign=overlap(both * same_sign, top / (2 * size)),
        signed_rank=overlap(same_rank * same_sign, 1 / (2 * size)),
    )


def top_k_kendall(a: Any, b: Any, mask: Any = None, *, k: int | npt.ArrayLike = 5) -> Overlap:
    """Kendall's tau-b over the features that either explanation has among its k top ones (Fagin et al. 2003).

    Those outside an explanation's top are tied below it, so that a pair of which both members are missing there counts
    neither way; ties at the border are all inside. Range [-1, 1], higher means more agreement; `chance` is the
    expectation over random rankings, which is below 0 because features that only one of two explanations has are
    discordant. Undefined as `top_k_agreement` is, and for k below 2.
    """
    pair = _magnitudes(a, b, mask)
    top = np.broadcast_to(np.asarray(k, dtype=np.int64), pair.size.shape)
    if (top < 1).any():
        raise ValueError("k must be a whole number of at least 1")
    inside = [(ranked.first < top[:, None]) & pair.mask for ranked in _descending(pair)]
    first, second = (np.where(chosen, rows, -1.0) for chosen, rows in zip(inside, (pair.a, pair.b), strict=True))
    value = kendall(first, second, inside[0] | inside[1]).statistic
    few = {Reason.TOO_FEW: (pair.size < top) | (top < 2)}
    reasons = either(pair.undefined(), few, value.undefined())
    chance = np.array([_top_k_chance(int(size), int(each)) for size, each in zip(pair.size, top, strict=True)])
    return Overlap(Measured(value.values.data, reasons), Measured(chance, reasons))


@functools.cache
def _top_k_chance(size: int, k: int) -> float:
    """Of two random rankings that share m of their k top features only the (k - m)^2 pairs of unshared ones count."""
    if size < k or k < 2:
        return 0.0
    total = 0.0
    for shared in range(max(0, 2 * k - size), k + 1):
        chance = math.comb(k, shared) * math.comb(size - k, k - shared) / math.comb(size, k)
        union, missing = 2 * k - shared, k - shared
        pairs = union * (union - 1) / 2 - missing * (missing - 1) / 2
        total -= chance * missing**2 / pairs
    return total


def pairwise_rank_agreement(a: Any, b: Any, mask: Any = None) -> Overlap:
    """Share of feature pairs that both explanations put in the same order of magnitude, a tied pair counting one half.

    Range [0, 1], higher means more agreement, chance 1/2; equals (tau + 1)/2 where there are no ties. Undefined for
    fewer than two features and where either ranking is constant.
    """
    pair = _magnitudes(a, b, mask)
    value = kendall(pair.a, pair.b, pair.mask).pairwise_agreement
    reasons = pair.undefined()
    return Overlap(Measured(value.values.data, reasons), Measured(np.full(len(pair.a), 0.5), reasons))


def _magnitudes(a: Any, b: Any, mask: Any) -> Pair:
    pair = pair_rows(a, b, mask)
    return replace(pair, a=np.abs(pair.a), b=np.abs(pair.b))


def _descending(pair: Pair) -> tuple[Ranked, Ranked]:
    return rank_rows(-pair.a, pair.mask), rank_rows(-pair.b, pair.mask)
