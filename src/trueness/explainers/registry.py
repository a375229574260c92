"""The names of explainers; what they name is loaded when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from trueness.models.linear import LinearModel
from trueness.registry import Registry

if TYPE_CHECKING:
    from trueness.explainers.text import Explainer


class VectorExplainer(Protocol):
    """Says how much each feature mattered to a model, with sign; rankings use the magnitude."""

    def __call__(self, model: LinearModel, /) -> npt.NDArray[np.float64]:
        """One signed score per feature."""
        ...


def _adapt(thing: Any, name: str) -> Explainer:
    from trueness.explainers.text import as_explainer

    return as_explainer(thing, name)


VECTOR_EXPLAINERS: Registry[VectorExplainer] = Registry("explainer")
TEXT_EXPLAINERS: Registry[Explainer] = Registry(
    "explainer", group="trueness.explainers", adapt=_adapt, filled_by="trueness.explainers.catalogue"
)
