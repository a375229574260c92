"""How alike two explanations of the same examples look: what changes between two heat maps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueness.stats.undefined import Bools, Floats

FLAT = 1e-9
"""Spread, as a share of an example's largest score, below which its scores are all the same."""
ROUNDING = 1e-15
"""Spread, as a share of the largest score that a method gives to any example at hand, below which scores are rounding.

A method that hides words takes differences of outputs, about as large as its largest score, and a double holds 16
digits: where hiding changes nothing, LIME's least squares leave 1e-31. Gradients are products, which keep their digits
however small they are; those of a saturated model, at 1e-12 of others', lie above.
"""

NULL_BAND = 1.96
"""Deviations from 0 within which 95 % of the taus of unrelated rankings lie; see `null_deviation`."""
UNRELATED = 0.9
"""Share of an explanation's taus within that band beyond which two methods are called unrelated."""


def largest_of(scores: Floats) -> float:
    """The largest magnitude; what is not finite is left out."""
    return float(np.abs(scores, where=np.isfinite(scores), out=np.zeros(np.shape(scores))).max(initial=0.0))


def is_flat(spread: Floats, largest: Floats, scale: float | Floats) -> Bools:
    """(examples,) whether scores show nothing, from their root of the sum of squares about the mean and the largest.

    `scale` is the largest score of any example at hand.
    """
    return np.asarray(spread <= np.maximum(FLAT * np.maximum(largest, 1e-30), ROUNDING * np.asarray(scale)))


def flat(scores: Floats, mask: Bools) -> Bools:
    """(examples,) whether an explanation gives every unit the same score; false of those with fewer than two units."""
    same: Bools = _centred(scores, mask, 0.0)[1] & (mask.sum(axis=1) >= 2)
    return same


def similarity(first: Floats, second: Floats, mask: Bools, scale: float = 0.0) -> Floats:
    """(examples,) Pearson's correlation of the scores inside the mask: 1 for the same picture, 0 for unrelated ones.

    Its square is the share of the one picture's variance that the other has too. Scores that are all the same are no
    picture: beside another such they are the same (1), beside any other unrelated (0). Not a number for examples with
    fewer than two scores. Where these are a few of the examples, `scale` is the largest score of all.
    """
    (a, flat_a), (b, flat_b) = _centred(first, mask, scale), _centred(second, mask, scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (a * b).sum(axis=1) / (np.sqrt((a**2).sum(axis=1)) * np.sqrt((b**2).sum(axis=1)))
    found = np.where(flat_a & flat_b, 1.0, np.where(flat_a | flat_b, 0.0, np.clip(found, -1, 1)))
    return np.where(mask.sum(axis=1) >= 2, found, np.nan)


def _centred(scores: Floats, mask: Bools, scale: float) -> tuple[Floats, Bools]:
    """Scores less the mean of their example, 0 outside the mask; and which examples are flat."""
    inside = np.where(mask, scores, 0.0).astype(np.float64)
    size = np.maximum(mask.sum(axis=1), 1)[:, None]
    found = np.where(mask, inside - inside.sum(axis=1, keepdims=True) / size, 0.0)
    spread, largest = np.sqrt((found**2).sum(axis=1)), np.abs(inside).max(axis=1, initial=0.0)
    return found, is_flat(spread, largest, max(scale, largest_of(inside)))


def null_deviation(size: npt.ArrayLike) -> Floats:
    """Standard deviation of Kendall's tau between unrelated rankings of so many units, without ties."""
    n = np.asarray(size, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, np.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1))), np.inf)
