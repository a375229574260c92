"""Scores of one dataset and model: every one with interval, n, direction, null value and best attainable value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from trueness.protocols.attention.cell import Cell
from trueness.protocols.attention.correlation import PAIRS
from trueness.protocols.result import Score, Variant, bounds
from trueness.stats import Interval, Undefined, t_interval

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANT = 0.05
NULL_BAND = 1.96
TARGET = "the predicted class"

Direction = Literal["higher is better", "lower is better", "neither"]


def scores(cell: Cell) -> Iterator[Score]:
    """Everything that has a value and an interval."""
    for pair in PAIRS:
        yield from _agreement(cell, pair)
    yield from _permutation(cell)
    yield from _adversary(cell)
    yield from _performance(cell)


def _agreement(cell: Cell, pair: str) -> Iterator[Score]:
    variant: Variant = "as-published" if "gradient@jw2019" in pair else "corrected"
    ceiling = cell.ceiling(pair)
    for name, part in cell.classes():
        of = "" if name == "all" else f", predicted class {name}"
        p, tau = part[f"p: {pair}"], part[f"tau: {pair}"]
        marked = part.assign(
            significant=(p <= SIGNIFICANT).astype(float).where(p.notna()),
            inside=(tau.abs() <= NULL_BAND * part["null_deviation"]).astype(float).where(tau.notna()),
        )
        best = ceiling if name == "all" else None
        yield from _score(cell, f"Kendall tau{of}", pair, f"tau: {pair}", part, variant, "higher is better", 0.0, best)
        yield from _score(
            cell, f"share significant{of}", pair, "significant", marked, variant, "higher is better", SIGNIFICANT, 1.0
        )
        by_seed = t_interval(part.groupby("seed")[f"tau: {pair}"].std(ddof=0).dropna())
        if not isinstance(by_seed.value, Undefined):
            note = f"interval over {by_seed.n} seeds"
            yield _make(cell, f"deviation of Kendall tau{of}", pair, by_seed, note, variant, "neither", None, None)
        if name == "all":
            yield from _score(
                cell, "share within the null band", pair, "inside", marked, variant, "lower is better", 0.95, 0.0
            )
            if f"overlap: {pair}" in part:
                yield from _score(
                    cell, "rank-biased overlap", pair, f"overlap: {pair}", part, variant, "higher is better", 0.0, 1.0
                )


def _permutation(cell: Cell) -> Iterator[Score]:
    quantity = "median change of output when attention is permuted"
    frame = cell.records
    yield from _score(
        cell, quantity, "permutations", "permutation", frame, "as-published", "higher is better", 0.0, None
    )
    if "permutation_closed" in frame and frame["permutation_closed"].notna().any():
        yield from _score(
            cell, quantity, "closed form", "permutation_closed", frame, "corrected", "higher is better", 0.0, None
        )


def _adversary(cell: Cell) -> Iterator[Score]:
    quantity, frame = "largest divergence within epsilon", cell.records
    rows: list[tuple[str, str, Variant]] = [
        ("search@jw2019", "search@jw2019", "as-published"),
        ("search", "search", "corrected"),
        ("exact" if cell.exact else "best found", cell.adversary, "corrected"),
    ]
    if not cell.exact:
        rows.append(("upper bound", f"upper {cell.epsilon:g}", "corrected"))
    for method, column, variant in rows:
        if column in frame and frame[column].notna().any():
            yield from _score(cell, quantity, method, column, frame, variant, "lower is better", None, 0.0)
    yield from _score(
        cell, "tokens that could carry the decision alone", "exact", "alone", frame, "corrected", "neither", None, None
    )
    if "divergence between seeds" in cell.spread:
        values = cell.spread["divergence between seeds"].dropna()
        interval = t_interval(values)
        if not isinstance(interval.value, Undefined):
            note = f"over {len(values)} instances, each averaged over pairs of seeds"
            yield _make(
                cell, "divergence between seeds", "retraining", interval, note, "corrected", "neither", None, None
            )


def _performance(cell: Cell) -> Iterator[Score]:
    name = str(cell.metrics["metric"].iloc[0]) if len(cell.metrics) else "accuracy"
    for method, interval in (
        ("learned attention", t_interval(cell.metric(cell.model))),
        ("uniform attention", t_interval(cell.metric(cell.uniform))),
        ("gain over uniform attention", cell.gain()),
    ):
        if not isinstance(interval.value, Undefined):
            null = 0.0 if method.startswith("gain") else None
            note = f"interval over {interval.n} seeds"
            yield _make(cell, f"test {name}", method, interval, note, "corrected", "higher is better", null, None)


def _score(
    cell: Cell,
    quantity: str,
    method: str,
    column: str,
    frame: pd.DataFrame,
    variant: Variant,
    direction: Direction,
    null: float | None,
    best: float | None,
) -> Iterator[Score]:
    interval, note = cell.interval(column, frame)
    if not isinstance(interval.value, Undefined):
        yield _make(cell, quantity, method, interval, note, variant, direction, null, best)


def _make(
    cell: Cell,
    quantity: str,
    method: str,
    interval: Interval,
    note: str,
    variant: Variant,
    direction: Direction,
    null: float | None,
    best: float | None,
) -> Score:
    limits = bounds(interval)
    # Student's interval does not know that a share cannot exceed 1.
    least, most = (-1.0, 1.0) if quantity.startswith(("Kendall", "rank", "test")) else (0.0, math.inf)
    most = 1.0 if quantity.startswith(("share", "median", "largest", "divergence")) else most
    for name in ("low", "high"):
        limits[name] = None if limits[name] is None else min(max(limits[name], least), most)
    limits["note"] = "; ".join(text for text in (limits["note"], note) if text)
    return Score(
        quantity=quantity,
        dataset=cell.dataset,
        model=cell.model,
        method=method,
        variant=variant,
        target=TARGET,
        value=float(interval.value),
        direction=direction,
        null=null,
        best=best,
        **limits,
    )
