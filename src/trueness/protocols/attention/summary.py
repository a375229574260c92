"""What the tests of attention say together: scores, tables, warnings, abstentions, and conclusions checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from trueness.protocols.attention import tables
from trueness.protocols.attention.cell import AttentionCell
from trueness.protocols.attention.correlation import PAIRS, null_deviation
from trueness.protocols.attention.scores import NULL_BAND, scores
from trueness.protocols.cell import of_each
from trueness.protocols.claim_helpers import GAIN
from trueness.protocols.result import Abstention, Result, ResultWarning
from trueness.stats import Undefined

NEARLY_ALL = 0.9
"""Of unrelated rankings 95 % lie within the null band."""


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

    def table(rows: Callable[[AttentionCell], Iterator[dict[str, Any]]]) -> pd.DataFrame:
        return pd.DataFrame(of_each(cells, rows))

    return Result(
        records=pd.concat([cell.records for cell in cells]).sort_index(),
        scores=of_each(cells, scores),
        warnings=of_each(cells, warnings),
        abstentions=of_each(cells, abstentions),
        tables={
            "correlations": table(tables.correlations),
            "histograms": table(tables.histograms),
            "densities": table(tables.densities),
            "epsilons": table(tables.curve),
            "metrics": metrics,
            "examples": examples,
        },
    )


def warnings(cell: AttentionCell) -> Iterator[ResultWarning]:
    """Reasons to read the cell with care."""
    values, tau = cell.records[cell.adversary], cell.records["tau: attention, gradient@jw2019"]
    saturated = float((values > tables.SATURATED).mean())
    if saturated > 0.5:
        yield cell.warn(
            "divergence-saturated",
            f"the strongest adversary exceeds {tables.SATURATED} (of at most {math.log(2):.3f}) in {saturated:.0%} of "
            f"the instances (median length {cell.records['length'].median():g}), so that it hardly tells them apart",
        )
    inside = float((tau.abs() <= NULL_BAND * cell.records["null_deviation"])[tau.notna()].mean())
    if inside > NEARLY_ALL:
        yield cell.warn(
            "within-null-band",
            f"in {inside:.0%} of the instances tau of attention and gradient lies within the band of unrelated "
            "rankings of that length",
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
    yield from _spread_warning(cell)


def _spread_warning(cell: AttentionCell) -> Iterator[ResultWarning]:
    if "largest divergence between seeds" not in cell.spread:
        return
    share = cell.beyond_seeds().value
    if not isinstance(share, Undefined) and share < 0.5:
        yield cell.warn(
            "adversary-within-seeds",
            f"in {1 - share:.0%} of the instances the strongest adversary diverges no more than retraining with "
            "another seed does",
        )


def abstentions(cell: AttentionCell) -> Iterator[Abstention]:
    """What could not be answered."""
    if cell.seeds < 2:
        yield cell.abstain("noise ceiling and divergence between seeds", "it compares seeds, and there is one")
    if not cell.exact:
        reason = (
            "it is known exactly for two classes and a head that is linear in the attended state; here the best "
            "feasible one found and an upper bound are given, an interval"
        )
        yield cell.abstain("strongest adversary", reason)
    if isinstance(cell.gain().value, Undefined):
        yield cell.abstain("gain over uniform attention", f"{cell.uniform} is not part of the study")
    for pair in PAIRS:
        if cell.records[f"tau: {pair}"].isna().all():
            yield cell.abstain(f"Kendall tau, {pair}", "a ranking is constant in every instance")
