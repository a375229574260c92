"""Explainers as the code of Madsen et al. (2022) computes them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.gradients import gradient_of
from trueness.explainers.paths import average_gradient
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.models.network import TextNetwork


@dataclass(frozen=True)
class GradientMadsen2022(Explainer):
    """L2 norm over the vocabulary of the gradient of the target's logit with respect to the one-hot word.

    ||g E^T||_2, computed as sqrt(g (E^T E) g^T): the vocabulary is summed once, not per token. The paper explains the
    gold class.
    """

    facts = Facts(signed=False, needs=("gradients",), machinery=("gradient",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        gradient, _ = gradient_of(model, batch, target, max_bytes=self.max_bytes)
        table = model.embedding.weight.detach()
        squared = torch.einsum("btd,de,bte->bt", gradient, table.T @ table, gradient)
        return squared.clamp(min=0).sqrt() * batch.mask


@dataclass(frozen=True)
class IntegratedGradientsMadsen2022(Explainer):
    """|e . mean of s f'(s e)| over s = 1/k ... 1: what the code of Madsen et al. 2022 computes.

    Their gradient is taken at the unscaled embedding, so that each step carries its own scale as an extra factor; the
    scores do not sum to the difference of outputs. The paper explains the gold class.
    """

    facts = Facts(signed=False, needs=("gradients",), machinery=("path", "rescale"))

    n_steps: int = 50
    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        embeddings = model.embed(batch).detach()
        share = torch.arange(1, self.n_steps + 1, device=embeddings.device).to(embeddings.dtype) / self.n_steps

        def along(row: Tensor, point: Tensor, width: int) -> Tensor:
            return share[point][:, None, None] * embeddings[row, :width]

        weights = share / self.n_steps
        gradient = average_gradient(model, batch, target, along, weights, embeddings, max_bytes=self.max_bytes)
        return (gradient * embeddings).sum(dim=-1).abs() * batch.mask
