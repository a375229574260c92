"""The curve of a removal order on vectors: a linear model is trained again without ever more features."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from trueness.errors import UserError
from trueness.kinds.vector.families import VECTOR_MODELS, LinearFamily
from trueness.kinds.vector.linear import fit_all
from trueness.kinds.vector.vectors import VectorDataset, Vectors
from trueness.protocols.roar.curves import Order
from trueness.protocols.roar.removal import removal
from trueness.registry import Registry

RemovalOrder = Literal["recursive-roar", "roar", "ground-truth", "worst-case", "random"]
ORDERS: tuple[RemovalOrder, ...] = get_args(RemovalOrder)


@dataclass(frozen=True)
class LinearModel:
    """Predicts class 1 where the features times the coefficients plus the intercept are positive."""

    coefficients: npt.NDArray[np.float64]
    intercept: float

    def predict(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The predicted class of each row."""
        return (features @ self.coefficients + self.intercept > 0).astype(np.int64)

    def accuracy(self, examples: Vectors) -> float:
        """Share of examples whose class is predicted: [0, 1], higher is better."""
        return float((self.predict(examples.features) == examples.labels).mean())


def fit(name: str, examples: Vectors) -> LinearModel:
    """The linear family of that name for two classes; UserError for a family of another form."""
    family = VECTOR_MODELS[name]
    if not isinstance(family, LinearFamily):
        raise UserError(f"{name} has no coefficients: name a linear model.")
    if examples.features.shape[1] == 0 or len(np.unique(examples.labels)) < 2:
        # Where there is nothing to tell them apart, the more frequent class is predicted.
        return LinearModel(np.zeros(examples.features.shape[1]), 1.0 if examples.labels.mean() > 0.5 else -1.0)
    weights, biases = fit_all(examples, **family.options)
    return LinearModel(weights[0], float(biases[0]))


Explain = Callable[[LinearModel], npt.NDArray[np.float64]]
Train = Callable[[Vectors], LinearModel]
EXPLAINERS: Registry[Explain] = Registry("explainer")
"""How much each feature mattered to a model, with sign; rankings use the magnitude."""
EXPLAINERS.add("coefficient", lambda model: model.coefficients, "coefficients of a linear model")
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
