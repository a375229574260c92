"""The curve of a removal order on vectors: a linear model is trained again without ever more features."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from trueness.kinds.vector.linear import LinearModel
from trueness.kinds.vector.vectors import VectorDataset, Vectors
from trueness.protocols.roar.curves import Order
from trueness.protocols.roar.removal import removal

RemovalOrder = Literal["recursive-roar", "roar", "ground-truth", "worst-case", "random"]
ORDERS: tuple[RemovalOrder, ...] = get_args(RemovalOrder)
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
    dataset: VectorDataset, train: Train, explain: Explain, *, order: RemovalOrder, ratios: Sequence[float], seed: int
) -> list[Point]:
    """Retrain without ever more features and measure test accuracy; lower means the features removed mattered more.

    floor(ratio * features) features are removed at each step, what is removed stays removed. `roar` ranks once, by the
    model that has all features; `recursive-roar` ranks again at every step, by the model that has those left.
    `ground-truth` removes the evidence first, `worst-case` last, `random` in an order drawn from `seed`.
    """
    queue = _reference_order(dataset, order, seed)

    def left(removed: tuple[int, ...]) -> npt.NDArray[np.intp]:
        return np.setdiff1d(np.arange(dataset.width), removed)

    def ranked(model: LinearModel, removed: tuple[int, ...]) -> list[int]:
        """By descending magnitude of their score; equal ones keep their order."""
        return queue or left(removed)[np.argsort(-np.abs(explain(model)), kind="stable")].tolist()

    def hide(columns: list[int], removed: tuple[int, ...], ratio: float) -> tuple[int, ...]:
        more = max(int(ratio * dataset.width + _ROUNDING) - len(removed), 0)
        return (*removed, *[column for column in columns if column not in removed][:more])

    @functools.lru_cache(maxsize=1)  # a step may remove no more than the one before
    def retrain(removed: tuple[int, ...]) -> tuple[LinearModel, float]:
        model = train(dataset.train.keep(left(removed)) if removed else dataset.train)
        return model, model.accuracy(dataset.test.keep(left(removed)))

    nothing: tuple[int, ...] = ()
    again: list[Order] = ["recursive" if order == "recursive-roar" else "plain"]
    points = removal(retrain(nothing)[0], nothing, ratios, again, explain=ranked, hide=hide, train=retrain)
    return [Point(step - 1, float(ratios[step - 1]), removed, accuracy) for _, step, removed, accuracy in points]


def _reference_order(dataset: VectorDataset, order: RemovalOrder, seed: int) -> list[int] | None:
    """The removal order that needs no explanation; None where one is needed."""
    if order == "random":
        return list(map(int, np.random.default_rng([seed, *b"random order"]).permutation(dataset.width)))
    if order in ("ground-truth", "worst-case"):
        return list(map(int, np.argsort(dataset.evidence == (order == "worst-case"), kind="stable")))
    return None
