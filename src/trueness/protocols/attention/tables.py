"""Tables that the paper's Table 2 and Figures 2 to 8 are drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trueness.protocols.attention.cell import AttentionCell
from trueness.protocols.attention.correlation import PAIRS
from trueness.protocols.attention.scores import SIGNIFICANT

SATURATED = 0.68
"""A divergence above this is as good as ln 2: it no longer tells instances apart."""
_BINS = {"tau": np.linspace(-1, 1, 41), "divergence": np.linspace(0, 0.7, 36), "change": np.linspace(0, 1, 41)}


def correlations(cell: AttentionCell) -> Iterator[dict[str, Any]]:
    """Table 2, seed by seed: mean and spread of tau, and the significant share."""
    for pair in PAIRS:
        for name, part in cell.classes():
            for _, run in part.groupby("seed"):
                tau, p = run[f"tau: {pair}"].dropna(), run[f"p: {pair}"].dropna()
                yield {
                    **cell.place,
                    "pair": pair,
                    "class": name,
                    "seed": int(run["seed"].iloc[0]),
                    "mean": float(tau.mean()) if len(tau) else None,
                    "deviation": float(tau.std(ddof=0)) if len(tau) else None,
                    "significant": float((p <= SIGNIFICANT).mean()) if len(p) else None,
                    "n": len(tau),
                    "undefined": len(run) - len(tau),
                }


def histograms(cell: AttentionCell) -> Iterator[dict[str, Any]]:
    """Shares of instances by value, for Figures 2 and 7."""
    columns = [(f"tau: {pair}", f"tau: {pair}", "tau") for pair in PAIRS]
    columns += [(name, column, "divergence") for name, column in _divergences(cell)]
    for quantity, column, kind in columns:
        for name, part in cell.classes():
            values = part[column].dropna()
            if name == "all" and len(cell.classes()) > 1:
                continue
            counts, edges = np.histogram(values, _BINS[kind])
            for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
                if count:
                    yield {
                        **cell.place,
                        "quantity": quantity,
                        "class": name,
                        "low": round(float(low), 4),
                        "high": round(float(high), 4),
                        "share": count / max(len(cell.records), 1),
                    }


def densities(cell: AttentionCell) -> Iterator[dict[str, Any]]:
    """Counts of instances by largest attention weight and value, for Figures 6 and 8."""
    rows = [("permutation", "permutation", "change")]
    rows += [(name, column, "divergence") for name, column in _divergences(cell)]
    weights = np.linspace(0, 1, 11)
    for quantity, column, kind in rows:
        part = cell.records[["max_attention", column]].dropna()
        counts, _, edges = np.histogram2d(
            part["max_attention"].clip(0, 1),
            part[column],
            bins=(weights, _BINS[kind]),
        )
        for row, column_ in zip(*np.nonzero(counts), strict=True):
            inside = counts[row].sum()
            yield {
                **cell.place,
                "quantity": quantity,
                "attention_low": round(float(weights[row]), 3),
                "attention_high": round(float(weights[row + 1]), 3),
                "low": round(float(edges[column_]), 4),
                "high": round(float(edges[column_ + 1]), 4),
                "count": int(counts[row, column_]),
                "share": float(counts[row, column_] / inside),
            }


def curve(cell: AttentionCell) -> Iterator[dict[str, Any]]:
    """The strongest adversary over epsilon."""
    for column in map(str, cell.records.columns):
        if column.startswith("adversary ") and cell.records[column].notna().any():
            epsilon = column.split()[1]
            if not cell.exact and float(epsilon) == 0:
                continue  # a search cannot keep an output exactly
            values = cell.records[column]
            yield {
                **cell.place,
                "quantity": "exact" if cell.exact else "best found",
                "epsilon": float(epsilon),
                "mean": float(values.mean()),
                "lower_quartile": float(values.quantile(0.25)),
                "upper_quartile": float(values.quantile(0.75)),
                "upper_bound": float(cell.records[f"upper {epsilon}"].mean()),
                "saturated": float((values > SATURATED).mean()),
                "seeds": cell.seeds,
            }


def _divergences(cell: AttentionCell) -> list[tuple[str, str]]:
    names = [("exact" if cell.exact else "best found", cell.adversary), ("search@jw2019", "search@jw2019")]
    return [(name, column) for name, column in names if column in cell.records and cell.records[column].notna().any()]
