"""Adjusted p-values for many tests at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueness.stats.rows import as_values
from trueness.stats.undefined import Floats


def holm(p_values: npt.ArrayLike) -> Floats:
    """Holm's step-down adjusted p-values: [0, 1], lower is stronger evidence; bounds the chance of any false claim."""
    p = _checked(p_values)
    order = np.argsort(p, axis=None, kind="stable")
    found = np.empty(p.size)
    found[order] = np.minimum(np.maximum.accumulate((p.size - np.arange(p.size)) * p.ravel()[order]), 1.0)
    return found.reshape(p.shape)


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Benjamini-Hochberg adjusted p-values: [0, 1], lower is stronger; bounds the expected share of false claims."""
    from scipy.stats import false_discovery_control

    p = _checked(p_values)
    return np.asarray(false_discovery_control(p, axis=None), dtype=np.float64).reshape(p.shape) if p.size else p


def _checked(p_values: npt.ArrayLike) -> Floats:
    p = as_values(p_values)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p-values must lie in [0, 1]; leave undefined tests out")
    return p
