"""The weights of a linear model as its explanation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueness.explainers.registry import VECTOR_EXPLAINERS
from trueness.models.linear import LinearModel


def coefficient(model: LinearModel) -> npt.NDArray[np.float64]:
    """The signed coefficient of each feature, the same for every example; its magnitude ranks the features."""
    return model.coefficients


VECTOR_EXPLAINERS.add("coefficient", coefficient, "coefficients of a linear model; rankings use the magnitude")
