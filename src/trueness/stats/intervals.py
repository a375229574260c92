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


def mean_intervals(
    values: npt.ArrayLike, clusters: npt.ArrayLike, *, level: float = 0.95, resamples: int = 9999, seed: int = 0
) -> list[Interval]:
    """`mean_interval` of every column of (rows, columns) at once, a row's cluster being the same in all of them.

    NaN marks values that a column does not have. Columns share their resamples, which are matrix products: hundreds of
    columns cost little more than one.
    """
    data = np.asarray(values, dtype=np.float64)
    labels = _numbered(clusters)
    number = int(labels.max()) + 1 if len(labels) else 0
    there = ~np.isnan(data)
    sums, counts = np.zeros((number, data.shape[1])), np.zeros((number, data.shape[1]))
    np.add.at(sums, labels, np.where(there, data, 0.0))
    np.add.at(counts, labels, there)
    sizes, groups = there.sum(axis=0), (counts > 0).sum(axis=0)
    low, high = _bca_columns(sums, counts, level, resamples, seed)
    found = []
    for column, (size, group) in enumerate(zip(sizes.tolist(), groups.tolist(), strict=True)):
        if np.isfinite(low[column]) and np.isfinite(high[column]) and group > 1:
            value = float(sums[:, column].sum() / size)
            found.append(Interval(value, float(low[column]), float(high[column]), size, group, level))
        else:  # no spread, or so few clusters that a resample may hold none of them: its reason is worked out alone
            rows = there[:, column]
            options = {"level": level, "resamples": resamples, "seed": seed}
            found.append(mean_interval(data[rows, column], clusters=labels[rows], **options))  # type: ignore[arg-type]
    return found


def _bca_columns(sums: Floats, counts: Floats, level: float, resamples: int, seed: int) -> tuple[Floats, Floats]:
    """BCa bounds of sum over count, resampling rows: Efron 1987, as `scipy.stats.bootstrap`."""
    from scipy.special import ndtr, ndtri

    number, columns = sums.shape
    if number < 2:
        return np.full(columns, np.nan), np.full(columns, np.nan)
    drawn = np.random.default_rng(seed).multinomial(number, np.full(number, 1 / number), size=resamples)
    weight = drawn.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = sums / counts
        flat = np.nanmax(each, axis=0, initial=-np.inf) - np.nanmin(each, axis=0, initial=np.inf)
        means = np.sort((weight @ sums) / (weight @ counts), axis=0)
        value = sums.sum(axis=0) / counts.sum(axis=0)
        below = ((means < value).mean(axis=0) + (means <= value).mean(axis=0)) / 2
        bias = ndtri(below)
        without = (sums.sum(axis=0) - sums) / (counts.sum(axis=0) - counts)
        influence = (number - 1) * (without.mean(axis=0) - without)
        skew = (influence**3).sum(axis=0) / number**3
        acceleration = skew / (6 * ((influence**2).sum(axis=0) / number**2) ** 1.5)
        ends = []
        for tail in ((1 - level) / 2, (1 + level) / 2):
            shifted = bias + ndtri(tail)
            share = ndtr(bias + shifted / (1 - acceleration * shifted))
            place = np.clip(np.nan_to_num(share) * (resamples - 1), 0, resamples - 1)
            under = np.floor(place).astype(np.intp)
            over = np.minimum(under + 1, resamples - 1)
            column = np.arange(columns)
            between = means[under, column] + (place - under) * (means[over, column] - means[under, column])
            defined = np.isfinite(share) & np.isfinite(means[-1]) & (flat > 1e-12 * np.abs(value))
            ends.append(np.where(defined, between, np.nan))
    return ends[0], ends[1]


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
