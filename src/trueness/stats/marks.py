"""Is a mean above its mark? Student's interval and a two-sided p-value, of means, ratios and crossed means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueness.stats.undefined import Floats

SMALL = 1e-9
"""A denominator whose size is not above this cannot be divided by."""


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
    return _student(
        float(over.mean()) / size, over - mark * under, size, mark, level, over - over.mean() / size * under
    )


def crossed_against(values: npt.ArrayLike, mark: float, *, level: float = 0.95) -> Against | None:
    """The mean of (models, texts) against a mark, as both models and texts are drawn; NaN are left out.

    The variance is that of the means of models plus that of the means of texts, which counts the noise of single cells
    twice: on the safe side. Degrees of freedom by Satterthwaite. None with fewer than two of either.
    """
    table = np.asarray(values, dtype=np.float64)
    table = table[np.isfinite(table).any(axis=1)][:, np.isfinite(table).any(axis=0)]
    if min(table.shape) < 2:
        return None
    from scipy.special import stdtr, stdtrit

    value = float(np.nanmean(table))
    parts = [float(np.nanmean(table, axis=axis).var(ddof=1)) / table.shape[1 - axis] for axis in (1, 0)]
    freedom = sum(parts) ** 2 / max(sum(p**2 / (n - 1) for p, n in zip(parts, table.shape, strict=True)), 1e-300)
    error = np.sqrt(sum(parts))
    if error <= SMALL:
        return Against(value, value, value, mark, _sign_test(table.shape[1], value - mark), table.shape[1], level)
    half = float(stdtrit(freedom, (1 + level) / 2) * error)
    p_value = float(2 * stdtr(freedom, -abs(value - mark) / error))
    return Against(value, value - half, value + half, mark, p_value, table.shape[1], level)


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
        p_value = float(2 * stdtr(n - 1, -abs(distance) / error))
    return Against(value, value - half, value + half, mark, p_value, n, level)


def _sign_test(n: int, distance: float) -> float:
    """All of n values lie on one side, at the same distance; on the mark itself nothing can be told."""
    return 1.0 if abs(distance) <= SMALL else float(min(1.0, 2 * 0.5**n))


def _known(values: npt.ArrayLike) -> Floats:
    data = np.asarray(values, dtype=np.float64).ravel()
    return data[np.isfinite(data)]
