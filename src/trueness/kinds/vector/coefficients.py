"""The coefficients of a linear model as an explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from trueness.data.rows import RowBatch
from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Target
from trueness.explainers.outputs import chosen_class


@dataclass(frozen=True)
class Coefficient(Explainer):
    """By how much a feature speaks for the class against the mean of the others, per unit in which it is measured."""

    def attribute(self, model: Any, batch: RowBatch, target: Target = "predicted") -> Tensor:
        """(examples, features)."""
        linear = getattr(model, "module", None)
        if not isinstance(linear, nn.Linear):
            raise Unsupported("Coefficients are those of a linear model, and this one is not linear.")
        weights = linear.weight.detach() / model.deviation
        others = (weights.sum(dim=0) - weights) / max(len(weights) - 1, 1)
        found: Tensor = (weights - others)[chosen_class(model, batch, target)]
        return found
