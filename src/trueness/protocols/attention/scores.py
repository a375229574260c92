"""Scores of one dataset and model: every one with interval, n, direction, null value and best attainable value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from trueness.protocols.attention.cell import Cell
from trueness.protocols.attention.correlation import PAIRS
from trueness.protocols.result import Score, Variant, bounds
from trueness.stats import Interval, Reason, Undefined, t_interval, within

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANT = 0.05
NULL_BAND = 1.96
TARGET = "the predicted class"

Direction = Literal["higher is better", "lower is better", "neither"]


class Kind(NamedTuple):
    """How a quantity is read: which way is better, what nothing and what the best gets, and the range it can have."""

    direction: Direction
    null: float | None
    best: float | None
    least: float
    most: float


TAU = Kind("higher is better", 0.0, 1.0, -1.0, 1.0)
SPREAD = Kind("neither", None, None, 0.0, 1.0)
CHANGE = Kind("higher is better", 0.0, None, 0.0, 1.0)
DIVERGENCE = Kind("lower is better", None, 0.0, 0.0, math.log(2))
COUNT = Kind("neither", None, None, 0.0, math.inf)


def scores(cell: Cell) -> Iterator[Score]:
    """Everything that has a value and an interval."""
    for pair in PAIRS:
        yield from _agreement(cell, pair)
    yield from _permutation(cell)
    yield from _adversary(cell)
    yield from _performance(cell)


def variant_of(pair: str) -> Variant:
    """As published where every measure of importance is the paper's own."""
    others = [name for name in PAIRS[pair] if name != "attention"]
    return "as-published" if all(name.endswith("@jw2019") for name in others) else "corrected"


def _agreement(cell: Cell, pair: str) -> Iterator[Score]:
    variant = variant_of(pair)
    share = Kind("higher is better", SIGNIFICANT, 1.0, 0.0, 1.0)
    for name, part in cell.classes():
        of = "" if name == "all" else f", predicted class {name}"
        tau, p = part[f"tau: {pair}"], part[f"p: {pair}"]
        significant = (p <= SIGNIFICANT).astype(float).where(p.notna())
        yield from _score(cell, f"Kendall tau{of}", pair, tau, variant, TAU)
        yield from _score(cell, f"share significant{of}", pair, significant, variant, share)
        deviation = t_interval(tau.groupby(part["seed"]).std(ddof=0).dropna())
        yield from _made(cell, f"deviation of Kendall tau{of}", pair, deviation, variant, SPREAD)
    tau = cell.records[f"tau: {pair}"]
    inside = (tau.abs() <= NULL_BAND * cell.records["null_deviation"]).astype(float).where(tau.notna())
    null_band = Kind("lower is better", 0.95, 0.0, 0.0, 1.0)
    yield from _score(cell, "share within the null band", pair, inside, variant, null_band)
    if f"overlap: {pair}" in cell.records:
        yield from _score(cell, "rank-biased overlap", pair, cell.records[f"overlap: {pair}"], variant, TAU)
    ceiling = cell.ceiling(pair)
    if ceiling is not None:
        note = (
            "what two explanations as unsteady between seeds as these reach if their noise is independent; those of "
            "one model share its noise and may agree more"
        )
        nothing = Undefined(Reason.NOT_A_MEAN)
        fixed = Interval(ceiling, nothing, nothing, cell.seeds, cell.seeds, 0.95)
        yield from _made(cell, "noise ceiling of Kendall tau", pair, fixed, variant, SPREAD, note)


def _permutation(cell: Cell) -> Iterator[Score]:
    quantity = "median change of output when attention is permuted"
    yield from _score(cell, quantity, "permutations", cell.records["permutation"], "as-published", CHANGE)
    if "permutation_closed" in cell.records and cell.records["permutation_closed"].notna().any():
        method = "closed form (normal approximation)"
        yield from _score(cell, quantity, method, cell.records["permutation_closed"], "corrected", CHANGE)


def _adversary(cell: Cell) -> Iterator[Score]:
    quantity, frame = "largest divergence within epsilon", cell.records
    allowed = f"epsilon {cell.epsilon:g}"
    rows: list[tuple[str, str, Variant, str]] = [
        ("search@jw2019", "search@jw2019", "as-published", "counted up to a change of 0.05, as the authors' code does"),
        ("search", "search", "corrected", allowed),
        ("exact" if cell.exact else "best found", cell.adversary, "corrected", allowed),
    ]
    if not cell.exact:
        rows.append(("upper bound", f"upper {cell.epsilon:g}", "corrected", allowed))
    for method, column, variant, note in rows:
        if column in frame and frame[column].notna().any():
            yield from _score(cell, quantity, method, frame[column], variant, DIVERGENCE, note)
    for quantity, column, note in (
        (
            "tokens that could carry the decision alone",
            "deciding",
            "all attention on one of them leads to the same class",
        ),
        ("tokens that alone give the same output", "alone", allowed),
    ):
        yield from _score(cell, quantity, "exact", frame[column].astype(float), "corrected", COUNT, note)
    if "divergence between seeds" in cell.spread:
        interval = t_interval(cell.spread["divergence between seeds"].dropna())
        kind = Kind("neither", None, None, 0.0, math.log(2))
        for score in _made(cell, "divergence between seeds", "retraining", interval, "corrected", kind):
            yield score.model_copy(
                update={"n": cell.seeds, "note": f"over {interval.n} instances, pairs of seeds averaged"}
            )


def _performance(cell: Cell) -> Iterator[Score]:
    name = str(cell.metrics["metric"].iloc[0]) if len(cell.metrics) else "accuracy"
    share, gain = Kind("higher is better", None, 1.0, 0.0, 1.0), Kind("higher is better", 0.0, None, -1.0, 1.0)
    learned, uniform = t_interval(cell.metric(cell.model)), t_interval(cell.metric(cell.uniform))
    yield from _made(cell, f"test {name}", "learned attention", learned, "as-published", share)
    yield from _made(cell, f"test {name}", "uniform attention", uniform, "corrected", share)
    yield from _made(cell, f"test {name}", "gain over uniform attention", cell.gain(), "corrected", gain)


def _score(
    cell: Cell, quantity: str, method: str, values: pd.Series, variant: Variant, kind: Kind, note: str = ""
) -> Iterator[Score]:
    """The mean of a column over seeds and instances; none where there is no value."""
    interval = cell.interval(values)
    over = (
        f"{interval.n} seeds of {interval.clusters} instances" if interval.n > 1 else f"{interval.clusters} instances"
    )
    yield from _made(cell, quantity, method, interval, variant, kind, f"over {over}" + (f"; {note}" if note else ""))


def _made(
    cell: Cell, quantity: str, method: str, interval: Interval, variant: Variant, kind: Kind, note: str = ""
) -> Iterator[Score]:
    if isinstance(interval.value, Undefined):
        return
    limits = bounds(within(interval, kind.least, kind.most))
    note = note or f"over {interval.n} seeds"
    limits["note"] = "; ".join(text for text in (limits["note"], note) if text)
    yield Score(
        quantity=quantity,
        dataset=cell.dataset,
        model=cell.model,
        method=method,
        variant=variant,
        target=TARGET,
        value=float(interval.value),
        direction=kind.direction,
        null=kind.null,
        best=kind.best,
        **limits,
    )
