"""Is a mean above its mark? An interval and a two-sided p-value, of means, ratios, shares and crossed means.

Where the values of a mean or a ratio are skewed, Student's p-value is too small on one side (a few large values that
happen to be missing also make the spread small). Hall's transformation takes the skewness out; of both p-values the
larger one counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trueness.stats.undefined import Floats

SMALL = 1e-9
"""A denominator whose size is not above this cannot be divided by."""
_LEAST_LOG = -300.0  # of p-values, base 10
_HALVINGS = 45


@dataclass(frozen=True)
class Against:
    """A value beside its mark; `p_value` is two-sided: that the true value lies on the other side is unlikely."""

    value: float
    low: float
    high: float
    mark: float
    p_value: float
    n: int
    level: float
    carriers: float = math.inf
    """Of a ratio: how many equal shares its denominator is worth (Kish); it may come from a few of n values."""
    models: int = 0
    """Of a crossed mean: how many models, or draws; n counts texts."""
    by_models: float = 0.0
    """Of a crossed mean: the share of its variance that is between models."""

    @property
    def above(self) -> bool:
        """On which side of the mark the value lies."""
        return self.value > self.mark


def mean_against(values: npt.ArrayLike, mark: float, *, level: float = 0.95) -> Against | None:
    """The mean of independent values against a mark; NaN are left out. None with fewer than two values.

    Values that are all the same have no spread to learn from: their p-value is that of a sign test.
    """
    data = _known(values)
    if len(data) < 2:
        return None
    return _student(float(data.mean()), data - mark, 1.0, mark, level)


def ratio_against(above: npt.ArrayLike, below: npt.ArrayLike, mark: float, *, level: float = 0.95) -> Against | None:
    """A ratio of means over the same units against a mark (Fieller: the mean of above - mark * below against 0).

    None with fewer than two units, or where the mean below is too small to divide by: its interval reaches 0.
    """
    over, under = np.asarray(above, dtype=np.float64).ravel(), np.asarray(below, dtype=np.float64).ravel()
    known = np.isfinite(over) & np.isfinite(under)
    over, under = over[known], under[known]
    if len(over) < 2:
        return None
    size = float(under.mean())
    nothing = mean_against(under, 0.0, level=0.999)
    if nothing is None or size <= SMALL or nothing.low <= 0:
        return None
    found = _student(
        float(over.mean()) / size, over - mark * under, size, mark, level, over - over.mean() / size * under
    )
    return replace(found, carriers=float(under.sum() ** 2 / (under**2).sum()))


def share_against(holds: npt.ArrayLike, mark: float, *, level: float = 0.95) -> Against | None:
    """The share of values that are 1 and not 0 against a mark, exactly (Clopper and Pearson); NaN are left out."""
    from scipy.stats import binomtest

    data = _known(holds)
    n, k = len(data), int(data.sum())
    if n < 2:
        return None
    low, high = map(float, binomtest(k, n).proportion_ci(level, "exact"))
    sides = [float(binomtest(k, n, mark, alternative=side).pvalue) for side in ("less", "greater")]
    return Against(k / n, low, high, mark, min(1.0, 2 * min(sides)), n, level)


def crossed_against(values: npt.ArrayLike, mark: float, *, level: float = 0.95) -> Against | None:
    """The mean of (models, texts) against a mark, as both models and texts are drawn; NaN are left out.

    The variance is that of the means of models plus that of the means of texts, which counts the noise of single cells
    twice: on the safe side. Quantiles are those of both, weighted by their variances (Cochran and Cox); Satterthwaite's
    degrees of freedom would deny a true mark in up to 8 of 100 cases with three models. None with fewer than two of
    either.
    """
    table = np.asarray(values, dtype=np.float64)
    table = table[np.isfinite(table).any(axis=1)][:, np.isfinite(table).any(axis=0)]
    if min(table.shape) < 2:
        return None
    value = float(np.nanmean(table))
    parts = [float(np.nanmean(table, axis=axis).var(ddof=1)) / table.shape[1 - axis] for axis in (1, 0)]
    error = float(np.sqrt(sum(parts)))
    if error <= SMALL:
        p_value = _sign_test(table.shape[1], value - mark)
        return Against(value, value, value, mark, p_value, table.shape[1], level, models=len(table))
    weights, freedom = np.array(parts) / sum(parts), np.array(table.shape) - 1
    half = weighted_quantile(1 - level, weights, freedom) * error
    p_value = two_sided(abs(value - mark) / error, weights, freedom)
    found = Against(value, value - half, value + half, mark, p_value, table.shape[1], level)
    return replace(found, models=len(table), by_models=float(weights[0]))


def weighted_quantile(p_value: float, weights: Floats, freedom: npt.NDArray[np.int64] | Floats) -> float:
    """The distance, in standard errors, whose two-sided p-value it is: the mean of Student's, weighted by variance."""
    from scipy.special import stdtrit

    return -float((weights * stdtrit(freedom, p_value / 2)).sum())


def two_sided(distance: float, weights: Floats, freedom: npt.NDArray[np.int64]) -> float:
    """The p-value whose `weighted_quantile` is the distance, by bisection of its logarithm."""
    low, high = _LEAST_LOG, 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if weighted_quantile(10**middle, weights, freedom) > distance else (low, middle)
    return float(10**high)


def _student(
    value: float, shifted: Floats, size: float, mark: float, level: float, residual: Floats | None = None
) -> Against:
    """`shifted` has the mean 0 where the value is the mark; the interval comes from the spread of `residual`."""
    from scipy.special import stdtr, stdtrit

    n = len(shifted)
    spread = shifted if residual is None else residual
    half = float(stdtrit(n - 1, (1 + level) / 2) * spread.std(ddof=1) / np.sqrt(n)) / size
    error = shifted.std(ddof=1) / np.sqrt(n)
    distance = float(shifted.mean())
    if error <= SMALL * max(1.0, abs(distance)):
        p_value = _sign_test(n, distance)
    else:
        plain, corrected = distance / error, _without_skewness(shifted)
        p_value = 1.0 if plain * corrected < 0 else float(2 * stdtr(n - 1, -min(abs(plain), abs(corrected))))
    return Against(value, value - half, value + half, mark, p_value, n, level)


def _without_skewness(values: Floats) -> float:
    """Student's t of a mean against 0, transformed so that skewness moves it no more (Hall 1992, a cubic)."""
    n, spread = len(values), float(values.std(ddof=1))
    skewness = float(((values - values.mean()) ** 3).mean()) / spread**3
    t = float(values.mean()) / spread
    return math.sqrt(n) * (t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / (6 * n))


def _sign_test(n: int, distance: float) -> float:
    """All of n values lie on one side, at the same distance; on the mark itself nothing can be told."""
    return 1.0 if abs(distance) <= SMALL else float(min(1.0, 2 * 0.5**n))


def _known(values: npt.ArrayLike) -> Floats:
    data = np.asarray(values, dtype=np.float64).ravel()
    return data[np.isfinite(data)]
