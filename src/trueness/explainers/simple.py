"""Explanations that need no computation: attention itself, what a rationale model selected, chance, and blur."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.text import generator_of
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.models.rationale import RationaleClassifier
from trueness.models.network import TextNetwork, inspecting
from trueness.models.packing import per_token

_KERNEL = (1.0, 4.0, 6.0, 4.0, 1.0)


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
            return per_token(model, batch, work, max_bytes=self.max_bytes, weights=True)


@dataclass(frozen=True)
class Random(Explainer):
    """Uniform scores in [-1, 1], from a seed and the tokens: what knows nothing of the model.

    A text gets the same scores in any batch, so that masks made from them are nested and comparisons are paired.
    """

    facts = Facts(random=True)

    seed: int = 0

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        width = batch.tokens.shape[1]
        rows = [torch.rand(width, generator=generator) * 2 - 1 for _, generator in generator_of(batch, self.seed)]
        return torch.stack(rows).to(batch.tokens.device) * batch.mask


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


@dataclass(frozen=True)
class Blurred(Explainer):
    """Weighted means (1, 4, 6, 4, 1) of the magnitudes of a token and its neighbours, as far as there are any.

    A foil: it points less exactly than the explainer it is made from.
    """

    facts = Facts(signed=False)

    sharp: Explainer

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        size = self.sharp.attribute(model, batch, target).abs()
        kernel = torch.tensor([[_KERNEL]], dtype=size.dtype, device=size.device)
        both = torch.stack([size * batch.mask, batch.mask.to(size.dtype)])[:, :, None]  # the sums, and their weights
        sums, weights = (torch.nn.functional.conv1d(one, kernel, padding=len(_KERNEL) // 2)[:, 0] for one in both)
        return torch.where(batch.mask, sums / weights.clamp(min=1e-9), 0.0)
