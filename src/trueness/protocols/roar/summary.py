"""What removal curves on texts say: faithfulness, and guards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from trueness.protocols.result import Result, Score, bounds
from trueness.protocols.roar.curves import BASELINE, FAITHFULNESS, MASKED, Setting, bands, over_seeds, settings_of
from trueness.protocols.roar.guards import abstentions, warnings
from trueness.protocols.roar.sparsity import RANKS, SHARES
from trueness.stats import Interval, Undefined, area_between_curves, kendall, mean_interval, t_interval, within

if TYPE_CHECKING:
    import pandas as pd

RANKING = "agreement of rankings (Kendall tau)"
FEWEST_METHODS = 3
AS_PUBLISHED = "faithfulness, as published"


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
    import pandas as pd

    points = with_performance(points, metrics)
    settings = list(settings_of(points, amounts, unit, metrics))
    explained = _explanations(sparsity)
    records = points.assign(
        amount=[_amount(int(step), amounts, unit) for step in points["step"]],
    )
    return Result(
        records=records,
        scores=tuple(
            score
            for setting in settings
            for some in (_scores(setting, unit, target), _companion(setting, bounded, unit, target))
            for score in some
        ),
        warnings=tuple(warnings(settings, target, trained_before)),
        abstentions=tuple(abstentions(settings, refused, unit)),
        tables={
            "curves": pd.DataFrame([row for setting in settings for row in bands(setting)]),
            "sparsity": explained,
        },
    )


def with_performance(points: pd.DataFrame, metrics: Mapping[str, str]) -> pd.DataFrame:
    """The points, with what counts as performance on each dataset."""
    return points.assign(performance=[row[metrics[row["dataset"]]] for row in points.to_dict(orient="records")])


def _amount(step: int, amounts: Sequence[float], unit: str) -> float:
    """How much is hidden at a step: nothing at 0, everything at the last."""
    if step > len(amounts):
        return 1.0 if unit == "share" else float("inf")
    return 0.0 if step == 0 else amounts[step - 1]


def _score(
    setting: Setting,
    quantity: str,
    method: str,
    interval: Interval,
    *,
    target: str,
    direction: Literal["higher is better", "lower is better", "neither"] = "higher is better",
    null: float | None = None,
    best: float | None = None,
    published: bool = False,
    note: str = "",
) -> Iterator[Score]:
    if isinstance(interval.value, Undefined):
        return
    fields = bounds(interval)
    fields["note"] = "; ".join(text for text in (note, fields["note"]) if text)
    yield Score(
        quantity=quantity,
        dataset=setting.dataset,
        model=setting.model,
        method=method,
        variant="as-published" if published else "corrected",
        target=f"the {target} class",
        value=interval.value,
        direction=direction,
        null=null,
        best=best,
        **fields,
    )


def _scores(setting: Setting, unit: str, target: str) -> Iterator[Score]:
    """The model's performance, then of every method its faithfulness and what its masks alone tell."""
    start = within(t_interval(setting.baseline()[:, 0]), 0, 1)
    floor = float(setting.baseline()[:, -1].mean()) if unit == "share" else None
    yield from _score(setting, f"performance ({setting.metric})", "the model", start, target=target, null=floor, best=1)
    if unit == "share":
        for order, quantity in FAITHFULNESS.items():
            if not setting.methods(order) or setting.empty(order):
                continue
            most = area_between_curves(setting.amounts, setting.baseline(order), setting.baseline(order)).best
            best = float(np.mean(most.compressed())) if len(most.compressed()) else None
            for method in setting.methods(order):
                values = setting.faithfulness(order, method)
                yield from _score(setting, quantity, method, over_seeds(values), target=target, null=0.0, best=best)
                if order == "recursive":
                    values = setting.faithfulness(order, method, every=True)
                    values = values[np.isfinite(values)]
                    clipped = mean_interval(np.clip(values, -1, 1)) if len(values) else t_interval(values)
                    yield from _score(
                        setting, AS_PUBLISHED, method, clipped, target=target, null=0.0, best=best, published=True
                    )
    for order, method in setting.masks:
        if order == "plain" and ("recursive", method) in setting.masks:
            continue
        excess, step = _leak(setting, order, method)
        note = f"the largest of all steps, at step {step + 1}"
        yield from _score(
            setting,
            "mask-only accuracy above chance",
            method,
            excess,
            target=target,
            direction="lower is better",
            null=0.0,
            best=0.0,
            note=note,
        )


def _companion(setting: Setting, bounded: pd.DataFrame, unit: str, target: str) -> Iterator[Score]:
    """What the companion adds: how far its ranking of methods is that of retraining, and measures between bounds."""
    both = [method for method in setting.methods("recursive") if method in setting.methods(MASKED)]
    some = unit == "share" and len(both) >= FEWEST_METHODS
    if some and not (setting.empty() or setting.empty(MASKED)):
        # Two methods may hide the same tokens: whether their areas are equal is not for rounding to say.
        values = [
            np.array([setting.faithfulness(order, method) for method in both]).T.round(12)
            for order in ("recursive", MASKED)
        ]
        tau = kendall(*values).statistic
        note = f"over {len(both)} methods"
        pair = "masked training and recursive"
        interval = within(over_seeds(tau.values.filled(np.nan)), -1, 1)
        yield from _score(setting, RANKING, pair, interval, target=target, null=0.0, best=1.0, note=note)
    for method, share in setting.unusual.items():
        step = int(share.mean(axis=0).argmax())
        yield from _score(
            setting,
            "unusual texts (masked training)",
            method,
            within(over_seeds(share[:, step]), 0, 1),
            target=target,
            direction="neither",
            null=0.05,
            note=f"the largest of all steps, at step {step + 1}",
        )
    if not len(bounded):
        return
    here = bounded[(bounded["dataset"] == setting.dataset) & (bounded["model"] == setting.model)]
    for place, quantity in enumerate(("comprehensiveness, normalised", "sufficiency, normalised")):
        means = {
            str(method): np.array(
                [
                    np.mean(known)
                    if (known := [pair[place] for pair in some["pair"] if pair[place] is not None])
                    else np.nan
                    for _, some in texts.groupby("seed")
                ]
            )
            for method, texts in here.groupby("method", sort=False)
        }
        null = (
            float(np.nanmean(means[BASELINE])) if np.isfinite(means.get(BASELINE, np.array([np.nan]))).any() else None
        )
        for method, values_ in means.items():
            yield from _score(
                setting, quantity, method, within(over_seeds(values_), 0, 1), target=target, null=null, best=1.0
            )


def _leak(setting: Setting, order: str, method: str) -> tuple[Interval, int]:
    """By how much labels are told better from masks than without them, at the step where it is most."""
    alone, largest = setting.masks[order, method]
    step = int((alone - largest).mean(axis=0).argmax())
    return t_interval((alone - largest)[:, step]), step


def _explanations(sparsity: pd.DataFrame) -> pd.DataFrame:
    """How much of the explanations the top tokens hold: a row per dataset, model, method and amount."""
    import pandas as pd

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
            limits = bounds(interval)
            rows.append(
                {
                    **{"dataset": dataset, "model": model, "method": method, "unit": amount.unit},
                    **{"amount": float(amount.value), "mean": interval.value},
                    **{"low": limits["low"], "high": limits["high"], "n": interval.n},
                }
            )
    columns = ["dataset", "model", "method", "unit", "amount", "mean", "low", "high", "n"]
    return pd.DataFrame(rows, columns=columns)
