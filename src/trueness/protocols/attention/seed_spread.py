"""How much explanations differ between models that differ by their seed only: the noise behind every comparison."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from trueness.stats import jensen_shannon, kendall
from trueness.stats.undefined import Bools, Floats

_MOST_PAIRS = 45  # all pairs of ten seeds


def seed_spread(runs: Sequence[Mapping[str, npt.NDArray[Any]]]) -> pd.DataFrame:
    """Per instance: Kendall's tau of each score with itself under the next seed, and the divergence of attention.

    Each run holds `sizes` and the scores of all tokens one after another, as `AttentionTrial.tokens`. The tau is a
    test-retest reliability. Columns follow the names of the scores, whatever order a run holds them in.
    """
    if len(runs) < 2:
        return pd.DataFrame({"instance": np.arange(0)})
    names = sorted(name for name in runs[0] if name not in ("sizes", "adversarial"))
    neighbours = list(zip(range(len(runs)), [*range(1, len(runs)), 0], strict=True))[
        : len(runs) if len(runs) > 2 else 1
    ]
    columns: dict[str, Floats] = {}
    for name in names:
        blocks = [padded(run[name], run["sizes"]) for run in runs]
        taus = [
            kendall(blocks[a][0], blocks[b][0], blocks[a][1]).statistic.values.filled(np.nan) for a, b in neighbours
        ]
        columns[f"reliability: {name}"] = _mean(taus)
        if name == "attention":
            every = list(itertools.combinations(range(len(runs)), 2))
            apart = np.array(
                [
                    jensen_shannon(_weights(blocks[a][0]), _weights(blocks[b][0]), blocks[a][1]).values.filled(np.nan)
                    for a, b in every[:_MOST_PAIRS]
                ]
            )
            columns["divergence between seeds"] = _mean(list(apart))
            columns["largest divergence between seeds"] = np.where(
                np.isnan(apart).all(axis=0), np.nan, np.nanmax(np.nan_to_num(apart, nan=-1.0), axis=0)
            )
    return pd.DataFrame({"instance": np.arange(len(runs[0]["sizes"])), **columns})


def padded(flat: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> tuple[Floats, Bools]:
    """Scores of tokens one after another as (instances, longest) with the mask of real ones."""
    mask = np.arange(int(sizes.max(initial=0))) < sizes[:, None]
    block = np.zeros(mask.shape)
    block[mask] = flat
    return block, mask


def _weights(block: Floats) -> Floats:
    return np.asarray(block / block.sum(axis=1, keepdims=True))


def _mean(values: list[Floats]) -> Floats:
    stacked = np.array(values)
    count = (~np.isnan(stacked)).sum(axis=0)
    return np.asarray(np.where(count > 0, np.nansum(stacked, axis=0) / np.maximum(count, 1), np.nan))
