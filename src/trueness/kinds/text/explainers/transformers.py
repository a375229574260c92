"""Explanations from the attention of all layers of a transformer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.outputs import target_class
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.explainers.flow import Floats, attention_flow
from trueness.kinds.text.models.network import TextNetwork
from trueness.kinds.text.models.transformer import Transformer
from trueness.models.network import inspecting
from trueness.models.packing import per_unit


def _transformer(model: TextNetwork, name: str) -> Transformer:
    """The model as a transformer, or a refusal that names the explainer."""
    if not isinstance(model, Transformer):
        raise Unsupported(f"{name} needs the layers of a transformer; this model has one attention.")
    return model


def _from_layers(
    model: TextNetwork, batch: Batch, name: str, read: Callable[[tuple[Tensor, ...]], Tensor], max_bytes: int | None
) -> Tensor:
    """(batch, tokens): what `read` says to (texts, heads, tokens, tokens) of every layer, some texts at a time."""
    network = _transformer(model, name)

    def work(_: Tensor, texts: Batch) -> Tensor:
        return read(network.attentions(texts)[1])

    with inspecting(network):
        return per_unit(network, batch, work, max_bytes=max_bytes, weights=True) * batch.mask


@dataclass(frozen=True)
class LayerAttention(Explainer):
    """The first token's attention in one layer, of one head or averaged over heads, counted from 1; not negative."""

    facts = Facts(signed=False, needs=("layers",), machinery=("attention",))

    layer: int
    head: int | None = None
    max_bytes: int | None = None

    @property
    def name(self) -> str:
        """By which it is found."""
        return f"attention[{self.layer}]" if self.head is None else f"attention[{self.layer},{self.head}]"

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        return _from_layers(model, batch, self.name, self._read, self.max_bytes)

    def _read(self, layers: tuple[Tensor, ...]) -> Tensor:
        if not 1 <= self.layer <= len(layers):
            raise Unsupported(f"{self.name}: the model has layers 1 to {len(layers)}.")
        row = layers[self.layer - 1][:, :, 0]
        if self.head is not None and not 1 <= self.head <= row.shape[1]:
            raise Unsupported(f"{self.name}: the model has heads 1 to {row.shape[1]}.")
        return row.mean(dim=1) if self.head is None else row[:, self.head - 1]


@dataclass(frozen=True)
class AttentionRollout(Explainer):
    """How much of the first token's last state comes from each input token, if states mix as attention says.

    Every layer mixes by half its attention (averaged over heads) and half the token itself (Abnar and Zuidema 2020).
    Not negative, the same for every target. Only the first token's row is needed: a vector times a matrix per layer.
    """

    facts = Facts(signed=False, needs=("layers",), machinery=("attention",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        return _from_layers(model, batch, "attention-rollout", _rolled, self.max_bytes)


def _rolled(layers: tuple[Tensor, ...]) -> Tensor:
    """(texts, tokens) the first token's row of the product of all layers."""
    row = torch.zeros_like(layers[0][:, 0, 0])
    row[:, 0] = 1
    for attention in reversed(layers):
        row = (torch.einsum("bt,btu->bu", row, attention.mean(dim=1)) + row) / 2
    return row


@dataclass(frozen=True)
class GradientXAttention(Explainer):
    """Attention of the last layer's first token times the gradient of the target's logit there, averaged over heads.

    Signed: unlike attention alone it depends on the target.
    """

    facts = Facts(needs=("gradients", "layers"), machinery=("attention",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        network = _transformer(model, "gradient-x-attention")

        def work(_: Tensor, texts: Batch) -> Tensor:
            # Weights that are frozen for some other use do not matter: the embeddings carry the gradient.
            embeddings = network.embed(texts).detach().requires_grad_()
            logits, layers = network.attentions(texts, embeddings=embeddings)
            chosen = target_class(logits.detach(), texts, target)
            (gradient,) = torch.autograd.grad(logits.gather(1, chosen[:, None]).sum(), layers[-1])
            return (gradient * layers[-1]).detach()[:, :, 0].mean(dim=1)

        with inspecting(network, gradients=True):
            scores = per_unit(network, batch, work, max_bytes=self.max_bytes, gradients=True, weights=True)
        return scores * batch.mask


@dataclass(frozen=True)
class AttentionFlow(Explainer):
    """The largest flow through a transformer's attention to each token: not negative, the same for every target.

    Every layer is half its attention (averaged over heads) and half the token itself. In deep models the flow is often
    no more than what the first layer lets through; `saturation` tells for how many tokens.
    """

    facts = Facts(signed=False, slow=True, needs=("layers",), machinery=("attention",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        scores = torch.zeros(batch.mask.shape, dtype=torch.float64)
        for row, layers in enumerate(self._graphs(model, batch)):
            scores[row, : layers.shape[1]] = torch.from_numpy(attention_flow(layers))
        return scores.to(batch.tokens.device, model.embedding.weight.dtype) * batch.mask

    def checks(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:  # noqa: ARG002
        """How much of it is the first layer's attention."""
        return {"saturation": self.saturation(model, batch)}

    def saturation(self, model: TextNetwork, batch: Batch) -> Tensor:
        """(batch,) share of the tokens whose flow is all that the first layer (or the source) lets through: no news."""
        shares = []
        for layers in self._graphs(model, batch):
            most = np.minimum(layers[0].sum(axis=0), 1.0)
            shares.append(float(np.isclose(attention_flow(layers), most, atol=1e-6).mean()))
        return torch.tensor(shares)

    def _graphs(self, model: TextNetwork, batch: Batch) -> Iterator[Floats]:
        network = _transformer(model, "attention-flow")
        for text in batch.alone():
            # One at a time: what is held is one text's attention, and its flow takes far longer.
            with inspecting(network):
                layers = network.attentions(text)[1]
            inside = np.stack([attention[0].mean(dim=0).double().cpu().numpy() for attention in layers])
            yield (inside + np.eye(text.width)) / 2
