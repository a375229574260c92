"""The names of explainers of vectors."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from trueness.models.linear import LinearModel
from trueness.registry import Registry


class VectorExplainer(Protocol):
    """Says how much each feature mattered to a model, with sign; rankings use the magnitude."""

    def __call__(self, model: LinearModel, /) -> npt.NDArray[np.float64]:
        """One signed score per feature."""
        ...


VECTOR_EXPLAINERS: Registry[VectorExplainer] = Registry("explainer")
