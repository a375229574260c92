"""How alike two explanations of the same examples are, by every measure, for all pairs of methods at once."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trueness.stats import (
    Measured,
    kendall,
    pearson,
    rank_biased_overlap,
    spearman,
    top_k_agreement,
    top_k_kendall,
    weighted_kendall,
)
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

TAU = "Kendall tau"


def pair_records(scores: Mapping[str, Floats], mask: Bools, k: int) -> pd.DataFrame:
    """One row per pair of methods and example: the names, the length, and every measure, missing where undefined.

    Rankings are by magnitude, as in the paper; the sign enters only where a name says so. Top-k measures and
    rank-biased overlap are corrected for chance: 0 for unrelated rankings, 1 at best.
    """
    import pandas as pd

    pairs = list(itertools.combinations(scores, 2))
    texts = len(mask)
    if not pairs:
        return pd.DataFrame({"instance": [], "first": [], "second": [], "length": []})
    first, second = (np.concatenate([np.asarray(scores[pair[side]]) for pair in pairs]) for side in (0, 1))
    measured = _measures(first, second, np.tile(mask, (len(pairs), 1)), k)
    return pd.DataFrame(
        {
            "instance": np.tile(np.arange(texts), len(pairs)),
            "first": np.repeat([pair[0] for pair in pairs], texts),
            "second": np.repeat([pair[1] for pair in pairs], texts),
            "length": np.tile(mask.sum(axis=1), len(pairs)),
            **{name: values.values.filled(np.nan) for name, values in measured.items()},
        }
    )


def own_records(scores: Mapping[str, Floats], again: Mapping[str, Floats], mask: Bools) -> pd.DataFrame:
    """One row per method and example: Kendall's tau between two sets of scores of the same method.

    `again` may have the first examples only.
    """
    import pandas as pd

    names = [name for name in scores if name in again]
    if not names:
        return pd.DataFrame({"method": [], "instance": [], TAU: []})
    texts, width = again[names[0]].shape
    mask = mask[:texts, :width]
    first = np.abs(np.concatenate([scores[name][:texts, :width] for name in names]))
    second = np.abs(np.concatenate([again[name] for name in names]))
    tau = kendall(first, second, np.tile(mask, (len(names), 1))).statistic.values.filled(np.nan)
    return pd.DataFrame(
        {"method": np.repeat(names, texts), "instance": np.tile(np.arange(texts), len(names)), TAU: tau}
    )


def measure_names(records: pd.DataFrame) -> list[str]:
    """The columns of records that are measures."""
    return [str(name) for name in records if name not in ("instance", "first", "second", "length", "seed")]


def _measures(a: Floats, b: Floats, mask: Bools, k: int) -> dict[str, Measured]:
    large = np.abs(a), np.abs(b)
    most = np.clip(mask.sum(axis=1), 1, k)
    top = top_k_agreement(a, b, mask, k=most)
    return {
        TAU: kendall(*large, mask).statistic,
        "weighted tau": weighted_kendall(*large, mask),
        f"tau of the top {k}, corrected": top_k_kendall(a, b, mask, k=most).corrected,
        "Spearman": spearman(*large, mask),
        "Pearson": pearson(*large, mask),
        "rank-biased overlap, corrected": rank_biased_overlap(a, b, mask).corrected,
        f"top {k}, corrected": top.feature.corrected,
        f"top {k} with rank, corrected": top.rank.corrected,
        f"top {k} with sign, corrected": top.sign.corrected,
        f"top {k} with rank and sign, corrected": top.signed_rank.corrected,
    }
