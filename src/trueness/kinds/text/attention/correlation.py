"""Agreement of attention with measures of importance (Jain and Wallace 2019, section 4.1), and of seeds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from trueness.stats import jensen_shannon, kendall, of_pairs, rank_biased_overlap
from trueness.stats.undefined import Bools, Floats, Measured

_MOST_SEEDS = 10
PSEUDO = "divergence between seeds, without "
"""Columns of pseudo-values of the jackknife over seeds, of which `crossed_interval` makes an interval."""
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


def seed_spread(runs: Sequence[Mapping[str, npt.NDArray[Any]]]) -> pd.DataFrame:
    """Per instance: Kendall's tau of each score with itself under the next seed, and the divergence of attention.

    Each run holds `sizes` and the scores of all tokens one after another, as `AttentionTrial.tokens`. The tau is a
    test-retest reliability. Columns follow the names of the scores, whatever order a run holds them in. Attention of
    every two of the first ten seeds is compared.
    """
    number = len(runs)
    if number < 2:
        return pd.DataFrame({"instance": np.arange(0)})
    columns: dict[str, Floats] = {}
    for name in sorted(name for name in runs[0] if name not in ("sizes", "adversarial")):
        blocks, (mask, *_) = zip(*(padded(run[name], run["sizes"]) for run in runs), strict=True)
        neighbours = [(one, (one + 1) % number) for one in range(number if number > 2 else 1)]
        taus = [kendall(blocks[one], blocks[other], mask).statistic.values for one, other in neighbours]
        columns[f"reliability: {name}"] = np.ma.stack(taus).mean(axis=0).filled(np.nan)
        if name == "attention":
            weights = [block / block.sum(axis=1, keepdims=True) for block in blocks]
            pairs = itertools.combinations(weights[:_MOST_SEEDS], 2)
            apart = np.ma.stack([jensen_shannon(*pair, mask).values for pair in pairs])
            columns["divergence between seeds"] = apart.mean(axis=0).filled(np.nan)
            columns["largest divergence between seeds"] = apart.max(axis=0).filled(np.nan)
            parts = of_pairs(apart.filled(np.nan), min(number, _MOST_SEEDS))
            columns |= {f"{PSEUDO}{seed}": values for seed, values in enumerate(parts) if len(parts) > 1}
    return pd.DataFrame({"instance": np.arange(len(runs[0]["sizes"])), **columns})


def padded(flat: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> tuple[Floats, Bools]:
    """Scores of tokens one after another as (instances, longest) with the mask of real ones."""
    mask = np.arange(int(sizes.max(initial=0))) < sizes[:, None]
    block = np.zeros(mask.shape)
    block[mask] = flat
    return block, mask


def _plain(measured: Measured) -> Floats:
    return np.asarray(measured.values.filled(np.nan))
