"""Explainers as the code of Jain and Wallace (2019) computes them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.gradients import gradient_of
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
