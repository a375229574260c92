"""Does a measured mean agree with a published value? By equivalence: a wide interval is no agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

Outcome = Literal["agrees", "differs", "cannot tell"]


def equivalence(low: float | None, high: float | None, published: float, margin: float) -> Outcome:
    """Whether the interval (low, high) of a mean lies within a margin around a published value.

    *agrees*: the whole interval of the difference lies inside the margin. *differs*: it lies wholly outside. Else, and
    without an interval, *cannot tell*. What is not a number tells nothing.
    """
    if not 0 < margin < math.inf:
        raise ValueError(f"a margin must be above 0 and finite, not {margin}")
    if low is None or high is None or any(map(math.isnan, (low, high, published))):
        return "cannot tell"
    if low > high:
        raise ValueError(f"an interval cannot go from {low} to {high}")
    if low - published >= -margin and high - published <= margin:
        return "agrees"
    return "differs" if low - published > margin or high - published < -margin else "cannot tell"


def margin_of_runs(first: Sequence[float], second: Sequence[float]) -> float:
    """How far two runs of the same experiment lie apart: the root mean square of their differences."""
    if len(first) != len(second) or not first:
        raise ValueError("two runs of the same cells are needed")
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / len(first))


def margin_of_deviations(deviations: Sequence[float], runs: int) -> float:
    """How far two means of so many runs would lie apart, from the standard deviations of runs, pooled over cells."""
    if not deviations or runs < 1:
        raise ValueError("standard deviations and a number of runs are needed")
    pooled = sum(deviation**2 for deviation in deviations) / len(deviations)
    return math.sqrt(2 * pooled / runs)
