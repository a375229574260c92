"""What the tokens of an answer attended to when each was predicted."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.kinds.prompt.data.batches import PromptBatch
from trueness.kinds.prompt.models.network import PromptNetwork
from trueness.models.network import inspecting


def _network(model: object, name: str) -> PromptNetwork:
    if not isinstance(model, PromptNetwork):
        raise Unsupported(f"{name} needs attention; this model is a function that can only be called.")
    return model


class _FromAttention(Explainer):
    """One score per token that is read, summed over the tokens of each unit."""

    def per_token(self, model: PromptNetwork, one: PromptBatch) -> Tensor:
        """(tokens that are read,) of one prompt."""
        raise NotImplementedError

    def attribute(self, model: PromptNetwork, batch: PromptBatch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        network = _network(model, type(self).__name__)
        found = torch.zeros(batch.tokens.shape, dtype=network.dtype, device=batch.tokens.device)
        with inspecting(network):
            for row, one in enumerate(batch.alone()):
                kept = one.kept[0].nonzero()[:, 0]
                found[row, kept] = self.per_token(network, one)[: len(kept)].to(found)
        return network.to_units(found, batch)


@dataclass(frozen=True)
class Attention(_FromAttention):
    """Attention from where each token of the answer is predicted, averaged over these: not negative.

    The mean over all layers and heads, or of one layer, counted from 1, -1 being the last; of one head of it.
    """

    facts = Facts(signed=False, machinery=("attention",))

    layer: int | None = None
    head: int | None = None

    def per_token(self, model: PromptNetwork, one: PromptBatch) -> Tensor:
        weights = model.attention(one)
        weights = weights[:, :, torch.tensor(one.coded[0].scored[0], device=weights.device)]
        if self.layer is not None:
            weights = _of(weights, 0, self.layer, "layer")
        if self.head is not None:
            weights = _of(weights, 1, self.head, "head")
        return weights.mean(dim=(0, 1, 2))


def _of(weights: Tensor, axis: int, number: int, what: str) -> Tensor:
    count = weights.shape[axis]
    if not (1 <= number <= count or number == -1):
        raise Unsupported(f"The model has {what}s 1 to {count}, and no {what} {number}.")
    return weights.narrow(axis, count - 1 if number == -1 else number - 1, 1)


@dataclass(frozen=True)
class AttentionRollout(_FromAttention):
    """How much of the states that predict the answer comes from each token, if states mix as attention says.

    Every layer mixes by half its attention, averaged over heads, and half the token itself (Abnar and Zuidema 2020).
    """

    facts = Facts(signed=False, machinery=("attention",))

    def per_token(self, model: PromptNetwork, one: PromptBatch) -> Tensor:
        layers, scored = model.all_attention(one), one.coded[0].scored[0]
        row = torch.zeros_like(layers[0, 0])
        first = layers.shape[-1] - len(scored)
        counted = torch.tensor(scored, device=row.device)
        row[first:] = counted.to(row) / counted.sum()
        for attention in layers.flip(0):
            row = (row @ attention + row) / 2
        return row
