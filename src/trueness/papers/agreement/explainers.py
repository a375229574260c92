"""Explainers as the code of Order in the Court (2022) computes them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.gradients import ends, gradient_of
from trueness.explainers.masked_copies import Lime
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.models.network import TextNetwork


@dataclass(frozen=True)
class DeepLiftCourt2022(Explainer):
    """Gradient of the probability times the way from the padding token: what "DeepLIFT" was in Order in the Court.

    Their model computes its activations where Captum's hooks do not see them, so that no rule but the gradient is left.
    """

    facts = Facts(needs=("gradients",), machinery=("rescale",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        end, start = ends(model, batch, "pad")
        gradient, _ = gradient_of(model, batch, target, output="probability", max_bytes=self.max_bytes)
        return (gradient * (end - start)).sum(dim=-1) * batch.mask


@dataclass(frozen=True)
class LimeCourt2022(Lime):
    """LIME as in Order in the Court 2022: padding for hidden tokens; equal places of a pair are one feature."""

    width: float = 1.0
    hiding: str = "pad"

    def groups(self, batch: Batch) -> Tensor:  # type: ignore[override]
        order = batch.groups()
        if batch.text.types is None:
            return order
        first = (batch.mask & (batch.text.types == 0)).sum(dim=-1, keepdim=True)
        return torch.where(batch.mask & (batch.text.types == 1), order - first, order)
