"""Scores of one dataset and model: every one with interval, n, direction, null value and best attainable value."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from trueness.kinds.text.attention.cell import AttentionCell
from trueness.kinds.text.attention.correlation import PAIRS
from trueness.protocols.result import Score, Variant
from trueness.protocols.scoring import Quantity, share
from trueness.protocols.similarity import NULL_BAND
from trueness.stats import Interval, Reason, Undefined, t_interval
from trueness.stats.divergence import LN2

SIGNIFICANT = 0.05

TAU = Quantity("Kendall tau", "higher is better", 0.0, 1.0, -1.0, 1.0)
OVERLAP = Quantity("rank-biased overlap", "higher is better", 0.0, 1.0, -1.0, 1.0)
SHARE = share("share significant", "higher is better", SIGNIFICANT, 1.0)
DEVIATION = share("deviation of Kendall tau")
INSIDE = share("share within the null band", "lower is better", 0.95, 0.0)
CEILING = share("noise ceiling of Kendall tau")
CHANGE = share("median change of output when attention is permuted", "higher is better", 0.0)
DIVERGENCE = Quantity("largest divergence within epsilon", "lower is better", None, 0.0, 0.0, LN2)
DECIDING = Quantity("tokens that could carry the decision alone", least=0.0)
ALONE = Quantity("tokens that alone give the same output", least=0.0)
FORMED = Quantity("largest weight times length", null=1.0, least=0.0)
BETWEEN_SEEDS = Quantity("divergence between seeds", least=0.0, most=LN2)


def scores(cell: AttentionCell) -> Iterator[Score]:
    """Everything that has a value and an interval."""
    for pair in PAIRS:
        yield from _agreement(cell, pair)
    note = "1 where all weights are equal: how far attention has formed"
    yield from _mean(cell, FORMED, "learned attention", cell.formed, note=note)
    yield from _mean(cell, CHANGE, "permutations", cell.records["permutation"], "as-published")
    if "permutation_closed" in cell.records:
        yield from _mean(cell, CHANGE, "closed form (normal approximation)", cell.records["permutation_closed"])
    yield from _adversary(cell)
    yield from _performance(cell)


def _agreement(cell: AttentionCell, pair: str) -> Iterator[Score]:
    own = all(name == "attention" or name.endswith("@jw2019") for name in PAIRS[pair])
    variant: Variant = "as-published" if own else "corrected"
    for name, part in cell.classes():
        tau, p = part[f"tau: {pair}"], part[f"p: {pair}"]
        significant = (p <= SIGNIFICANT).astype(float).where(p.notna())
        deviation = t_interval(tau.groupby(part["seed"]).std(ddof=0).dropna())
        of = f"predicted class {name}" if name != "all" else None
        yield from _mean(cell, TAU.of(of), pair, tau, variant)
        yield from _mean(cell, SHARE.of(of), pair, significant, variant)
        yield from DEVIATION.of(of).score(cell, pair, deviation, variant=variant, after=f"over {deviation.n} seeds")
    tau = cell.records[f"tau: {pair}"]
    inside = (tau.abs() <= NULL_BAND * cell.records["null_deviation"]).astype(float).where(tau.notna())
    yield from _mean(cell, INSIDE, pair, inside, variant)
    if f"overlap: {pair}" in cell.records:
        yield from _mean(cell, OVERLAP, pair, cell.records[f"overlap: {pair}"], variant)
    ceiling = cell.ceiling(pair)
    if ceiling is not None:
        note = (
            "what two explanations as unsteady between seeds as these reach if their noise is independent; those of "
            "one model share its noise and may agree more"
        )
        nothing = Undefined(Reason.NOT_A_MEAN)
        fixed = Interval(ceiling, nothing, nothing, cell.seeds, cell.seeds, 0.95)
        yield from CEILING.score(cell, pair, fixed, variant=variant, after=note)


def _adversary(cell: AttentionCell) -> Iterator[Score]:
    frame, allowed = cell.records, f"epsilon {cell.epsilon:g}"
    rows: list[tuple[str, str, Variant, str]] = [
        ("search@jw2019", "search@jw2019", "as-published", "counted up to a change of 0.05, as the authors' code does"),
        ("search", "search", "corrected", allowed),
        ("exact" if cell.exact else "best found", cell.adversary, "corrected", allowed),
    ]
    if not cell.exact:
        rows.append(("upper bound", f"upper {cell.epsilon:g}", "corrected", allowed))
    for method, column, variant, note in rows:
        if column in frame:
            yield from _mean(cell, DIVERGENCE, method, frame[column], variant, note)
    note = "all attention on one of them leads to the same class"
    yield from _mean(cell, DECIDING, "exact", frame["deciding"].astype(float), note=note)
    yield from _mean(cell, ALONE, "exact", frame["alone"].astype(float), note=allowed)
    if "divergence between seeds" in cell.spread:
        interval = cell.between_seeds()
        over = f"over {interval.n} seeds, each with each, of {interval.clusters} instances"
        yield from BETWEEN_SEEDS.score(cell, "retraining", interval, after=over)


def _performance(cell: AttentionCell) -> Iterator[Score]:
    name = f"test {cell.metrics['metric'].iloc[0] if len(cell.metrics) else 'accuracy'}"
    test = share(name, "higher is better", best=1.0)
    gain = Quantity(name, "higher is better", 0.0, None, -1.0, 1.0)
    rows: list[tuple[Quantity, str, Interval, Variant]] = [
        (test, "learned attention", t_interval(cell.metric(cell.model)), "as-published"),
        (test, "uniform attention", t_interval(cell.metric(cell.uniform)), "corrected"),
        (gain, "gain over uniform attention", cell.gain(), "corrected"),
    ]
    for quantity, method, interval, variant in rows:
        yield from quantity.score(cell, method, interval, variant=variant, after=f"over {interval.n} seeds")


def _mean(
    cell: AttentionCell,
    quantity: Quantity,
    method: str,
    values: pd.Series,
    variant: Variant = "corrected",
    note: str = "",
) -> Iterator[Score]:
    """The mean of a column over seeds and instances; none where there is no value."""
    interval = cell.interval(values)
    seeds = f"{interval.n} seeds of " if interval.n > 1 else ""
    over = f"over {seeds}{interval.clusters} instances"
    yield from quantity.score(cell, method, interval, variant=variant, after=f"{over}; {note}" if note else over)
