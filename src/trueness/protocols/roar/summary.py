"""What removal curves on texts say: faithfulness, and guards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from trueness.protocols.result import Result, Score
from trueness.protocols.roar.curves import BASELINE, FAITHFULNESS, MASKED, RemovalCell, bands, cells_of, over_seeds
from trueness.protocols.roar.guards import abstentions, warnings
from trueness.protocols.roar.hiding import RANKS, SHARES
from trueness.protocols.scoring import Quantity, columns, of_each, share
from trueness.stats import Undefined, kendall, t_interval, within

FEWEST_METHODS = 3
AS_PUBLISHED = "faithfulness, as published"
RANKING = Quantity("agreement of rankings (Kendall tau)", "higher is better", 0.0, 1.0, -1.0, 1.0)
UNUSUAL = share("unusual texts (masked training)", null=0.05)
_WITHOUT_MASKS = "; what else the classifier sees tells as much: lengths, of pairs the other text"
LEAK = Quantity("mask-only accuracy above chance", "lower is better", 0.0, 0.0)
COMPREHENSIVENESS = share("comprehensiveness, normalised", "higher is better", best=1.0)
SUFFICIENCY = share("sufficiency, normalised", "higher is better", best=1.0)


def summarise(
    points: pd.DataFrame,
    sparsity: pd.DataFrame,
    refused: pd.DataFrame,
    bounded: pd.DataFrame,
    *,
    amounts: Sequence[float],
    unit: Literal["share", "tokens"],
    target: str,
    metrics: Mapping[str, str],
    trained_before: Sequence[str] = (),
) -> Result:
    """The result of a study, from one point per dataset, model, method, order, step and seed.

    `points` has the test performance and the guards' measurements; `sparsity` how much of the explanations the top
    tokens hold; `refused` the methods that a model cannot support; `bounded` the comprehensiveness and sufficiency of
    single texts; `trained_before` the models that do not begin as ones that know nothing of a task.
    """
    points = with_performance(points, metrics)
    cells = list(cells_of(points, amounts, unit, metrics, target))
    at_step = [0.0, *amounts, 1.0 if unit == "share" else float("inf")]
    return Result(
        records=points.assign(amount=[at_step[int(step)] for step in points["step"]]),
        scores=of_each(cells, lambda cell: [*_scores(cell), *_companion(cell, bounded)]),
        warnings=tuple(warnings(cells, target, trained_before)),
        abstentions=tuple(abstentions(cells, refused, unit)),
        tables={"curves": pd.DataFrame(of_each(cells, bands)), "sparsity": _explanations(sparsity)},
    )


def with_performance(points: pd.DataFrame, metrics: Mapping[str, str]) -> pd.DataFrame:
    """The points, with what counts as performance on each dataset."""
    return points.assign(performance=[row[metrics[row["dataset"]]] for row in points.to_dict(orient="records")])


def _scores(cell: RemovalCell) -> Iterator[Score]:
    """The model's performance, then of every method its faithfulness and what its masks alone tell."""
    start = t_interval(cell.baseline()[:, 0])
    floor = float(cell.baseline()[:, -1].mean()) if cell.unit == "share" else None
    performance = share(f"performance ({cell.metric})", "higher is better", floor, 1.0)
    yield from performance.score(cell, "the model", start)
    for order, name in FAITHFULNESS.items() if cell.unit == "share" else ():
        if not cell.methods(order) or cell.empty(order):
            continue
        most = cell.at_random(order).best.compressed()
        best = float(np.mean(most)) if len(most) else None
        for method in cell.methods(order):
            quantity = Quantity(name, "higher is better", 0.0, best)
            yield from quantity.score(cell, method, over_seeds(cell.faithfulness(order, method)))
            if order == "recursive":
                values = cell.faithfulness(order, method, every=True)
                clipped = over_seeds(np.clip(values, -1, 1))
                yield from replace(quantity, name=AS_PUBLISHED).score(cell, method, clipped, variant="as-published")
    for order, method in cell.masks:
        if order == "plain" and ("recursive", method) in cell.masks:
            continue
        leaked = cell.leaked(order, method)
        step = int(leaked.mean(axis=0).argmax())
        note = _largest(step) + (_WITHOUT_MASKS if method == BASELINE else "")
        yield from LEAK.score(cell, method, t_interval(leaked[:, step]), note=note)


def _largest(step: int) -> str:
    return f"the largest of all steps, at step {step + 1}"


def _companion(cell: RemovalCell, bounded: pd.DataFrame) -> Iterator[Score]:
    """What the companion adds: how far its ranking of methods is that of retraining, and measures between bounds."""
    both = [method for method in cell.methods("recursive") if method in cell.methods(MASKED)]
    some = cell.unit == "share" and len(both) >= FEWEST_METHODS
    if some and not (cell.empty() or cell.empty(MASKED)):
        # Two methods may hide the same tokens: whether their areas are equal is not for rounding to say.
        retrained, masked = (
            np.array([cell.faithfulness(order, method) for method in both]).T.round(12)
            for order in ("recursive", MASKED)
        )
        tau = t_interval(kendall(retrained, masked).statistic.compressed())
        yield from RANKING.score(cell, "masked training and recursive", tau, note=f"over {len(both)} methods")
    for method, unusual in cell.unusual.items():
        step = int(unusual.mean(axis=0).argmax())
        yield from UNUSUAL.score(cell, method, over_seeds(unusual[:, step]), note=_largest(step))
    if not len(bounded):
        return
    here = bounded[(bounded["dataset"] == cell.dataset) & (bounded["model"] == cell.model)]
    for place, quantity in enumerate((COMPREHENSIVENESS, SUFFICIENCY)):
        means = {
            str(method): np.array([_mean_known(some["pair"], place) for _, some in texts.groupby("seed")])
            for method, texts in here.groupby("method", sort=False)
        }
        by_chance = means.get(BASELINE, np.array([np.nan]))
        null = float(np.nanmean(by_chance)) if np.isfinite(by_chance).any() else None
        for method, of_seeds in means.items():
            yield from quantity.score(cell, method, over_seeds(of_seeds), null=null)


def _mean_known(pairs: Iterable[Sequence[Any]], place: int) -> float:
    known = [pair[place] for pair in pairs if pair[place] is not None]
    return float(np.mean(known)) if known else np.nan


def _explanations(sparsity: pd.DataFrame) -> pd.DataFrame:
    """How much of the explanations the top tokens hold: a row per dataset, model, method and amount."""
    rows = []
    amounts = [*RANKS, *SHARES]
    for (dataset, model, method), some in (
        sparsity.groupby(["dataset", "model", "method"], sort=False) if len(sparsity) else []
    ):
        table = np.array([[np.nan if one is None else one for one in curve] for curve in some["curve"]])
        for column, amount in enumerate(amounts):
            interval = within(over_seeds(table[:, column]), 0, 1)
            if isinstance(interval.value, Undefined):
                continue
            here = {"dataset": dataset, "model": model, "method": method, "unit": amount.unit}
            rows.append({**here, "amount": float(amount.value), **columns(interval)})
    return pd.DataFrame(rows, columns=["dataset", "model", "method", "unit", "amount", "mean", "low", "high", "n"])
