"""The mean of what was measured with several models (seeds) on the same instances: both are drawn, and both count."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from trueness.stats.intervals import Interval, t_interval
from trueness.stats.undefined import Floats, Reason, Undefined

SMALL = 1e-9
_LEAST_LOG = -300.0  # of p-values, base 10
_HALVINGS = 45


def crossed_interval(values: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """The mean of (seeds, instances) and its interval over both; n counts seeds. What is not finite is left out.

    The variance is that of the means of seeds plus that of the means of instances, less the noise of single cells,
    which is in both. Quantiles are Student's of both, weighted by their variances (Cochran and Cox). For normal data it
    covers .92 to .98 of a nominal .95 with three seeds and more (`tests/stats/test_coverage.py`). With one seed it is
    Student's over instances, says nothing about other seeds, and n counts instances; with one instance Student's over
    seeds.
    """
    table = _known(values)
    if not table.size or min(table.shape) < 2:
        return t_interval(table[np.isfinite(table)], level=level)
    value, variances, freedom = _parts(table)
    seeds, instances = table.shape
    error = float(np.sqrt(variances.sum()))
    if error <= SMALL:
        nothing = Undefined(Reason.CONSTANT)
        return Interval(value, nothing, nothing, seeds, instances, level)
    half = weighted_quantile(1 - level, variances / variances.sum(), freedom) * error
    return Interval(value, value - half, value + half, seeds, instances, level)


def crossed_difference(first: npt.ArrayLike, second: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """The mean of one table less that of another: other models, as many as there are, on the same instances.

    As `crossed_interval`; the variances of both tables' seeds add, with Welch's degrees of freedom. n counts the seeds
    of the smaller table; of a single seed nothing is said about others.
    """
    both = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    if any(table.ndim != 2 for table in both) or both[0].shape[1] != both[1].shape[1]:
        raise ValueError("two tables of seeds and the same instances are needed")
    known = np.all([np.isfinite(table).any(axis=0) for table in both], axis=0)
    one, other = (table[np.isfinite(table[:, known]).any(axis=1)][:, known] for table in both)
    seeds, instances = min(len(one), len(other)), int(known.sum())
    change = np.nanmean(one, axis=0) - np.nanmean(other, axis=0) if instances else np.zeros(0)
    if instances < 2:
        return t_interval(change, level=level)
    several = [table for table in (one, other) if len(table) > 1]
    # Where cells are missing, a seed is compared with the others on the instances that it has.
    seeds_of = [np.nanmean(table - np.nanmean(table, axis=0), axis=1) for table in several]
    own = np.array([float(means.var(ddof=1)) / len(means) for means in seeds_of])
    over_seeds, squares = own.sum(), sum(part**2 / (len(table) - 1) for part, table in zip(own, several, strict=True))
    over_instances = max(float(change.var(ddof=1)) / instances - sum(map(_noise, several)), 0.0)
    parts = np.array([over_seeds, over_instances])
    freedom = np.array([over_seeds**2 / squares if squares else 1, instances - 1])
    value, error = float(change.mean()), float(np.sqrt(parts.sum()))
    if error <= SMALL:
        nothing = Undefined(Reason.CONSTANT)
        return Interval(value, nothing, nothing, seeds, instances, level)
    half = weighted_quantile(1 - level, parts / parts.sum(), freedom) * error
    return Interval(value, value - half, value + half, seeds, instances, level)


def crossed_p_value(values: npt.ArrayLike) -> float:
    """The two-sided p-value that the mean of (seeds, instances) is 0, by the quantiles of `crossed_interval`.

    1 where there are fewer than two instances, or all values are 0; 0 where all are the same and not 0. With one seed
    it speaks of that one.
    """
    table = _known(values)
    if not table.size or table.shape[1] < 2:
        return 1.0
    if len(table) < 2:
        data = table[np.isfinite(table)]
        value, variances = float(data.mean()), np.array([data.var(ddof=1) / len(data)])
        freedom = np.array([len(data) - 1])
    else:
        value, variances, freedom = _parts(table)
    error = float(np.sqrt(variances.sum()))
    if error <= SMALL:
        return 0.0 if abs(value) > SMALL else 1.0
    return two_sided(abs(value) / error, variances / variances.sum(), freedom)


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


def of_pairs(pairs: npt.ArrayLike, seeds: int) -> Floats:
    """From what was measured of every two seeds: a table (seeds, instances) for `crossed_interval`.

    `pairs` is (pairs, instances), in the order of `itertools.combinations`. Pairs that share a seed are not
    independent. Each seed's row is its pseudo-value of the jackknife: as many times the mean as there are seeds, less
    the others' part. With two seeds there is one pair, and one row.
    """
    table = np.asarray(pairs, dtype=np.float64)
    combinations = list(itertools.combinations(range(seeds), 2))
    if len(combinations) != len(table):
        raise ValueError(f"{len(table)} rows for the {len(combinations)} pairs of {seeds} seeds")
    if seeds < 3:
        return table
    whole = table.mean(axis=0)
    rows = []
    for seed in range(seeds):
        without = [row for row, pair in enumerate(combinations) if seed not in pair]
        rows.append(seeds * whole - (seeds - 1) * table[without].mean(axis=0))
    return np.stack(rows)


def _known(values: npt.ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError("a table of seeds and instances is needed")
    there = np.isfinite(table)
    return np.where(there, table, np.nan)[there.any(axis=1)][:, there.any(axis=0)]


def _parts(table: Floats) -> tuple[float, Floats, npt.NDArray[np.int64]]:
    """The mean, the variances that seeds and instances add to it, and their degrees of freedom."""
    seeds, instances = table.shape
    over_seeds = float(np.nanmean(table, axis=1).var(ddof=1)) / seeds
    over_instances = max(float(np.nanmean(table, axis=0).var(ddof=1)) / instances - _noise(table), 0.0)
    return float(np.nanmean(table)), np.array([over_seeds, over_instances]), np.array([seeds - 1, instances - 1])


def _noise(table: Floats) -> float:
    """The variance that single cells add to the mean of all."""
    by_seed, by_instance = np.nanmean(table, axis=1), np.nanmean(table, axis=0)
    rest = table - by_seed[:, None] - by_instance[None, :] + np.nanmean(table)
    known = int(np.isfinite(table).sum())
    return float(np.nansum(rest**2)) / max(known - sum(table.shape) + 1, 1) / known
