"""Agreement of attention with measures of importance (Jain and Wallace 2019, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.stats import kendall, rank_biased_overlap
from trueness.stats.undefined import Bools, Floats, Measured

PAIRS = {
    f"{first}, {second}": (first, second)
    for first, second in (
        ("attention", "gradient@jw2019"),
        ("attention", "full-gradient"),
        ("attention", "leave-one-out@jw2019"),
        ("gradient@jw2019", "leave-one-out@jw2019"),
        ("full-gradient", "leave-one-out@jw2019"),
    )
}
"""The pairs of explanations that are compared, by name."""


def correlations(scores: Mapping[str, Floats], mask: Bools) -> dict[str, npt.NDArray[Any]]:
    """Columns, one value per instance: Kendall's tau of every pair with its p-value, and rank-biased overlap.

    The overlap is 0 at chance and 1 at best. NaN where a ranking is constant or has one token: tau is not defined
    there.
    """
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, (first, second) in PAIRS.items():
        found = kendall(scores[first], scores[second], mask)
        columns[f"tau: {name}"] = _plain(found.statistic)
        columns[f"p: {name}"] = _plain(found.p_value)
        if first == "attention":
            columns[f"overlap: {name}"] = _plain(rank_biased_overlap(scores[first], scores[second], mask).corrected)
    return columns


def null_deviation(size: npt.ArrayLike) -> Floats:
    """Standard deviation of Kendall's tau between unrelated rankings of so many tokens, without ties."""
    n = np.asarray(size, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, np.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1))), np.inf)


def _plain(measured: Measured) -> Floats:
    return np.asarray(measured.values.filled(np.nan))
