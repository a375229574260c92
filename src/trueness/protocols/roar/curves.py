"""The curves of one dataset and one kind of model, over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.protocols.result import bounds
from trueness.stats import Interval, area_between_curves, t_interval, within
from trueness.stats.undefined import Floats

if TYPE_CHECKING:
    import pandas as pd

BASELINE = "random"
MASKED = "masked training"
"""The order of the companion: one explanation of one model, which is not trained again."""
FAITHFULNESS = {
    "recursive": "faithfulness",
    "plain": "faithfulness (plain ROAR)",
    MASKED: "faithfulness (masked training)",
}
"""What the score of each order is called."""
SMALL_DENOMINATOR = 0.05
"""Where random masks cost less than this over the whole curve, faithfulness divides by little."""


@dataclass(frozen=True)
class Setting:
    """All curves of one dataset and one kind of model."""

    dataset: str
    model: str
    metric: str
    unit: str
    amounts: Floats
    """Hidden at each step: 0, those of the study, and 1 where shares are hidden."""
    seeds: tuple[int, ...]
    curves: Mapping[tuple[str, str], Floats]
    """By order and method: (seeds, steps) performance; random alike under every order."""
    masks: Mapping[tuple[str, str], tuple[Floats, Floats]] = field(default_factory=dict)
    """By order and method: (seeds, inner steps) accuracy of a classifier of masks, and the largest class's share."""
    unusual: Mapping[str, Floats] = field(default_factory=dict)
    """By method: (seeds, inner steps) share of masked texts that look unusual to the companion."""

    @property
    def where(self) -> str:
        """In words."""
        return f"{self.dataset}, {self.model}"

    def methods(self, order: str) -> list[str]:
        """Those that were followed under an order, the baseline left out."""
        return [method for one, method in self.curves if one == order and method != BASELINE]

    def baseline(self, order: str = "plain") -> Floats:
        """Performance under random masks: of retrained models, or of the companion."""
        return self.curves[order if order == MASKED else "plain", BASELINE]

    def fragile(self, order: str = "plain") -> int:
        """With how many seeds faithfulness divides by little."""
        baseline = self.baseline(order)
        area = area_between_curves(self.amounts, baseline, baseline).denominator
        return int((area < SMALL_DENOMINATOR).sum())

    def empty(self, order: str = "plain") -> bool:
        """Whether that is so with most seeds: there is nothing that explanations could find."""
        return 2 * self.fragile(order) > len(self.seeds)

    def faithfulness(self, order: str, method: str) -> Floats:
        """Of each seed; not a number where it is undefined."""
        found = area_between_curves(self.amounts, self.curves[order, method], self.baseline(order))
        return np.asarray(found.value.values.filled(np.nan))


def over_seeds(values: Floats) -> Interval:
    """The mean over the seeds of which the value is defined, and its interval."""
    return t_interval(values[np.isfinite(values)])


def settings_of(
    points: pd.DataFrame, amounts: Sequence[float], unit: str, metrics: Mapping[str, str]
) -> Iterator[Setting]:
    """From points with their performance; what is not complete is left out."""
    inner = len(amounts)
    axis = np.array([0.0, *amounts, *([1.0] if unit == "share" else [])])
    for (dataset, model), here in points.groupby(["dataset", "model"], sort=False):
        ends = {
            method: here[here["method"] == method].set_index("seed")["performance"]
            for method in ("nothing hidden", "all hidden")
        }
        seeds = [seed for seed in ends["nothing hidden"].index if seed in ends["all hidden"].index]
        curves, masks, unusual = {}, {}, {}
        retrained = here[(here["step"] > 0) & (here["step"] <= inner) & (here["order"] != MASKED)]
        for (order, method), some in retrained.groupby(["order", "method"], sort=False):
            table = some.pivot(index="seed", columns="step", values="performance").reindex(seeds)
            if table.shape[1] < inner or table.isna().any(axis=None):
                continue  # not complete
            whole = [ends["nothing hidden"].loc[seeds].to_numpy()[:, None], table.to_numpy()]
            whole += [ends["all hidden"].loc[seeds].to_numpy()[:, None]] if unit == "share" else []
            curves[str(order), str(method)] = np.concatenate(whole, axis=1)
            if "mask-only" in some and some["mask-only"].notna().all():
                pair = [
                    some.pivot(index="seed", columns="step", values=column).loc[seeds].to_numpy()
                    for column in ("mask-only", "largest-class")
                ]
                masks[str(order), str(method)] = (pair[0], pair[1])
        for method, some in here[here["order"] == MASKED].groupby("method", sort=False):
            table = some.pivot(index="seed", columns="step", values="performance").reindex(seeds)
            odd = some.pivot(index="seed", columns="step", values="unusual").reindex(seeds)
            if table.isna().any(axis=None):
                continue
            curves[MASKED, str(method)] = table.to_numpy()[:, : len(axis)]
            unusual[str(method)] = odd.to_numpy(dtype=float)[:, 1 : inner + 1]
        if ("plain", BASELINE) in curves:
            name, kind = str(dataset), str(model)
            yield Setting(name, kind, metrics[name], unit, axis, tuple(map(int, seeds)), curves, masks, unusual)


def bands(setting: Setting) -> Iterator[dict[str, Any]]:
    """Mean performance of every curve at each step, with its interval over seeds."""
    for (order, method), curve in setting.curves.items():
        for step, amount in enumerate(setting.amounts):
            interval = within(t_interval(curve[:, step]), 0, 1)
            limits = bounds(interval)
            yield {
                **{"dataset": setting.dataset, "model": setting.model, "metric": setting.metric},
                "unit": setting.unit,
                **{"method": method, "order": order, "step": step, "amount": float(amount)},
                **{"mean": float(curve[:, step].mean()), "low": limits["low"], "high": limits["high"]},
                "n": curve.shape[0],
            }
