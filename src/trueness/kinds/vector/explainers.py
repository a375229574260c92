"""Explainers of vectors: the weights of a linear model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from trueness.kinds.vector.linear import LinearModel
from trueness.registry import Registry

VectorExplainer = Callable[[LinearModel], npt.NDArray[np.float64]]
"""Says how much each feature mattered to a model, with sign; rankings use the magnitude."""
VECTOR_EXPLAINERS: Registry[VectorExplainer] = Registry("explainer")


def coefficient(model: LinearModel) -> npt.NDArray[np.float64]:
    """The signed coefficient of each feature, the same for every example; its magnitude ranks the features."""
    return model.coefficients


VECTOR_EXPLAINERS.add("coefficient", coefficient, "coefficients of a linear model; rankings use the magnitude")
