"""What the tests of attention say together: scores, tables, warnings, abstentions, and conclusions checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from trueness.kinds.text.attention.cell import AttentionCell
from trueness.kinds.text.attention.correlation import PAIRS
from trueness.kinds.text.attention.scores import SIGNIFICANT, scores
from trueness.protocols.claim_helpers import GAIN
from trueness.protocols.result import Abstention, Result, ResultWarning
from trueness.protocols.scoring import of_each
from trueness.protocols.similarity import NULL_BAND, UNRELATED, null_deviation
from trueness.stats import Undefined

SATURATED = 0.68
"""A divergence above this is as good as ln 2: it no longer tells instances apart."""
_BINS = {"tau": np.linspace(-1, 1, 41), "divergence": np.linspace(0, 0.7, 36), "change": np.linspace(0, 1, 41)}


def cells_of(
    records: pd.DataFrame, spread: pd.DataFrame, metrics: pd.DataFrame, *, epsilons: Mapping[str, float]
) -> list[AttentionCell]:
    """One for each dataset and model.

    `records`: one row per dataset, model, seed and instance, as `AttentionTrial.records`. `spread`: per dataset, model
    and instance, as `seed_spread`. `metrics`: test performance per dataset, model and seed, uniform attention included.
    `epsilons`: per dataset the change of output that an adversary may cause.
    """
    records = records.assign(null_deviation=null_deviation(records["length"]))
    return [
        AttentionCell(
            str(dataset),
            str(model),
            group,
            spread[(spread["dataset"] == dataset) & (spread["model"] == model)],
            metrics[metrics["dataset"] == dataset],
            epsilons[str(dataset)],
        )
        for (dataset, model), group in records.groupby(["dataset", "model"], sort=False)
    ]


def summarise(cells: Sequence[AttentionCell], metrics: pd.DataFrame, examples: pd.DataFrame) -> Result:
    """The result of many cells; `examples` are instances with their words."""
    drawn = {"correlations": correlations, "histograms": histograms, "densities": densities, "epsilons": curve}
    return Result(
        records=pd.concat([cell.records for cell in cells]).sort_index(),
        scores=of_each(cells, scores),
        warnings=of_each(cells, warnings),
        abstentions=of_each(cells, abstentions),
        tables={
            **{name: pd.DataFrame(of_each(cells, rows)) for name, rows in drawn.items()},
            "metrics": metrics,
            "examples": examples,
        },
    )


def warnings(cell: AttentionCell) -> Iterator[ResultWarning]:
    """Reasons to read the cell with care."""
    values, tau = cell.records[cell.adversary], cell.records["tau: attention, gradient@jw2019"]
    saturated = float((values > SATURATED).mean())
    if saturated > 0.5:
        yield cell.warn(
            "divergence-saturated",
            f"{cell.called} exceeds {SATURATED} (of at most {math.log(2):.3f}) in {saturated:.0%} of "
            f"the instances (median length {cell.records['length'].median():g}), so that it hardly tells them apart",
        )
    inside = float((tau.abs() <= NULL_BAND * cell.records["null_deviation"])[tau.notna()].mean())
    if inside > UNRELATED:
        yield cell.warn(
            "within-null-band",
            f"in {inside:.0%} of the instances tau of attention and gradient lies within the band of unrelated "
            "rankings of that length",
        )
    if not cell.has_formed:
        yield cell.warn(
            "attention-not-formed",
            f"the largest weight is {cell.formed.mean():.1f} times an even share on average: attention has hardly "
            "formed, so that its correlations tell when training stopped rather than what attention is; "
            "train for more epochs",
        )
    undefined = int(tau.isna().sum())
    if undefined:
        yield cell.warn(
            "constant-ranking",
            f"tau is not defined for {undefined} of {len(tau)} instances, because attention or gradient is "
            "constant or there is one token; they are left out (the authors' code makes the whole cell NaN)",
        )
    gain = cell.gain()
    if not isinstance(gain.value, Undefined) and gain.value < GAIN:
        text = f"learned attention gains {gain.value:+.3f} over uniform weights, less than {GAIN}"
        if isinstance(gain.high, Undefined) or gain.high >= GAIN:
            yield cell.warn("uniform-may-suffice", f"{text}, but more cannot be ruled out with {gain.n} seeds")
        else:
            yield cell.warn(
                "uniform-suffices",
                f"{text} (at most {gain.high:+.3f}): whether such attention explains anything is void on this task",
            )
    if "largest divergence between seeds" in cell.spread:
        beyond = cell.beyond_seeds().value
        if not isinstance(beyond, Undefined) and beyond < 0.5:
            yield cell.warn(
                "adversary-within-seeds",
                f"in {1 - beyond:.0%} of the instances {cell.called} diverges no more than retraining with another "
                "seed does",
            )


def abstentions(cell: AttentionCell) -> Iterator[Abstention]:
    """What could not be answered."""
    if cell.seeds < 2:
        yield cell.abstain("noise ceiling and divergence between seeds", "it compares seeds, and there is one")
    if not cell.exact:
        reason = (
            "it is known exactly for two classes and a head that is linear in the attended state; here the best "
            f"feasible one found and an upper bound are given, {cell.gap:.3f} apart in the mean"
        )
        yield cell.abstain("strongest adversary", reason)
    if isinstance(cell.gain().value, Undefined):
        yield cell.abstain("gain over uniform attention", f"{cell.uniform} is not part of the study")
    for pair in PAIRS:
        if cell.records[f"tau: {pair}"].isna().all():
            yield cell.abstain(f"Kendall tau, {pair}", "a ranking is constant in every instance")


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
    classes = cell.classes()
    taus = [(f"tau: {pair}", f"tau: {pair}", "tau") for pair in PAIRS]
    for quantity, column, kind in taus + _divergences(cell):
        for name, part in classes[1:] or classes:
            counts, edges = np.histogram(part[column].dropna(), _BINS[kind])
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
    weights = np.linspace(0, 1, 11)
    for quantity, column, kind in [("permutation", "permutation", "change"), *_divergences(cell)]:
        part, edges = cell.records[["max_attention", column]].dropna(), _BINS[kind]
        counts = np.histogram2d(part["max_attention"].clip(0, 1), part[column], bins=(weights, edges))[0]
        for row, place in zip(*np.nonzero(counts), strict=True):
            yield {
                **cell.place,
                "quantity": quantity,
                "attention_low": round(float(weights[row]), 3),
                "attention_high": round(float(weights[row + 1]), 3),
                "low": round(float(edges[place]), 4),
                "high": round(float(edges[place + 1]), 4),
                "count": int(counts[row, place]),
                "share": float(counts[row, place] / counts[row].sum()),
            }


def curve(cell: AttentionCell) -> Iterator[dict[str, Any]]:
    """The adversary over epsilon, the strongest or the best found."""
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


def _divergences(cell: AttentionCell) -> list[tuple[str, str, str]]:
    """Those that were measured: name, column, and kind of value."""
    names = [("exact" if cell.exact else "best found", cell.adversary), ("search@jw2019", "search@jw2019")]
    known = [(name, column) for name, column in names if column in cell.records]
    return [(name, column, "divergence") for name, column in known if cell.records[column].notna().any()]
