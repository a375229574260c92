"""Linear classifiers of vectors: logistic regression by scikit-learn, and any other that is linear in its features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.kinds.vector.vectors import Vectors

_CHECKED = 64
"""Random rows on which a linear copy must say what the original says."""


def fit_all(examples: Vectors, **options: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(rows, features) coefficients and (rows,) intercepts: one row for two classes, otherwise one for each class."""
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged on separable data: expected, see the families
        fitted = LogisticRegression(**options).fit(examples.features, examples.labels)
    return fitted.coef_.astype(np.float64), fitted.intercept_.astype(np.float64)


def linear_form(
    estimator: Any, features: int, names: Sequence[str] = ()
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
    """(classes, features) weights and (classes,) biases of logits, if an estimator of scikit-learn has such a form.

    Its steps before the last may scale and turn features. That the copy says the same is tried on random rows.
    """
    import pandas as pd

    *before, last = [step for _, step in estimator.steps] if hasattr(estimator, "steps") else [estimator]
    coefficients = np.atleast_2d(getattr(last, "coef_", np.empty((0, 0))))
    if not coefficients.size:
        return None
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(_CHECKED, features)) * np.abs(rng.normal(size=features) + 1)
    points = np.concatenate([np.zeros((1, features)), np.eye(features), rows])
    try:
        shown = points if not names else pd.DataFrame(points, columns=list(names))
        for step in before:
            shown = shown if step == "passthrough" else np.asarray(step.transform(shown), dtype=np.float64)
        scores = np.asarray(shown) @ coefficients.T + np.asarray(last.intercept_)
        wanted = np.asarray(
            estimator.predict_proba(rows if not names else pd.DataFrame(rows, columns=list(names))), dtype=np.float64
        )
    except (AttributeError, TypeError, ValueError):
        return None
    if scores.shape[1] == 1:  # of two classes: half for one, half against the other
        scores = np.concatenate([-scores, scores], axis=1) / 2
    biases, weights = scores[0], (scores[1 : features + 1] - scores[0]).T
    logits = rows @ weights.T + biases
    said = np.exp(logits - logits.max(axis=1, keepdims=True))
    same = said.shape == wanted.shape and np.allclose(said / said.sum(axis=1, keepdims=True), wanted, atol=1e-6)
    return (weights, biases) if same else None
