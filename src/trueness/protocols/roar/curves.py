"""The curves of one dataset and one kind of model, over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trueness.protocols.scoring import Cell, columns
from trueness.stats import AreaBetweenCurves, Interval, area_between_curves, t_interval, within
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

Order = Literal["recursive", "plain"]
"""Explained again after every step, or once."""
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
class RemovalCell(Cell):
    """All curves of one dataset and one kind of model."""

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
    accuracies: Mapping[tuple[str, str], Floats] = field(default_factory=dict)
    """The curves once more as accuracy, if they are of another metric."""
    hidden: Floats = field(default_factory=lambda: np.zeros(0))
    """(inner steps) the share of all test tokens that random masks hide, where it was measured."""

    def methods(self, order: str) -> list[str]:
        """Those that were followed under an order, the baseline left out."""
        return [method for one, method in self.curves if one == order and method != BASELINE]

    def baseline(self, order: str = "plain") -> Floats:
        """Performance under random masks: of retrained models, or of the companion."""
        return self.curves[order if order == MASKED else "plain", BASELINE]

    def at_random(self, order: str = "plain") -> AreaBetweenCurves:
        """What faithfulness divides by, and the most that it can be."""
        return area_between_curves(self.amounts, self.baseline(order), self.baseline(order))

    def fragile(self, order: str = "plain") -> Bools:
        """With which seeds faithfulness divides by little."""
        return np.asarray(self.at_random(order).denominator < SMALL_DENOMINATOR)

    def empty(self, order: str = "plain") -> bool:
        """Whether that is so with most seeds: there is nothing that explanations could find."""
        return bool(2 * self.fragile(order).sum() > len(self.seeds))

    def faithfulness(self, order: str, method: str, *, every: bool = False) -> Floats:
        """Of each seed; not a number where it is undefined or, unless `every` one is wanted, divides by little."""
        found = area_between_curves(self.amounts, self.curves[order, method], self.baseline(order))
        values = np.asarray(found.value.values.filled(np.nan))
        return values if every else np.where(self.fragile(order), np.nan, values)

    def leaked(self, order: str, method: str) -> Floats:
        """(seeds, inner steps) by how much masks tell the label better than chance.

        Chance is the largest class, or what random masks tell: lengths, and of pairs the other text.
        """
        alone, largest = self.masks[order, method]
        if method == BASELINE:
            return alone - largest
        return alone - np.maximum(largest, self.masks.get(("plain", BASELINE), (largest, largest))[0])


def over_seeds(values: Floats) -> Interval:
    """The mean over the seeds of which the value is defined, and its interval."""
    return t_interval(values[np.isfinite(values)])


def cells_of(
    points: pd.DataFrame, amounts: Sequence[float], unit: str, metrics: Mapping[str, str], target: str = "gold"
) -> Iterator[RemovalCell]:
    """From points with their performance; what is not complete is left out."""
    inner = len(amounts)
    axis = np.array([0.0, *amounts, *([1.0] if unit == "share" else [])])
    for (dataset, model), here in points.groupby(["dataset", "model"], sort=False):
        seeds = _seeds(here)
        curves = _curves(here, seeds, "performance", inner, unit)
        if ("plain", BASELINE) not in curves:
            continue
        masks, unusual, hidden = {}, {}, np.zeros(0)
        for (order, method), some in here[(here["step"] > 0) & (here["step"] <= inner)].groupby(
            ["order", "method"], sort=False
        ):
            if (order, method) not in curves:
                continue
            if order == MASKED:
                unusual[str(method)] = _table(some, seeds, "unusual")
                continue
            if (order, method) == ("plain", BASELINE) and "hidden" in some and some["hidden"].notna().all():
                hidden = _table(some, seeds, "hidden").mean(axis=0)
            if "mask-only" in some and some["mask-only"].notna().all():
                alone, largest = (_table(some, seeds, column) for column in ("mask-only", "largest-class"))
                masks[str(order), str(method)] = alone, largest
        metric = metrics[str(dataset)]
        yield RemovalCell(
            dataset=str(dataset),
            model=str(model),
            metric=metric,
            unit=unit,
            amounts=axis,
            seeds=tuple(map(int, seeds)),
            curves=curves,
            masks=masks,
            unusual=unusual,
            accuracies={} if metric == "accuracy" else _curves(here, seeds, "accuracy", inner, unit),
            hidden=hidden,
            target=f"the {target} class",
        )


def _seeds(here: pd.DataFrame) -> list[Any]:
    """Those with both ends of a curve."""
    last = set(here.loc[here["method"] == "all hidden", "seed"])
    return [seed for seed in here.loc[here["method"] == "nothing hidden", "seed"] if seed in last]


def _table(some: pd.DataFrame, seeds: list[Any], column: str) -> Floats:
    """(seeds, steps) of one method."""
    wide = some.pivot(index="seed", columns="step", values=column).reindex(seeds)
    return np.asarray(wide.to_numpy(dtype=float))


def _curves(here: pd.DataFrame, seeds: list[Any], column: str, inner: int, unit: str) -> dict[tuple[str, str], Floats]:
    """By order and method: (seeds, steps), the ends among them; what is not complete is left out."""
    first, last = (_table(here[here["method"] == end], seeds, column) for end in ("nothing hidden", "all hidden"))
    found = {}
    for (order, method), some in here[~here["method"].isin(("nothing hidden", "all hidden"))].groupby(
        ["order", "method"], sort=False
    ):
        if order == MASKED:  # has ends of its own
            curve = _table(some, seeds, column)[:, : inner + 1 + (unit == "share")]
        else:
            steps = _table(some[(some["step"] > 0) & (some["step"] <= inner)], seeds, column)
            if steps.shape[1] < inner:
                continue
            curve = np.concatenate([first, steps, *([last] if unit == "share" else [])], axis=1)
        if not np.isnan(curve).any():
            found[str(order), str(method)] = curve
    return dict(sorted(found.items(), key=lambda item: item[0][0] == MASKED))  # the companion's last


def bands(cell: RemovalCell) -> Iterator[dict[str, Any]]:
    """Mean performance of every curve at each step, with its interval over seeds."""
    for (order, method), curve in cell.curves.items():
        for step, amount in enumerate(cell.amounts):
            yield {
                **cell.place,
                **{"metric": cell.metric, "unit": cell.unit, "method": method, "order": order, "step": step},
                "amount": float(amount),
                **columns(within(t_interval(curve[:, step]), 0, 1)),
            }
