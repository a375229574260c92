"""Gradients at the embeddings, in the papers' meanings, named apart."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.text import Output, output_of, target_class
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.models.attentive import AttentiveClassifier
from trueness.models.network import TextNetwork, inspecting
from trueness.models.packing import every_text, in_batches


def embedding_gradient(
    model: TextNetwork,
    batch: Batch,
    target: Target,
    *,
    output: Output = "logit",
    hold_attention: bool = False,
    max_bytes: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The gradient of the target's output at the embeddings, and the embeddings: both (batch, tokens, embedding).

    With `hold_attention` the weights are constants, so that influence through attention is left out.
    """
    embeddings = model.embed(batch).detach()
    gradient = torch.zeros_like(embeddings)

    def work(places: Tensor, texts: Batch) -> Tensor:
        given = embeddings[places, : texts.tokens.shape[1]].requires_grad_()
        logits = _held(model, given, texts) if hold_attention else model.logits(texts, embeddings=given)
        chosen = target_class(logits.detach(), texts, target)
        # Examples do not interact, so one backward pass gives every example its own gradient.
        return torch.autograd.grad(output_of(logits, chosen, output).sum(), given)[0]

    with inspecting(model, gradients=True):
        every = every_text(batch)
        for places, found in in_batches(model, batch, every, work, max_bytes=max_bytes, gradients=True):
            gradient[places, : found.shape[1]] = found
    return gradient, embeddings


def _held(model: TextNetwork, embeddings: Tensor, batch: Batch) -> Tensor:
    """Logits whose attention weights are constants."""
    if not isinstance(model, AttentiveClassifier):
        raise Unsupported("gradient@jw2019 holds the one attention of a model constant; a transformer has many.")
    auxiliary = model.auxiliary(batch)
    states = model.encode(embeddings, batch)
    weights = model.attend(states, batch, auxiliary=auxiliary)
    return model.decode(states, weights.detach(), batch, auxiliary=auxiliary)


@dataclass(frozen=True)
class Gradient(Explainer):
    """L2 norm over embedding dimensions of the gradient of the target's logit: not negative."""

    facts = Facts(signed=False, needs=("gradients",), machinery=("gradient",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        gradient, _ = embedding_gradient(model, batch, target, max_bytes=self.max_bytes)
        return (gradient * gradient).sum(dim=-1).sqrt() * batch.mask


@dataclass(frozen=True)
class InputXGradient(Explainer):
    """Gradient of the target's logit times the embedding, summed over dimensions: signed."""

    facts = Facts(needs=("gradients",), machinery=("gradient", "path", "rescale"))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        gradient, embeddings = embedding_gradient(model, batch, target, max_bytes=self.max_bytes)
        return (gradient * embeddings).sum(dim=-1) * batch.mask


@dataclass(frozen=True)
class GradientJW2019(Explainer):
    """|g . e| of the target's probability with attention held constant (Jain and Wallace 2019, their code).

    It is the gradient with respect to the one-hot word at its own entry. Of two classes both give the same.
    """

    facts = Facts(signed=False, needs=("gradients", "attention"), machinery=("gradient",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        gradient, embeddings = embedding_gradient(
            model, batch, target, output="probability", hold_attention=True, max_bytes=self.max_bytes
        )
        return (gradient * embeddings).sum(dim=-1).abs() * batch.mask


@dataclass(frozen=True)
class GradientMadsen2022(Explainer):
    """L2 norm over the vocabulary of the gradient of the target's logit with respect to the one-hot word.

    ||g E^T||_2, computed as sqrt(g (E^T E) g^T): the vocabulary is summed once, not per token. The paper explains the
    gold class.
    """

    facts = Facts(signed=False, needs=("gradients",), machinery=("gradient",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        gradient, _ = embedding_gradient(model, batch, target, max_bytes=self.max_bytes)
        table = model.embedding.weight.detach()
        squared = torch.einsum("btd,de,bte->bt", gradient, table.T @ table, gradient)
        return squared.clamp(min=0).sqrt() * batch.mask
