"""Explainers of texts as papers computed them, where that is not the method of the plain name."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.gradients import ends, gradient_of
from trueness.explainers.masked_copies import Lime
from trueness.explainers.paths import average_gradient
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut
from trueness.kinds.text.models.attentive import AttentiveClassifier
from trueness.kinds.text.models.network import TextNetwork


@dataclass(frozen=True)
class GradientJW2019(Explainer):
    """|g . e| of the target's probability with attention held constant (Jain and Wallace 2019, their code).

    It is the gradient with respect to the one-hot word at its own entry. Of two classes both give the same.
    """

    facts = Facts(signed=False, needs=("gradients", "attention"), machinery=("gradient",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        def held(embeddings: Tensor, texts: Batch) -> Tensor:
            if not isinstance(model, AttentiveClassifier):
                raise Unsupported(
                    "gradient@jw2019 holds the one attention of a model constant; a transformer has many."
                )
            auxiliary = model.auxiliary(texts)
            states = model.encode(embeddings, texts)
            weights = model.attend(states, texts, auxiliary=auxiliary)
            return model.decode(states, weights.detach(), texts, auxiliary=auxiliary)

        gradient, embeddings = gradient_of(
            model, batch, target, output="probability", logits_of=held, max_bytes=self.max_bytes
        )
        return (gradient * embeddings).sum(dim=-1).abs() * batch.mask


class LeaveOneOutJW2019(LeaveOneOut):
    """Total variation when a token is left out (Jain and Wallace 2019): not negative, the same for every target."""

    facts = Facts(signed=False)

    def measure(self, change: Tensor, chosen: Tensor) -> Tensor:  # noqa: ARG002  # all classes alike
        return change.abs().sum(dim=-1) / 2


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
