"""What twins and retrained models say together: scores, warnings, abstentions, and conclusions checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from trueness.protocols.attefa.cell import (
    GUIDES,
    LEARNED_MODEL,
    MAIN,
    PUBLISHED,
    RETRAINED,
    TWIN,
    UNIFORM_MODEL,
    TwinCell,
    rows,
    weight_in_words,
)
from trueness.protocols.attefa.score import ONE_CLASS, SATURATED, two_groups
from trueness.protocols.claim_helpers import GAIN
from trueness.protocols.result import Abstention, Result, ResultWarning, Score, Variant
from trueness.protocols.scoring import Quantity, of_each, share
from trueness.stats import Reason, Undefined, t_interval
from trueness.stats.divergence import LN2


def summarise(cells: Sequence[TwinCell], records: pd.DataFrame) -> Result:
    """The result of the study; `records` has one row per dataset, model, run and test instance."""
    about = ResultWarning(
        code="another-model",
        where="all scores",
        message="a twin is another model: it shows how freely attention can be moved, and does not measure the "
        "faithfulness of the base model",
    )
    return Result(
        records=records,
        scores=of_each(cells, scores),
        warnings=(about, *of_each(cells, warnings)),
        abstentions=of_each(cells, abstentions),
        tables={
            "runs": pd.concat([cell.runs.assign(**cell.place) for cell in cells], ignore_index=True),
            "bases": pd.DataFrame([{**cell.place, **base} for cell in cells for base in cell.bases]),
            "metrics": pd.concat([cell.metrics.assign(**cell.place) for cell in cells], ignore_index=True),
        },
    )


F1 = share("F1")
ATTEFA = share("AtteFa", "higher is better", 0.0, 1.0)
CHANGE = share("change of prediction")
DIVERGENCE = share("divergence of attention")
OF_RUNS = {"epoch": Quantity("epoch"), "performance": F1, "change": share("TVD"), "divergence": DIVERGENCE}
"""What the paper tells of its runs, by column."""


def scores(cell: TwinCell) -> Iterator[Score]:
    """As published, then corrected, then the references they are read against."""

    def make(
        quantity: Quantity, method: str, values: npt.ArrayLike, variant: Variant = "corrected", **read: Any
    ) -> Iterator[Score]:
        variant = "as-published" if method == PUBLISHED else variant
        return quantity.score(cell, method, t_interval(np.asarray(values, np.float64)), variant=variant, **read)

    published = cell.of(PUBLISHED, MAIN)
    halved = published.assign(change=published["change"] / 2)
    unit = f"{len(published)} twins of {len(cell.bases)} base models, which n counts" if len(published) else ""
    for column, quantity in OF_RUNS.items():
        half = "half of the change of prediction, as in the paper; " if column == "change" else ""
        yield from make(quantity, PUBLISHED, cell.mean(halved, column), note=half + unit)
    yield from make(ATTEFA, PUBLISHED, cell.attefa(PUBLISHED), note=unit)
    attefa = cell.attefa_of_twins(PUBLISHED)
    for run in rows(halved):
        seed = int(run["seed"])
        for column, quantity in OF_RUNS.items():
            if column != "epoch":
                yield from make(quantity.of(f"seed {seed}"), PUBLISHED, [run[column]])
        if seed in attefa:
            yield from make(ATTEFA.of(f"seed {seed}"), PUBLISHED, [attefa[seed]])
    yield from make(F1, LEARNED_MODEL, cell.metric(LEARNED_MODEL), "as-published")

    yield from make(replace(ATTEFA, name="AtteFa*"), TWIN, cell.star())
    yield from make(ATTEFA, TWIN, cell.attefa(TWIN))
    for weight in dict.fromkeys(cell.of(TWIN)["weight"]):
        runs = cell.of(TWIN, weight)
        name = TWIN if weight == MAIN else f"{TWIN}, {weight_in_words(weight)}"
        yield from make(CHANGE, name, cell.mean(runs, "change"), null=0.0)
        yield from make(DIVERGENCE, name, cell.mean(runs, "divergence"), null=0.0, best=cell.most)
        yield from make(F1, name, cell.mean(runs, "performance"))
    if cell.base["ceiling"] is not None:
        yield from make(DIVERGENCE, "bound", [cell.most], best=LN2, note="equal words get equal weights")
    if cell.reached is not None:
        yield from make(DIVERGENCE, "the most reached", [cell.reached], best=cell.most)
    yield from make(CHANGE, "best constant", [cell.base["constant"]])
    retrained = cell.of(RETRAINED)
    yield from make(CHANGE, RETRAINED, cell.mean(retrained, "change"), null=0.0)
    yield from make(DIVERGENCE, RETRAINED, cell.mean(retrained, "divergence"), null=0.0, best=cell.most)
    yield from make(replace(F1, name="F1 over seeds"), UNIFORM_MODEL, cell.metric(UNIFORM_MODEL))
    for what in GUIDES:
        yield from make(replace(F1, name="F1 of a guided model"), what, cell.metric(what))


def warnings(cell: TwinCell) -> Iterator[ResultWarning]:
    """Reasons to read the cell with care."""
    for method in (PUBLISHED, TWIN):
        runs = cell.of(method, MAIN)
        if not len(runs):
            continue
        name = "twins chosen on the test split" if method == PUBLISHED else "twins"
        collapsed, saturated = cell.collapsed(runs), cell.saturated(runs)
        if len(collapsed):
            yield cell.warn(
                "collapsed-twin",
                f"{len(collapsed)} of {len(runs)} {name} predict one class for more than {ONE_CLASS:.0%} of the "
                f"examples (the base model: {cell.base['one_class']:.0%}): their scores say nothing about attention",
            )
        if len(saturated):
            yield cell.warn(
                "divergence-saturated",
                f"{len(saturated)} of {len(runs)} {name} reach more than {SATURATED:.0%} of the divergence that is "
                "possible: their score is the change of prediction rescaled",
            )
        values = cell.attefa_of_twins(method)
        if two_groups(values.to_list()):
            yield cell.warn(
                "two-groups",
                f"the scores of {name} fall into two groups ({', '.join(f'{value:.3f}' for value in sorted(values))}): "
                "their mean describes none of them",
            )
    ceiling = cell.base["ceiling"]
    if ceiling is not None and ceiling < SATURATED * LN2:
        yield cell.warn(
            "unreachable-ceiling",
            f"no twin can diverge by more than {ceiling:.3f}, less than the ln 2 by which AtteFa divides; AtteFa* "
            "divides by what can be reached",
        )
    if len(cell.of(PUBLISHED)):
        yield cell.warn("selected-on-test", f"the epochs of {PUBLISHED} were chosen on the test split, as published")
    gain = cell.gain()
    if not isinstance(gain.value, Undefined) and gain.value < GAIN:
        certain = not isinstance(gain.high, Undefined) and gain.high < GAIN
        yield cell.warn(
            "uniform-suffices" if certain else "uniform-may-suffice",
            f"learned attention gains {gain.value:+.3f} F1 over uniform weights, less than {GAIN}"
            + (": whether it explains anything is void on this task" if certain else ", but more cannot be ruled out"),
        )


def abstentions(cell: TwinCell) -> Iterator[Abstention]:
    """Scores that could not be given."""
    for method in (PUBLISHED, TWIN):
        runs = cell.of(method, MAIN)
        missing = len(runs) - len(cell.attefa_of_twins(method))
        if missing:
            what = f"{missing} of {len(runs)} runs of {method}"
            yield cell.abstain("AtteFa", Reason.NO_DIVERGENCE.value, what)
    if len(cell.of(TWIN)) and not len(cell.star()):
        if cell.reached is None:
            reason = (
                "no twin was trained for divergence alone (a weight of inf), so that what can be reached is unknown"
            )
        else:
            reason = (Reason.SURE_OF_NOTHING if cell.reached else Reason.NO_DIVERGENCE).value
        yield cell.abstain("AtteFa*", reason)
