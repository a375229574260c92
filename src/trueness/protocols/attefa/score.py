"""AtteFa (2022): can a twin predict the same while attending elsewhere? As published, and made safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trueness.stats.divergence import LN2
from trueness.stats.undefined import Reason, Undefined

if TYPE_CHECKING:
    from torch import Tensor

SATURATED = 0.98
"""Share of the attainable divergence above which it no longer tells twins apart."""
ONE_CLASS = 0.95
"""A twin that predicts one class for more than this share of the examples has collapsed."""
_SMALL = 1e-9


def attefa(change: float, divergence: float) -> float | Undefined:
    """Equation 7: mean change of prediction over mean divergence of attention, both scaled to [0, 1], at most 1.

    `change` is the mean total variation over the whole distribution; for two classes that is twice the paper's TVD,
    which is divided by 0.5 there. 0: the twin predicts the same while attending elsewhere. Undefined where the
    attentions are the same.
    """
    if divergence < _SMALL:
        return Undefined(Reason.NO_DIVERGENCE)
    return min(change / (divergence / LN2), 1.0)


@dataclass(frozen=True)
class Point:
    """One twin: mean change of prediction and mean divergence of attention."""

    change: float
    divergence: float


def attefa_star(points: Sequence[Point], *, ceiling: float, constant: float) -> float | Undefined:
    """Area under the least change of prediction that each divergence costs, relative to a constant predictor.

    P(j) is the least change among the twins that reach the share j of `ceiling`, the divergence that a twin reaches
    when nothing else is asked of it; AtteFa* = (1 / constant) * integral of P from 0 to 1, at most 1. `constant` is the
    mean change of the best constant predictor. 0: attention can be moved freely. 1: that costs as much as knowing
    nothing.
    """
    if ceiling < _SMALL:
        return Undefined(Reason.NO_DIVERGENCE)
    if constant < _SMALL:
        return Undefined(Reason.SURE_OF_NOTHING)
    if not points:
        return Undefined(Reason.EMPTY)
    reached = sorted(((min(point.divergence / ceiling, 1.0), point.change) for point in points), reverse=True)
    # What no twin reaches costs as much as the constant predictor; below that, the cheapest of those that go further.
    area, above, cheapest = 0.0, 1.0, constant
    for share, change in reached:
        area += (above - share) * min(cheapest, constant)
        above, cheapest = share, min(cheapest, change)
    # Not moving at all costs nothing, but any positive share is charged what the cheapest twin beyond it costs.
    area += above * min(cheapest, constant)
    return min(area / constant, 1.0)


def constant_change(probability: npt.NDArray[np.float64]) -> float:
    """Mean total variation between a model's predictions (examples, classes) and the constant that is nearest to them.

    For two classes the nearest constant is the median probability; for more the mean is taken, which is near it.
    """
    if probability.shape[1] == 2:
        return float(np.abs(probability[:, 1] - np.median(probability[:, 1])).mean())
    return float(np.abs(probability - probability.mean(axis=0)).sum(axis=1).mean() / 2)


def type_ceiling(attention: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
    """(batch,) the largest divergence that attention can reach when equal tokens must get equal weights.

    That is so in an encoder that does not look at the context. Divergence is convex, so the maximum puts all weight on
    one kind of token, evenly over its occurrences; O(T^2).
    """
    from trueness.stats.differentiable import jensen_shannon

    observed = attention.double() * mask
    same = (tokens[:, :, None] == tokens[:, None]) & mask[:, :, None] & mask[:, None]
    weights = same / same.sum(dim=-1, keepdim=True).clamp(min=1)
    reached = jensen_shannon(weights, observed[:, None])
    return reached.masked_fill(~mask, 0.0).amax(dim=-1)


def two_groups(values: Sequence[float]) -> bool:
    """Whether a few scores fall into two groups rather than one: the best split explains nearly all of their variance.

    Compared with what the best split of as many normal values explains: about 64 % at most in the limit of many values,
    but often more than 80 % for a handful, so that 95 % is asked for, and a gap wider than the groups.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    total = ordered.var()
    if len(ordered) < 4 or total < 1e-6:
        return False
    best = 0.0
    for cut in range(2, len(ordered) - 1):
        low, high = ordered[:cut], ordered[cut:]
        within = (low.var() * len(low) + high.var() * len(high)) / len(ordered)
        gap = high[0] - low[-1]
        if gap > max(np.ptp(low), np.ptp(high)):
            best = max(best, 1 - within / total)
    return best > 0.95
