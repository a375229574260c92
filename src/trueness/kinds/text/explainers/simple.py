"""Explanations of texts that need no computation: attention, what a rationale model selected, and word numbers."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.models.network import TextNetwork
from trueness.kinds.text.models.rationale import RationaleClassifier
from trueness.models.network import inspecting
from trueness.models.packing import per_unit


@dataclass(frozen=True)
class Attention(Explainer):
    """The model's own attention weights: not negative, the same for every target."""

    facts = Facts(signed=False, needs=("attention",), machinery=("attention",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        def work(_: Tensor, texts: Batch) -> Tensor:
            attention: Tensor = model(texts).attention
            return attention

        with inspecting(model):
            return per_unit(model, batch, work, max_bytes=self.max_bytes, weights=True)


@dataclass(frozen=True)
class TokenNumber(Explainer):
    """The number of each token in the vocabulary: known without any model.

    A foil: whatever trial it passes does not ask about the model.
    """

    facts = Facts(signed=False)

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        return batch.tokens.to(model.embedding.weight.dtype) * batch.mask


@dataclass(frozen=True)
class Rationale(Explainer):
    """What a rationale model selected: 1 for words that its classifier saw, 0 for the others."""

    facts = Facts(signed=False, needs=("selection",))

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        if not isinstance(model, RationaleClassifier):
            raise Unsupported("rationale needs a rationale model; this one selects nothing.")
        with inspecting(model):
            selected: Tensor = model(batch).attention
        return selected
