"""Remove what is called important, retrain, measure: ROAR and Recursive ROAR (Madsen et al. 2022), on vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from trueness.data.vectors import VectorDataset, Vectors
from trueness.models.linear import LinearModel

Order = Literal["recursive-roar", "roar", "ground-truth", "worst-case", "random"]
ORDERS: tuple[Order, ...] = get_args(Order)
Explain = Callable[[LinearModel], npt.NDArray[np.float64]]
Train = Callable[[Vectors], LinearModel]
_ROUNDING = 1e-9  # 3/16 * 16 must count 3 features, not 2


@dataclass(frozen=True)
class Point:
    """Performance of a model retrained without some features."""

    step: int
    ratio: float
    removed: tuple[int, ...]
    accuracy: float


def removal_curve(
    dataset: VectorDataset, train: Train, explain: Explain, *, order: Order, ratios: Sequence[float], seed: int
) -> list[Point]:
    """Retrain without ever more features and measure test accuracy; lower means the features removed mattered more.

    floor(ratio * features) features are removed at each step, what is removed stays removed. `roar` ranks once, by the
    model that has all features; `recursive-roar` ranks again at every step, by the model that has those left.
    `ground-truth` removes the evidence first, `worst-case` last, `random` in an order drawn from `seed`.
    """
    everything = np.arange(dataset.width)
    model, remaining = train(dataset.train), everything
    queue = _reference_order(dataset, order, seed)
    if queue is None:
        queue = _ranked(explain(model), remaining)
    removed: list[int] = []
    points = []
    for step, ratio in enumerate(ratios):
        new = int(ratio * dataset.width + _ROUNDING) - len(removed)
        if new > 0:
            if order == "recursive-roar" and removed:
                queue = _ranked(explain(model), remaining)
            removed, queue = removed + queue[:new], queue[new:]
            remaining = np.setdiff1d(everything, removed)
            model = train(dataset.train.keep(remaining))
        points.append(Point(step, float(ratio), tuple(removed), model.accuracy(dataset.test.keep(remaining))))
    return points


def _ranked(scores: npt.NDArray[np.float64], columns: npt.NDArray[np.intp]) -> list[int]:
    """The columns by descending magnitude of their score; equal ones keep their order."""
    order: list[int] = columns[np.argsort(-np.abs(scores), kind="stable")].tolist()
    return order


def _reference_order(dataset: VectorDataset, order: Order, seed: int) -> list[int] | None:
    """The removal order that needs no explanation; None where one is needed."""
    if order == "ground-truth":
        return [int(column) for column in np.argsort(~dataset.evidence, kind="stable")]
    if order == "worst-case":
        return [int(column) for column in np.argsort(dataset.evidence, kind="stable")]
    if order == "random":
        rng = np.random.default_rng([seed, *b"random order"])
        return [int(column) for column in rng.permutation(dataset.width)]
    return None
