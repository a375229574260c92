"""Records of tests of attention, made by hand: two seeds of one model on four instances."""

from typing import Any

import numpy as np
import pandas as pd

from trueness.kinds.text.attention.cell import AttentionCell
from trueness.kinds.text.attention.correlation import PAIRS
from trueness.kinds.text.attention.summary import cells_of

TAU = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.2, 0.5, np.nan]])
P = np.array([[0.01, 0.05, 0.2, 0.3], [0.05, 0.051, 0.01, np.nan]])
ADVERSARY = np.array([[0.4, 0.5, 0.6, 0.69], [0.3, 0.5, 0.69, 0.69]])
PREDICTED = np.array([[0, 1, 0, 1], [0, 1, 1, 1]])
ATTENTION = np.array([[0.05, 0.15, 0.15, 1.0], [0.05, 0.15, 0.55, 0.95]])


def frames(seeds: int = 2, **changes: Any) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Records, spread between seeds, and metrics; changes are columns of the records."""
    table = {"seed": np.arange(2)[:, None], "instance": np.arange(4)[None], "length": np.array([[10, 20, 30, 40]])}
    taus = {f"tau: {pair}": TAU + number / 100 for number, pair in enumerate(PAIRS)}
    overlaps = {f"overlap: {pair}": TAU / 2 for pair, (first, _) in PAIRS.items() if first == "attention"}
    table |= taus | overlaps | {f"p: {pair}": P for pair in PAIRS}
    table |= {"classes": 2, "predicted": PREDICTED, "exact": True, "max_attention": ATTENTION}
    table |= {"alone": [[1, 2, 3, 4], [2, 3, 4, 5]], "deciding": [[5, 6, 7, 8], [7, 8, 9, 10]]}
    table |= {"permutation": [[0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5]]}
    table |= {"permutation_closed": [[0.1, 0.2, 0.3, 0.4], [0.3, 0.4, 0.5, 0.6]]}
    table |= {"adversary 0": 0.0, "upper 0": 0.1, "adversary 0.02": ADVERSARY, "upper 0.02": ADVERSARY + 0.0031}
    table |= {"search": ADVERSARY - 0.1, "search@jw2019": ADVERSARY - 0.05, **changes}
    records = pd.DataFrame({name: np.broadcast_to(values, (2, 4)).ravel() for name, values in table.items()})
    spread = pd.DataFrame(
        {
            "dataset": "texts",
            "model": "bilstm-additive",
            "instance": range(4),
            "reliability: attention": [0.8, 0.82, 0.81, 0.81],
            "reliability: gradient@jw2019": [0.6, 0.68, 0.64, np.nan],
            "reliability: full-gradient": -0.5,
            "reliability: leave-one-out@jw2019": np.nan,
            "divergence between seeds": [0.1, 0.2, 0.3, np.nan],
            "largest divergence between seeds": [0.25, 0.45, 0.55, np.nan],
        }
    )
    metrics = pd.DataFrame(
        {
            "model": ["bilstm-additive"] * 2 + ["bilstm-uniform"] * 3,
            "seed": [0, 1, 0, 1, 7],
            "value": [0.91, 0.95, 0.8, 0.82, 0.1],
            "dataset": "texts",
            "metric": "f1",
        }
    )
    records = records[records["seed"] < seeds].assign(dataset="texts", model="bilstm-additive")
    return records, spread if seeds > 1 else spread.iloc[:0][["dataset", "model", "instance"]], metrics


def cell(seeds: int = 2, metrics: pd.DataFrame | None = None, **changes: Any) -> AttentionCell:
    """One cell of them."""
    records, spread, known = frames(seeds, **changes)
    (found,) = cells_of(records, spread, known if metrics is None else metrics, epsilons={"texts": 0.02})
    return found
