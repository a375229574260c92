"""Distances between probability distributions, one per instance; natural logarithms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from trueness.stats.rows import Pair, pair_rows
from trueness.stats.undefined import Bools, Floats, Measured, Reason

LN2 = math.log(2)
"""The largest Jensen-Shannon divergence."""
_SUM_TOLERANCE = 1e-4  # float32 softmax over thousands of tokens stays well inside


def total_variation(p: Any, q: Any, mask: Any = None) -> Measured:
    """Half the sum of |p - q| over all outcomes.

    Range [0, 1], lower means closer, 0 when equal. It has no single value under no relation: that depends on how peaked
    the distributions are, so a report states a reference. Undefined for fewer than two outcomes and for what is not a
    distribution.
    """
    pair, reasons = _distributions(p, q, mask)
    return Measured(np.minimum(np.abs(pair.a - pair.b).sum(axis=1) / 2, 1.0), reasons)


def kl_divergence(p: Any, q: Any, mask: Any = None) -> Measured:
    """Kullback-Leibler divergence of q from p, sum p ln(p/q).

    Range [0, inf), lower means closer, 0 when equal, not symmetric, no single value under no relation. Undefined as
    `total_variation` is, and where q is 0 while p is not (it would be infinite).
    """
    pair, reasons = _distributions(p, q, mask)
    infinite = ((pair.b == 0) & (pair.a > 0)).any(axis=1)
    from scipy.special import rel_entr  # a slow import, needed for computing only

    terms = rel_entr(pair.a, np.where(infinite[:, None], 1.0, pair.b))
    return Measured(np.maximum(terms.sum(axis=1), 0.0), {**reasons, Reason.INFINITE: infinite})


def jensen_shannon(p: Any, q: Any, mask: Any = None) -> Measured:
    """Jensen-Shannon divergence, the mean divergence of p and q from their midpoint.

    Range [0, ln 2], lower means closer, 0 when equal, ln 2 when disjoint, symmetric, no single value under no relation.
    Undefined as `total_variation` is.
    """
    pair, reasons = _distributions(p, q, mask)
    total = np.where(pair.a + pair.b > 0, pair.a + pair.b, 1.0)

    def half(p: Floats) -> Floats:
        # p ln(2p / (p + q)): the midpoint of two tiny probabilities may underflow, their sum does not.
        return np.asarray(p * (LN2 + np.log(np.where(p > 0, p, 1.0)) - np.log(total)))

    value = (half(pair.a) + half(pair.b)).sum(axis=1) / 2
    return Measured(np.clip(value, 0.0, LN2), reasons)


def _distributions(p: Any, q: Any, mask: Any) -> tuple[Pair, dict[Reason, Bools]]:
    pair = pair_rows(p, q, mask)
    reasons = pair.undefined(constant=False)
    wrong = np.zeros(len(pair.a), dtype=bool)
    for rows in (pair.a, pair.b):
        total = np.clip(rows, -2, 2).sum(axis=1)  # clipped, so that huge values cannot overflow
        wrong |= (rows < 0).any(axis=1) | (np.abs(total - 1) > _SUM_TOLERANCE)
    reasons[Reason.NOT_A_DISTRIBUTION] = wrong
    usable = ~wrong[:, None]
    return replace(pair, a=np.where(usable, pair.a, 0.0), b=np.where(usable, pair.b, 0.0)), reasons
