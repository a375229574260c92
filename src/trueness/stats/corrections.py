"""Adjusted p-values for many tests at once, by statsmodels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueness.stats.rows import as_values
from trueness.stats.undefined import Floats


def holm(p_values: npt.ArrayLike) -> Floats:
    """Holm's step-down adjusted p-values: [0, 1], lower is stronger evidence; bounds the chance of any false claim."""
    return _adjust(p_values, "holm")


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Benjamini-Hochberg adjusted p-values: [0, 1], lower is stronger; bounds the expected share of false claims."""
    return _adjust(p_values, "fdr_bh")


def _adjust(p_values: npt.ArrayLike, method: str) -> Floats:
    p = as_values(p_values)
    if p.size == 0:
        return p
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p-values must lie in [0, 1]; leave undefined tests out")
    from statsmodels.stats.multitest import multipletests

    return np.asarray(multipletests(p.ravel(), method=method)[1], dtype=np.float64).reshape(p.shape)
