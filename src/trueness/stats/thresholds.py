"""Is a quantity above its threshold, or below? One-sided tests and limits of means, ratios, shares, crossed means.

All values are bounded, and no shape is supposed (`stats.bounded`). A limit at a level is where the test at that level
stops denying: an interval of such limits never contradicts a decision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trueness.stats.bounded import mean_p
from trueness.stats.undefined import Floats

SMALL = 1e-9
"""A denominator whose mean is not above this cannot be divided by."""
_ROUNDING = 1e-6
_HALVINGS = 24
_CLOSE = 1e-6
_FAR = 1e6


class Evidence(Protocol):
    """What was measured of one quantity."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def n(self) -> int:
        """How many independent values it rests on."""

    def p_above(self, threshold: float, *, times: float = 1.0) -> float:
        """The p-value that the true value is at most the threshold; `times` as if there were so many times the data."""

    def p_below(self, threshold: float, *, times: float = 1.0) -> float:
        """The p-value that the true value is at least the threshold."""

    def lower(self, level: float) -> float:
        """The least threshold that is not denied from above at this level."""

    def upper(self, level: float) -> float:
        """The largest threshold that is not denied from below at this level."""


@dataclass(frozen=True, eq=False)
class Mean:
    """Of independent values, none outside `least` to `most`."""

    values: Floats
    least: float = 0.0
    most: float = 1.0

    def __post_init__(self) -> None:
        inside = (self.values >= self.least - _ROUNDING) & (self.values <= self.most + _ROUNDING)
        if not inside.all():
            raise ValueError(f"a value lies outside {self.least:g} to {self.most:g}")

    @property
    def value(self) -> float:
        return float(self.values.mean())

    @property
    def n(self) -> int:
        return len(self.values)

    def p_above(self, threshold: float, *, times: float = 1.0) -> float:
        return mean_p(self.values, threshold, self.least, times=times)

    def p_below(self, threshold: float, *, times: float = 1.0) -> float:
        return mean_p(-self.values, -threshold, -self.most, times=times)

    def lower(self, level: float) -> float:
        return _limit(self.p_above, level, self.value, self.least)

    def upper(self, level: float) -> float:
        return _limit(self.p_below, level, self.value, self.most)


@dataclass(frozen=True, eq=False)
class Ratio:
    """Of the means of two numbers of the same units: it is above r where the mean of above - r * below is above 0.

    `above` lies between `least` and 1, `below` between 0 and 1.
    """

    above: Floats
    below: Floats
    least: float = -1.0

    @property
    def value(self) -> float:
        return float(self.above.mean() / self.below.mean())

    @property
    def n(self) -> int:
        return len(self.above)

    @property
    def carriers(self) -> float:
        """How many equal shares the denominator is worth (Kish): it may come from a few of n units."""
        return float(self.below.sum() ** 2 / (self.below**2).sum())

    def beside(self, ratio: float) -> Mean:
        """What has the mean 0 where the ratio is this one."""
        return Mean(self.above - ratio * self.below, self.least - max(ratio, 0.0), 1 - min(ratio, 0.0))

    def p_above(self, threshold: float, *, times: float = 1.0) -> float:
        return self.beside(threshold).p_above(0.0, times=times)

    def p_below(self, threshold: float, *, times: float = 1.0) -> float:
        return self.beside(threshold).p_below(0.0, times=times)

    def lower(self, level: float) -> float:
        return _limit(self.p_above, level, self.value, -math.inf)

    def upper(self, level: float) -> float:
        return _limit(self.p_below, level, self.value, math.inf)


@dataclass(frozen=True, eq=False)
class Normal:
    """Of a few values that are roughly normal, such as means over many texts, by Student's t."""

    values: Floats

    @property
    def value(self) -> float:
        return float(self.values.mean())

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def error(self) -> float:
        """The standard error."""
        return float(self.values.std(ddof=1)) / math.sqrt(self.n)

    def p_above(self, threshold: float, *, times: float = 1.0) -> float:
        from scipy.special import stdtr

        distance = self.value - threshold
        if self.error <= SMALL:
            return 0.0 if distance > SMALL else 1.0
        return float(stdtr(self.n * times - 1, -distance / self.error * math.sqrt(times)))

    def p_below(self, threshold: float, *, times: float = 1.0) -> float:
        return Normal(-self.values).p_above(-threshold, times=times)

    def lower(self, level: float) -> float:
        from scipy.special import stdtrit

        return self.value + float(stdtrit(self.n - 1, level)) * self.error

    def upper(self, level: float) -> float:
        return -Normal(-self.values).lower(level)


@dataclass(frozen=True, eq=False)
class Crossed:
    """A mean over models (or draws) and texts, both of which are drawn: their errors add.

    The distance from the mean to a limit is the root of the sum of the squared distances of both parts (MOVER: Zou and
    Donner 2008).
    """

    units: Mean | Normal
    texts: Mean

    @property
    def value(self) -> float:
        return self.texts.value

    @property
    def n(self) -> int:
        return self.texts.n

    @property
    def by_units(self) -> float:
        """The share of the variance that is between models, or draws."""
        own, other = (float(part.values.var(ddof=1)) / part.n for part in (self.units, self.texts))
        return own / (own + other) if own + other > SMALL**2 else 0.0

    def p_above(self, threshold: float, *, times: float = 1.0, unit_times: float = 1.0) -> float:
        return _both(self.units.p_above, self.texts.p_above, self, threshold, (unit_times, times))

    def p_below(self, threshold: float, *, times: float = 1.0, unit_times: float = 1.0) -> float:
        return _both(self.units.p_below, self.texts.p_below, self, threshold, (unit_times, times))

    def lower(self, level: float) -> float:
        return self.value - math.hypot(*(part.value - part.lower(level) for part in (self.units, self.texts)))

    def upper(self, level: float) -> float:
        return self.value + math.hypot(*(part.upper(level) - part.value for part in (self.units, self.texts)))


def _both(
    units: Callable[..., float], texts: Callable[..., float], of: Crossed, threshold: float, times: tuple[float, float]
) -> float:
    """The level at which both parts' limits, together, reach the threshold."""
    distance = threshold - of.value

    def p_values(angle: float) -> tuple[float, float]:
        return (
            units(of.units.value + distance * math.cos(angle), times=times[0]),
            texts(of.texts.value + distance * math.sin(angle), times=times[1]),
        )

    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        one, other = p_values(middle)
        low, high = (middle, high) if one < other else (low, middle)
    return max(p_values((low + high) / 2))


def _limit(p_value: Callable[[float], float], level: float, value: float, end: float) -> float:
    """Where a p-value that rises from `end` to the value reaches the level; an infinite end is sought."""
    step = math.copysign(0.5, end)
    while math.isinf(end) or (abs(step) > 0.5 and p_value(end) > level):
        end, step = value + step, 2 * step
        if abs(step) > _FAR:
            return math.copysign(math.inf, step)

    def beyond(threshold: float) -> float:
        return math.log(max(p_value(threshold), 1e-300) / level)

    # The secant of the logarithm, kept inside the bracket: an end that stays loses half of its weight (Illinois).
    (outer, below), (inner, over) = (end, beyond(end)), (value, beyond(value))
    if below >= 0 or over <= 0:
        return outer if below >= 0 else inner
    while abs(inner - outer) > _CLOSE * max(1.0, abs(value)):
        middle = inner - over * (inner - outer) / (over - below)
        found = beyond(middle)
        if abs(found) < _CLOSE:
            return middle
        if found < 0:
            outer, below, over = middle, found, over / 2
        else:
            inner, over, below = middle, found, below / 2
    return outer


@dataclass(frozen=True)
class ThresholdTest:
    """A quantity beside its threshold."""

    evidence: Evidence
    threshold: float
    p_above: float = field(init=False)
    """That the true value is at most the threshold is as unlikely."""
    p_below: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "p_above", self.evidence.p_above(self.threshold))
        object.__setattr__(self, "p_below", self.evidence.p_below(self.threshold))

    @property
    def value(self) -> float:
        """The estimate."""
        return self.evidence.value

    @property
    def n(self) -> int:
        """How many independent values it rests on; of a crossed mean the texts."""
        return self.evidence.n

    @property
    def above(self) -> bool:
        """On which side of the threshold the value lies."""
        return self.value > self.threshold


def mean_of(values: npt.ArrayLike, least: float = 0.0, most: float = 1.0) -> Mean | None:
    """The mean of independent bounded values; NaN are left out. None with fewer than two."""
    data = np.asarray(values, dtype=np.float64).ravel()
    data = data[np.isfinite(data)]
    return Mean(data, least, most) if len(data) > 1 else None


def ratio_of(above: npt.ArrayLike, below: npt.ArrayLike, *, least: float = -1.0) -> Ratio | None:
    """The ratio of two means over the same units; units that miss either number are left out.

    None with fewer than two units, or where there is nothing to divide by.
    """
    over, under = np.asarray(above, dtype=np.float64).ravel(), np.asarray(below, dtype=np.float64).ravel()
    known = np.isfinite(over) & np.isfinite(under)
    over, under = over[known], under[known]
    return Ratio(over, under, least) if len(over) > 1 and under.mean() > SMALL else None


def crossed_of(
    values: npt.ArrayLike, least: float = 0.0, most: float = 1.0, *, unit_least: float | None = None
) -> Crossed | None:
    """The mean of (units, texts) over both; NaN are left out. None with fewer than two of either.

    Of many units, such as models, no shape is supposed, where it is told how low the mean of a unit can be
    (`unit_least`; if one is lower, that is the least). Of a few that average many texts, such as draws of weights,
    Student's t is taken.
    """
    table = np.asarray(values, dtype=np.float64)
    table = table[np.isfinite(table).any(axis=1)][:, np.isfinite(table).any(axis=0)]
    if min(table.shape) < 2:
        return None
    units, texts = np.nanmean(table, axis=1), np.nanmean(table, axis=0)
    return Crossed(
        Normal(units) if unit_least is None else Mean(units, min(unit_least, float(units.min())), most),
        Mean(texts, least, most),
    )
