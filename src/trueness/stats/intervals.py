"""Bootstrap confidence intervals of a mean and of a paired difference, plain or clustered."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.stats.rows import as_values
from trueness.stats.undefined import Floats, Reason, Undefined


@dataclass(frozen=True)
class Interval:
    """A mean with its bias-corrected and accelerated bootstrap interval."""

    value: float | Undefined
    low: float | Undefined
    high: float | Undefined
    n: int
    clusters: int
    level: float


def mean_interval(
    values: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
    max_bytes: int = 256 << 20,
) -> Interval:
    """The mean of `values` and its BCa interval (Efron 1987), by `scipy.stats.bootstrap`.

    With `clusters` (a label per value: a seed, an instance) whole clusters are resampled, because values within one are
    not independent. The interval is undefined for one value or cluster and where every value is the same: the data then
    show no spread to learn from. The value is undefined only without data. NaN is refused.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    data = _finite(values)
    labels = np.arange(len(data)) if clusters is None else _numbered(clusters)
    if len(labels) != len(data):
        raise ValueError(f"{len(labels)} cluster labels for {len(data)} values")
    number = int(labels.max()) + 1 if len(data) else 0
    value = float((data / max(len(data), 1)).sum())
    if not np.isfinite(value):
        raise ValueError("the values are too large to be averaged")
    if (nothing := _without_spread(value, data, number, level)) is not None:
        return nothing
    bounds = _bca(data, labels, number, level, resamples, seed, max_bytes)
    return Interval(value, *bounds, n=len(data), clusters=number, level=level)


def t_interval(values: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """The mean of a few values, such as one per seed, and Student's interval.

    The bootstrap is too narrow for fewer than about ten values; Student's supposes they are roughly normal. Undefined
    as `mean_interval` is.
    """
    data = _finite(values)
    size = len(data)
    value = float(data.mean()) if size else 0.0
    if (nothing := _without_spread(value, data, size, level)) is not None:
        return nothing
    from scipy.special import stdtrit

    half = float(stdtrit(size - 1, (1 + level) / 2) * data.std(ddof=1) / np.sqrt(size))
    return Interval(value, value - half, value + half, size, size, level)


def within(interval: Interval, least: float, most: float) -> Interval:
    """The same with bounds that the quantity can have."""
    if isinstance(interval.low, Undefined) or isinstance(interval.high, Undefined):
        return interval
    return replace(interval, low=max(interval.low, least), high=min(interval.high, most))


def difference_interval(a: npt.ArrayLike, b: npt.ArrayLike, **options: Any) -> Interval:
    """The mean of a - b over pairs and its BCa interval; options as in `mean_interval`.

    0 under no difference; positive where a is larger.
    """
    first, second = as_values(a).ravel(), as_values(b).ravel()
    if first.shape != second.shape:
        raise ValueError(f"{len(first)} values are paired with {len(second)}")
    return mean_interval(first - second, **options)


def _finite(values: npt.ArrayLike) -> Floats:
    data = as_values(values).ravel()
    if not np.isfinite(data).all():
        raise ValueError("values must be finite; drop undefined ones first and report how many")
    return data


def _without_spread(value: float, data: Floats, clusters: int, level: float) -> Interval | None:
    """The interval of values that show no spread to learn from, undefined with its reason; None if they do."""
    if len(data) < 2:
        reason = Reason.SINGLE if len(data) else Reason.EMPTY
    elif clusters == 1:
        reason = Reason.ONE_CLUSTER
    elif (data == data[0]).all():
        reason = Reason.CONSTANT
    else:
        return None
    nothing = Undefined(reason)
    return Interval(value if len(data) else nothing, nothing, nothing, len(data), clusters, level)


def _numbered(clusters: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Cluster labels as numbers in order of first appearance, so that renaming clusters changes nothing."""
    _, first, inverse = np.unique(np.asarray(clusters).ravel(), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _bca(
    data: Floats, labels: npt.NDArray[np.intp], number: int, level: float, resamples: int, seed: int, max_bytes: int
) -> tuple[float | Undefined, float | Undefined]:
    sums = np.bincount(labels, weights=data, minlength=number)
    counts = np.bincount(labels, minlength=number).astype(np.float64)
    means = sums / counts
    if np.ptp(means) <= 1e-12 * np.abs(means).max():
        return (Undefined(Reason.CONSTANT),) * 2

    def ratio(sums: Floats, counts: Floats, axis: int = -1) -> Floats:
        return np.asarray(sums.sum(axis=axis) / counts.sum(axis=axis))

    from scipy import stats  # the slowest of all imports, and only needed here

    # A resample of clusters keeps each cluster's sum and count together: the mean is their ratio.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a degenerate interval comes back as NaN and is named below
        result = stats.bootstrap(
            (sums, counts),
            ratio,
            paired=True,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, min(resamples, max_bytes // (32 * number))),
            confidence_level=level,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    low, high = float(result.confidence_interval.low), float(result.confidence_interval.high)
    if not (np.isfinite(low) and np.isfinite(high)):
        return (Undefined(Reason.NO_SPREAD),) * 2
    return low, high
