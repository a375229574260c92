"""Logistic regression, by scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from trueness.data.vectors import Vectors
from trueness.models.linear import VECTOR_MODELS, LinearModel, constant_model


def logistic_regression(examples: Vectors) -> LinearModel:
    """Maximum likelihood by Newton steps, with a ridge too small to matter except where no maximum exists.

    On separable data the likelihood grows without end; the ridge makes the direction of the coefficients, which is what
    explanations rank, the one of largest margin instead of wherever a solver stopped.
    """
    return _fit(examples, C=1e6, solver="newton-cholesky", max_iter=200, tol=1e-6)


def logistic_regression_madsen2022(examples: Vectors) -> LinearModel:
    """No penalty and at most 100 steps of L-BFGS, converged or not, as in the authors' code."""
    return _fit(examples, C=np.inf)


def _fit(examples: Vectors, **options: Any) -> LinearModel:
    if examples.features.shape[1] == 0 or len(np.unique(examples.labels)) < 2:
        return constant_model(examples)
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged on separable data: expected, see the docstrings above
        fitted = LogisticRegression(**options).fit(examples.features, examples.labels)
    return LinearModel(fitted.coef_[0].astype(np.float64), float(fitted.intercept_[0]))


VECTOR_MODELS.add(
    "logistic-regression",
    logistic_regression,
    "logistic regression of vectors, converged (scikit-learn, Newton)",
)
VECTOR_MODELS.add(
    "logistic-regression@madsen2022",
    logistic_regression_madsen2022,
    "logistic regression of vectors, 100 steps of L-BFGS without penalty as in the authors' code",
)
