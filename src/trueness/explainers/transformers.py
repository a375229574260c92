"""Explanations from the attention of all layers of a transformer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.data.batches import Batch
from trueness.errors import Unsupported
from trueness.explainers.contract import TEXT_EXPLAINERS, Explainer, Facts, Target
from trueness.explainers.text import target_class
from trueness.models.inspecting import inspecting
from trueness.models.network import TextNetwork
from trueness.models.transformer import Transformer


def need_transformer(model: TextNetwork, name: str) -> Transformer:
    """The model as a transformer, or a refusal that names the explainer."""
    if not isinstance(model, Transformer):
        raise Unsupported(f"{name} needs the layers of a transformer; this model has one attention.")
    return model


@dataclass(frozen=True)
class LayerAttention(Explainer):
    """The first token's attention in one layer, of one head or averaged over heads, counted from 1; not negative."""

    facts = Facts(signed=False, needs=("layers",), machinery=("attention",))

    layer: int
    head: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        """(batch, tokens)."""
        name = f"attention[{self.layer}]" if self.head is None else f"attention[{self.layer},{self.head}]"
        network = need_transformer(model, name)
        with inspecting(network):
            _, layers = network.attentions(batch)
        if not 1 <= self.layer <= len(layers):
            raise Unsupported(f"{name}: the model has layers 1 to {len(layers)}.")
        row = layers[self.layer - 1][:, :, 0]
        if self.head is not None and not 1 <= self.head <= row.shape[1]:
            raise Unsupported(f"{name}: the model has heads 1 to {row.shape[1]}.")
        return (row.mean(dim=1) if self.head is None else row[:, self.head - 1]) * batch.mask


@dataclass(frozen=True)
class AttentionRollout(Explainer):
    """How much of the first token's last state comes from each input token, if states mix as attention says.

    Every layer mixes by half its attention (averaged over heads) and half the token itself (Abnar and Zuidema 2020).
    Not negative, the same for every target. Only the first token's row is needed: a vector times a matrix per layer.
    """

    facts = Facts(signed=False, needs=("layers",), machinery=("attention",))

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        """(batch, tokens)."""
        network = need_transformer(model, "attention-rollout")
        with inspecting(network):
            _, layers = network.attentions(batch)
            row = torch.zeros_like(layers[0][:, 0, 0])
            row[:, 0] = 1
            for attention in reversed(layers):
                row = (torch.einsum("bt,btu->bu", row, attention.mean(dim=1)) + row) / 2
            return row * batch.mask


@dataclass(frozen=True)
class GradientXAttention(Explainer):
    """Attention of the last layer's first token times the gradient of the target's logit there, averaged over heads.

    Signed: unlike attention alone it depends on the target.
    """

    facts = Facts(needs=("gradients", "layers"), machinery=("attention",))

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        """(batch, tokens)."""
        network = need_transformer(model, "gradient-x-attention")
        with inspecting(network, gradients=True):
            # Weights that are frozen for some other use do not matter: the embeddings carry the gradient.
            embeddings = network.embed(batch).detach().requires_grad_()
            logits, layers = network.attentions(batch, embeddings=embeddings)
            chosen = target_class(logits.detach(), batch, target)
            (gradient,) = torch.autograd.grad(logits.gather(1, chosen[:, None]).sum(), layers[-1])
            scores: Tensor = (gradient * layers[-1]).detach()[:, :, 0].mean(dim=1)
            return scores * batch.mask


TEXT_EXPLAINERS.add("attention-rollout", AttentionRollout(), "attention multiplied through a transformer's layers")
TEXT_EXPLAINERS.add("gradient-x-attention", GradientXAttention(), "a transformer's last attention times its gradient")
TEXT_EXPLAINERS.add_family(
    r"attention\[(\d+)(?:,(\d+))?\]",
    lambda layer, head: LayerAttention(int(layer), None if head is None else int(head)),
    LayerAttention,
    lambda one: f"attention[{one.layer}]" if one.head is None else f"attention[{one.layer},{one.head}]",
)
