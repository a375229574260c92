"""What twins and retrained models say together: scores, warnings, abstentions, and conclusions checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from trueness.protocols.attefa.cell import (
    LEARNED_MODEL,
    MAIN,
    PUBLISHED,
    RETRAINED,
    TWIN,
    UNIFORM_MODEL,
    Cell,
    rows,
    weight_in_words,
)
from trueness.protocols.attefa.guided_training import BASE, LEARNED, UNIFORM
from trueness.protocols.attefa.guided_training import TWIN as TWIN_GUIDE
from trueness.protocols.attefa.score import ONE_CLASS, SATURATED, two_groups
from trueness.protocols.claim_helpers import GAIN
from trueness.protocols.result import Abstention, Result, ResultWarning, Score, Variant, bounds
from trueness.stats import Reason, Undefined, t_interval, within
from trueness.stats.divergence import LN2

if TYPE_CHECKING:
    import pandas as pd


def summarise(cells: Sequence[Cell], records: pd.DataFrame) -> Result:
    """The result of the study; `records` has one row per dataset, model, run and test instance."""
    import pandas as pd

    def labelled(cell: Cell, frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(dataset=cell.dataset, model=cell.model)

    about = ResultWarning(
        code="another-model",
        where="all scores",
        message="a twin is another model: it shows how freely attention can be moved, and does not measure the "
        "faithfulness of the base model",
    )
    metrics = [labelled(cell, cell.metrics) for cell in cells]
    return Result(
        records=records,
        scores=tuple(score for cell in cells for score in scores(cell)),
        warnings=(about, *(warning for cell in cells for warning in warnings(cell))),
        abstentions=tuple(item for cell in cells for item in abstentions(cell)),
        tables={
            "runs": pd.concat([labelled(cell, cell.runs) for cell in cells], ignore_index=True),
            "bases": pd.DataFrame([{"dataset": cell.dataset, "model": cell.model, **cell.base} for cell in cells]),
            "metrics": pd.concat(metrics, ignore_index=True),
        },
    )


def scores(cell: Cell) -> Iterator[Score]:
    """As published, then corrected, then the references they are read against."""
    make = _Maker(cell)
    published = cell.of(PUBLISHED, MAIN)
    halved = published.assign(change=published["change"] / 2)
    for quantity, column in _COLUMNS.items():
        note = "half of the change of prediction, as in the paper" if column == "change" else ""
        yield from make(quantity, PUBLISHED, halved[column], note=note)
    attefa = cell.attefa(PUBLISHED)
    yield from make("AtteFa", PUBLISHED, attefa, "higher is better", 0.0, 1.0)
    for run in rows(halved):
        seed = int(run["seed"])
        for quantity, column in _COLUMNS.items():
            if column != "epoch":
                yield from make(f"{quantity}, seed {seed}", PUBLISHED, [run[column]])
        if seed in attefa:
            yield from make(f"AtteFa, seed {seed}", PUBLISHED, [attefa[seed]], "higher is better", 0.0, 1.0)
    yield from make("F1", LEARNED_MODEL, [cell.base["performance"]], variant="as-published")

    yield from make("AtteFa*", TWIN, cell.star(), "higher is better", 0.0, 1.0)
    yield from make("AtteFa", TWIN, cell.attefa(TWIN), "higher is better", 0.0, 1.0)
    for weight in dict.fromkeys(cell.of(TWIN)["weight"]):
        runs = cell.of(TWIN, weight)
        name = TWIN if weight == MAIN else f"{TWIN}, {weight_in_words(weight)}"
        yield from make("change of prediction", name, runs["change"], null=0.0)
        yield from make("divergence of attention", name, runs["divergence"], null=0.0, best=cell.most)
        yield from make("F1", name, runs["performance"])
    if cell.base["ceiling"] is not None:
        yield from make("divergence of attention", "bound", [cell.most], best=LN2, note="equal words get equal weights")
    if cell.reached is not None:
        yield from make("divergence of attention", "the most reached", [cell.reached], best=cell.most)
    yield from make("change of prediction", "best constant", [cell.base["constant"]])
    retrained = cell.of(RETRAINED)
    yield from make("change of prediction", RETRAINED, retrained["change"], null=0.0)
    yield from make("divergence of attention", RETRAINED, retrained["divergence"], null=0.0, best=cell.most)
    for what in (UNIFORM_MODEL, LEARNED_MODEL):
        yield from make("F1 over seeds", what, cell.metric(what))
    for what in (LEARNED, BASE, TWIN_GUIDE, UNIFORM):
        yield from make("F1 of a guided model", what, cell.metric(what))


_COLUMNS = {"epoch": "epoch", "F1": "performance", "TVD": "change", "divergence of attention": "divergence"}


class _Maker:
    """Makes scores of one cell: the mean over seeds and Student's interval."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    def __call__(
        self,
        quantity: str,
        method: str,
        values: npt.ArrayLike,
        direction: Literal["higher is better", "lower is better", "neither"] = "neither",
        null: float | None = None,
        best: float | None = None,
        *,
        variant: Variant | None = None,
        note: str = "",
    ) -> Iterator[Score]:
        interval = t_interval(np.asarray(values, dtype=np.float64))
        if quantity != "epoch":
            interval = within(interval, 0.0, 1.0)
        if isinstance(interval.value, Undefined):
            return
        fields = bounds(interval)
        fields["note"] = "; ".join(text for text in (note, fields["note"]) if text)
        yield Score(
            quantity=quantity,
            dataset=self._cell.dataset,
            model=self._cell.model,
            method=method,
            variant=variant or ("as-published" if method == PUBLISHED else "corrected"),
            target="the whole prediction",
            value=interval.value,
            direction=direction,
            null=null,
            best=best,
            **fields,
        )


def warnings(cell: Cell) -> Iterator[ResultWarning]:
    """Reasons to read the cell with care."""

    def warn(code: str, message: str) -> ResultWarning:
        return ResultWarning(code=code, where=cell.where, message=message)

    for method in (PUBLISHED, TWIN):
        runs = cell.of(method, MAIN)
        if not len(runs):
            continue
        name = "twins chosen on the test split" if method == PUBLISHED else "twins"
        collapsed, saturated = cell.collapsed(runs), cell.saturated(runs)
        if len(collapsed):
            yield warn(
                "collapsed-twin",
                f"{len(collapsed)} of {len(runs)} {name} predict one class for more than {ONE_CLASS:.0%} of the "
                f"examples (the base model: {cell.base['one_class']:.0%}): their scores say nothing about attention",
            )
        if len(saturated):
            yield warn(
                "divergence-saturated",
                f"{len(saturated)} of {len(runs)} {name} reach more than {SATURATED:.0%} of the divergence that is "
                "possible: their score is the change of prediction rescaled",
            )
        values = cell.attefa(method)
        if two_groups(values.to_list()):
            yield warn(
                "two-groups",
                f"the scores of {name} fall into two groups ({', '.join(f'{value:.3f}' for value in sorted(values))}): "
                "their mean describes none of them",
            )
    ceiling = cell.base["ceiling"]
    if ceiling is not None and ceiling < SATURATED * LN2:
        yield warn(
            "unreachable-ceiling",
            f"no twin can diverge by more than {ceiling:.3f}, less than the ln 2 by which AtteFa divides; AtteFa* "
            "divides by what can be reached",
        )
    if len(cell.of(PUBLISHED)):
        yield warn("selected-on-test", f"the epochs of {PUBLISHED} were chosen on the test split, as published")
    gain = cell.gain()
    if not isinstance(gain.value, Undefined) and gain.value < GAIN:
        certain = not isinstance(gain.high, Undefined) and gain.high < GAIN
        yield warn(
            "uniform-suffices" if certain else "uniform-may-suffice",
            f"learned attention gains {gain.value:+.3f} F1 over uniform weights, less than {GAIN}"
            + (": whether it explains anything is void on this task" if certain else ", but more cannot be ruled out"),
        )


def abstentions(cell: Cell) -> Iterator[Abstention]:
    """Scores that could not be given."""
    for method in (PUBLISHED, TWIN):
        runs = cell.of(method, MAIN)
        missing = len(runs) - len(cell.attefa(method))
        if missing:
            yield Abstention(
                quantity="AtteFa",
                where=f"{cell.where}, {missing} of {len(runs)} runs of {method}",
                reason=Reason.NO_DIVERGENCE.value,
            )
    if len(cell.of(TWIN)) and not len(cell.star()):
        if cell.reached is None:
            reason = (
                "no twin was trained for divergence alone (a weight of inf), so that what can be reached is unknown"
            )
        else:
            reason = (Reason.SURE_OF_NOTHING if cell.reached else Reason.NO_DIVERGENCE).value
        yield Abstention(quantity="AtteFa*", where=cell.where, reason=reason)
