"""The kind `vector`: rows of numbers, explained feature by feature."""

from __future__ import annotations

from typing import Any

from trueness.explainers.catalogue import add_common, add_later
from trueness.explainers.contract import explainers_of
from trueness.kinds.contract import Kind, Words
from trueness.kinds.vector.explaining import VectorExplaining
from trueness.kinds.vector.opening import VectorModels
from trueness.kinds.vector.reading import VectorData

EXPLAINERS = explainers_of("vector", "trueness.vector_explainers")
add_common(EXPLAINERS)
add_later(
    EXPLAINERS,
    "coefficient",
    "trueness.kinds.vector.coefficients:Coefficient",
    "coefficients of a linear model, the same for every example; rankings use the magnitude",
)


def usual(model: Any) -> list[str]:
    """Gradients where the model has them, and methods that hide features."""
    hiding = ["kernel-shap[n_samples=200]", "lime[n_samples=200]", "leave-one-out"]
    return ["input-x-gradient", "integrated-gradients", *hiding] if model.network.differentiable else hiding


VECTOR = Kind(
    name="vector",
    words=Words("row", "rows", "feature", "features", "every number changes in its last digits"),
    models=VectorModels(),
    data=VectorData(),
    explainers=EXPLAINERS,
    usual=usual,
    explaining=VectorExplaining(),
)
