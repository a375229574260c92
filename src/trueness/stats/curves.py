"""Summaries of performance curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueness.stats.undefined import Bools, Floats, Measured, Reason

_FLAT = 1e-12  # rounding error of a sum of performances, far below any test set's resolution


@dataclass(frozen=True)
class AreaBetweenCurves:
    """The relative area between a baseline curve and a measured one, per run."""

    value: Measured
    best: Measured
    """The value of a curve that falls to the floor at the first step: the most that can be attained."""
    denominator: Floats
    """Area between the baseline and its floor, in units of performance; below 0.05 the ratio is fragile."""


def area_between_curves(ratio: npt.ArrayLike, measure: npt.ArrayLike, baseline: npt.ArrayLike) -> AreaBetweenCurves:
    """Faithfulness of Madsen et al. (2022), equation 3, one value per row of `measure` and `baseline`.

    With performance p_i of the measure and b_i of random removal at masking ratio x_i, i = 1..I:
    sum 1/2 dx_i ((b_i - p_i) + (b_i+1 - p_i+1)) / sum 1/2 dx_i ((b_i - b_I) + (b_i+1 - b_I)).
    Higher means more faithful, 0 is what random removal gets, negative is worse than random. It does not exceed `best`
    unless performance falls below the floor b_I; `best` is below 1 where the curves begin at the same unmasked point.
    Undefined with fewer than two points, a non-finite curve, or a baseline that never falls.
    """
    x = np.asarray(ratio, dtype=np.float64).ravel()
    p = np.atleast_2d(np.asarray(measure, dtype=np.float64))
    b = np.atleast_2d(np.asarray(baseline, dtype=np.float64))
    p, b = np.broadcast_arrays(p, b)
    if p.shape[-1] != len(x):
        raise ValueError(f"{len(x)} ratios for curves of {p.shape[-1]} points")
    if not np.isfinite(x).all() or not (np.diff(x) > 0).all():
        raise ValueError("the masking ratios must be finite and increase")
    finite: Bools = np.asarray(np.isfinite(p).all(axis=1) & np.isfinite(b).all(axis=1))
    p, b = (np.where(finite[:, None], curve, 0.0) for curve in (p, b))
    floor = b[:, -1:] if len(x) else b
    immediate = np.broadcast_to(floor, b.shape).copy()
    if len(x) and x[0] == 0:
        immediate[:, 0] = b[:, 0]  # nothing is masked yet: both curves share this point
    denominator: Floats = np.asarray(np.trapezoid(b - floor, x, axis=1))
    divisor = np.where(denominator > _FLAT, denominator, 1.0)
    reasons = {
        Reason.EMPTY: np.full(len(p), len(x) == 0),
        Reason.SINGLE: np.full(len(p), len(x) == 1),
        Reason.NOT_FINITE: ~finite,
        Reason.FLAT_BASELINE: denominator <= _FLAT,
    }
    return AreaBetweenCurves(
        value=Measured(np.trapezoid(b - p, x, axis=1) / divisor, reasons),
        best=Measured(np.trapezoid(b - immediate, x, axis=1) / divisor, reasons),
        denominator=denominator,
    )
