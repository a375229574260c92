"""Linear classifiers of vectors with two classes: logistic regression, by scikit-learn."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.kinds.vector.vectors import Vectors
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


VectorTrainer = Callable[[Vectors], LinearModel]
"""Trains a classifier on examples."""
VECTOR_MODELS: Registry[VectorTrainer] = Registry("model")


def _fit(examples: Vectors, **options: Any) -> LinearModel:
    if examples.features.shape[1] == 0 or len(np.unique(examples.labels)) < 2:
        # Where there is nothing to tell them apart, the more frequent class is predicted.
        return LinearModel(np.zeros(examples.features.shape[1]), 1.0 if examples.labels.mean() > 0.5 else -1.0)
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged on separable data: expected, see below
        fitted = LogisticRegression(**options).fit(examples.features, examples.labels)
    return LinearModel(fitted.coef_[0].astype(np.float64), float(fitted.intercept_[0]))


# Maximum likelihood, with a ridge too small to matter except where no maximum exists: on separable data it makes the
# direction of the coefficients, which is what explanations rank, the one of largest margin instead of wherever a solver
# stopped.
VECTOR_MODELS.add(
    "logistic-regression",
    functools.partial(_fit, C=1e6, solver="newton-cholesky", max_iter=200, tol=1e-6),
    "logistic regression of vectors, converged (scikit-learn, Newton)",
)
VECTOR_MODELS.add(
    "logistic-regression@madsen2022",
    functools.partial(_fit, C=np.inf),
    "logistic regression of vectors, 100 steps of L-BFGS without penalty as in the authors' code",
)
