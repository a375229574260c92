"""Reasons to read removal curves with care, and questions that they cannot answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from trueness.protocols.claim_helpers import FEWEST_SEEDS, decide, shown
from trueness.protocols.result import Abstention, ResultWarning
from trueness.protocols.roar.curves import BASELINE, FAITHFULNESS, MASKED, SMALL_DENOMINATOR, RemovalCell, over_seeds
from trueness.protocols.scoring import Cell
from trueness.stats import Interval, t_interval
from trueness.stats.undefined import Floats

Place = TypeVar("Place")

RISE = 0.01
"""How much higher a curve must be at a later step, or lower than with everything hidden."""
ONE_SIDED = 0.05
"""The error of such a comparison, for all steps of a curve together."""
LEAK = 0.02
"""A classifier of masks that is better by more than this than one that knows nothing, and than one of random masks."""
UNUSUAL = 0.05
"""More masked texts by this than under random masks look unusual to the companion."""


def warnings(cells: Sequence[RemovalCell], target: str, trained_before: Sequence[str] = ()) -> Iterator[ResultWarning]:
    """Reasons to read the curves with care."""
    for model in trained_before:
        message = "it was a classifier before: what it learnt from whole texts is not lost when it is trained again"
        yield ResultWarning(code="trained-before", where=model, message=message)
    if target == "gold" and cells:
        message = "explanations of the gold class can tell the label by what they hide; practice does not know it"
        yield ResultWarning(code="gold-label", where="all methods", message=message)
    for cell in cells:
        if len(cell.seeds) < FEWEST_SEEDS:
            yield cell.warn("few-seeds", f"{len(cell.seeds)} seeds: claims need at least {FEWEST_SEEDS}")
        yield from _repeated(cell)
        yield from _blind(cell)
        if cell.unit == "share":
            yield from _small_denominators(cell)
        for order, method in cell.curves:
            yield from _of_curve(cell, order, method)
        if cell.unit == "share":
            yield from _foils(cell)
        for method in cell.unusual:
            if method != BASELINE:
                yield from _unusual(cell, method)


def _repeated(cell: RemovalCell) -> Iterator[ResultWarning]:
    """Steps that hide no more than the one before: texts are too short for them, or inputs too small."""
    more = np.diff(cell.hidden, prepend=0.0) > 0
    same = [f"{amount:g}" for amount, new in zip(cell.amounts[1:], more, strict=False) if not new]
    if same:
        message = f"the steps {', '.join(same)} hide no more than those before: they measure the same again"
        yield cell.warn("repeated-steps", message)


def _blind(cell: RemovalCell) -> Iterator[ResultWarning]:
    """Classifiers of masks that say the same whatever they see."""
    alone = [values.ravel() for values, _ in cell.masks.values()]
    if alone and np.ptp(np.concatenate(alone)) == 0:
        message = (
            "the classifiers of masks learnt nothing, so that no leak can be found: train them for longer (of texts: "
            "leak=150)"
        )
        yield cell.warn("blind-to-leaks", message)


def _small_denominators(cell: RemovalCell) -> Iterator[ResultWarning]:
    """Where it is so with most seeds there is an abstention instead."""
    for order in ("plain", MASKED) if cell.methods(MASKED) else ("plain",):
        if cell.fragile(order).any() and not cell.empty(order):
            message = (
                f"{_cost_little(cell, order)}: faithfulness would divide by little, and leaves them out but for the "
                "value as published"
            )
            yield cell.warn("small-denominator", message, *([order] if order == MASKED else []))


def _cost_little(cell: RemovalCell, order: str) -> str:
    return (
        f"with {cell.fragile(order).sum()} of {len(cell.seeds)} seeds random masks cost less than "
        f"{SMALL_DENOMINATOR} {cell.metric} over the whole curve"
    )


def _of_curve(cell: RemovalCell, order: str, method: str) -> Iterator[ResultWarning]:
    where = (method, order) if method != BASELINE else (method,)
    if order != MASKED:  # there nothing is trained that could learn from masks
        yield from _rising(cell, cell.curves[order, method], *where)
    if cell.unit == "share":
        # Of macro-F1, a model that says one class whatever it sees gets so little that hardly any curve is below it.
        yield from _below_floor(cell, (cell.accuracies or cell.curves)[order, method], *where)
    if (order, method) in cell.masks and method != BASELINE:
        yield from _mask_leak(cell, order, method)


def _rising(cell: RemovalCell, curve: Floats, *where: str) -> Iterator[ResultWarning]:
    inner = curve[:, :-1] if cell.unit == "share" else curve  # the last one, with everything hidden, is no step
    pairs = itertools.combinations(range(inner.shape[1]), 2)
    rises = {(one, other): inner[:, other] - inner[:, one] for one, other in pairs}
    for (one, other), interval in _largest(rises, above=RISE):
        message = (
            f"performance is higher at step {other} than at step {one}, by {shown(interval)}, though more is hidden: "
            "what is hidden, or what is left, tells the label, or training is unsteady"
        )
        yield cell.warn("rising-curve", message, *where)


def _below_floor(cell: RemovalCell, curve: Floats, *where: str) -> Iterator[ResultWarning]:
    below = (curve[:, -1:] - curve[:, :-1]).T
    for step, interval in _largest(dict(enumerate(below)), above=RISE):
        message = (
            f"at step {step} accuracy is lower than with everything hidden, by {shown(interval)}: what is left "
            "misleads the model, which counts as faithfulness"
        )
        yield cell.warn("below-floor", message, *where)


def _mask_leak(cell: RemovalCell, order: str, method: str) -> Iterator[ResultWarning]:
    alone = cell.masks[order, method][0]
    for step, excess in _largest(dict(enumerate(cell.leaked(order, method).T, start=1)), above=LEAK):
        message = (
            f"at step {step} the masks alone tell the label with accuracy {alone[:, step - 1].mean():.3f}, "
            f"{shown(excess)} above random masks and the largest class: the curve is too high by an unknown part"
        )
        yield cell.warn("mask-leak", message, method, order)


def _unusual(cell: RemovalCell, method: str) -> Iterator[ResultWarning]:
    share = cell.unusual[method]
    beyond = share - cell.unusual.get(BASELINE, np.zeros_like(share))
    for step, excess in _largest(dict(enumerate(beyond.T, start=1)), above=UNUSUAL):
        message = (
            f"at step {step} {share[:, step - 1].mean():.3f} of the masked texts look unusual to the model trained "
            f"under masks, {shown(excess)} more than under random masks: its curve may show surprise instead of "
            "importance"
        )
        yield cell.warn("unusual-texts", message, method)


def _largest(differences: Mapping[Place, Floats], above: float) -> list[tuple[Place, Interval]]:
    """The largest of several differences that surely exceed the limit, if any; their lower bounds hold at once."""
    level = 1 - 2 * ONE_SIDED / max(len(differences), 1)  # Bonferroni
    found = [(place, t_interval(values[np.isfinite(values)], level=level)) for place, values in differences.items()]
    sure = [(place, interval) for place, interval in found if decide(interval, above=above)]
    return sorted(sure, key=lambda one: -float(one[1].value))[:1]


def _foils(cell: RemovalCell) -> Iterator[ResultWarning]:
    """Blurred copies that are not less faithful than what they were made of."""
    for order in FAITHFULNESS:
        for foil in cell.methods(order):
            method = foil.removeprefix("blurred[").removesuffix("]")
            if method == foil or method not in cell.methods(order) or len(cell.amounts) < 3 or cell.empty(order):
                continue
            gap = over_seeds(cell.faithfulness(order, foil) - cell.faithfulness(order, method))
            less = decide(gap, below=0)
            if less or gap.n < FEWEST_SEEDS:
                continue
            what = "is at least as faithful" if less.holds is False else "cannot be told from it"
            message = f"its blurred copy {what} (difference {shown(gap)}): exactness is not measured"
            yield cell.warn("blurred-foil", message, method, order)


def abstentions(cells: Sequence[RemovalCell], refused: pd.DataFrame, unit: str) -> Iterator[Abstention]:
    """What a model cannot support, and what cannot be computed."""
    first = refused[refused["order"] == "explained"].drop_duplicates(["dataset", "model", "method"])
    for row in first.to_dict(orient="records"):
        yield Cell(row["dataset"], row["model"]).abstain(str(row["method"]), str(row["reason"]).rstrip("."))
    if unit == "tokens":
        reason = "counted in tokens the curves end before everything is hidden; read them as curves"
        yield Abstention(quantity="faithfulness", where="all datasets", reason=reason)
        return
    for cell in cells:
        for order in [order for order in FAITHFULNESS if cell.methods(order)]:
            if cell.empty(order):
                yield cell.abstain(FAITHFULNESS[order], _cost_little(cell, order))
                continue
            for cause, count in cell.at_random(order).value.reasons().items():
                text = f"{cause.value} (of {count} of {len(cell.seeds)} seeds, which are left out)"
                yield cell.abstain(FAITHFULNESS[order], text)
