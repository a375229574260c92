"""Linear classifiers of vectors with two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trueness.data.vectors import Vectors
from trueness.registry import Registry


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


def constant_model(examples: Vectors) -> LinearModel:
    """The model that sees no features: it predicts the more frequent class."""
    return LinearModel(np.zeros(examples.features.shape[1]), 1.0 if examples.labels.mean() > 0.5 else -1.0)


class VectorTrainer(Protocol):
    """Trains a classifier of vectors."""

    def __call__(self, examples: Vectors, /) -> LinearModel:
        """Train on the examples."""
        ...


VECTOR_MODELS: Registry[VectorTrainer] = Registry("model")
