"""The mean of bounded values beside a threshold, whatever their shape: Gaffke's test, computed exactly.

For independent values of at least `low`, the p-value that their mean is at most t is

    P(sum_i e_i (x_i - t) + e_0 (low - t) <= 0),   e_0, ..., e_n independent, exponential with mean 1:

a Bayesian bootstrap of the values and of one more that is as low as can be. For values 0 and 1 it is the exact binomial
test; in general it is conjectured to be valid (Gaffke 2005; Learned-Miller and Thomas 2019, arXiv 1905.06208).
`docs/statistics-of-verdicts.md` tells how often it erred and decided in our trials, beside Student's test and betting.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueness.stats.undefined import Floats

_STEPS: Floats = np.linspace(0.0, 1.0, 33)
_HALVINGS = 40


def mean_p(values: npt.ArrayLike, threshold: float, low: float, *, times: float = 1.0) -> float:
    """The p-value that the mean is at most the threshold, [0, 1]; `times` as if each value had been seen so often.

    For values of at most `high`, whose mean may be at least a threshold, give all three with the other sign.
    """
    data, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    if not len(data) or threshold >= data[-1]:
        return 1.0
    if threshold <= low:
        return 0.0  # no mean is that low, unless all values are
    distances = np.append((data - threshold) / (threshold - low), -1.0)
    weights = np.append(counts * times, 1.0)
    if distances @ weights >= 0:
        return _at_most_zero(distances, weights)
    return 1.0 - _at_most_zero(-distances, weights)


def _at_most_zero(distances: Floats, weights: Floats) -> float:
    """P(the sum of gamma variables of shapes `weights`, times `distances`, is at most 0), where its mean is not below.

    It is the integral of exp(phi(s)) / (2 pi i) over s = c + iy, phi(s) = -sum w log(1 - s d) - log(-s), for any c
    between 1 / (the least distance) and 0. Through its saddle the integrand is largest at y = 0 and nothing cancels.
    """
    c = _saddle(distances, weights)
    curvature = float(weights @ (distances / (1 - c * distances)) ** 2) + 1 / c**2
    # y = sinh(u) in widths of the saddle: dense at the centre, and as far as a power law takes to vanish.
    u = min(12.0, 36.0 / (weights.sum() + 1) + 3.2) * _STEPS
    y = np.sinh(u) / np.sqrt(curvature)
    heights = 1 - c * distances
    slopes = y[:, None] * (distances / heights)
    # log(1 - s d) = log(heights) + log(1 - i slopes), in real numbers, which is faster
    size = -0.5 * np.log1p(slopes**2) @ weights - 0.5 * np.log1p((y / c) ** 2)
    angle = np.arctan(slopes) @ weights - np.arctan(y / c)
    shape = np.exp(size) * np.cos(angle) * np.cosh(u)
    integral = (shape.sum() - shape[0] / 2) * u[1] / np.sqrt(curvature) / np.pi
    top = float(-np.log(heights) @ weights - np.log(-c))
    return float(np.clip(np.exp(top) * integral, 0.0, 1.0))


def _saddle(distances: Floats, weights: Floats) -> float:
    """The c at which phi is least: phi is convex there, and bisection finds where its slope is 0."""
    low, high = 1 / float(distances.min()), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        slope = float(weights @ (distances / (1 - middle * distances))) - 1 / middle
        low, high = (middle, high) if slope < 0 else (low, middle)
    return (low + high) / 2
