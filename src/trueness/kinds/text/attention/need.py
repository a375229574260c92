"""Does the output need the attention that is shown as its reason? Made uniform, permuted, replaced by an adversary."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch

from trueness.explainers.contract import Explainer
from trueness.kinds.text.attention.ascent import best_adversary
from trueness.kinds.text.attention.permutation import sampled_median
from trueness.kinds.text.attention.view import AttentionView
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models.attentive import AttentiveClassifier
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.transformer import Transformer, UniformAttention
from trueness.models.network import inspecting
from trueness.stats.differentiable import total_variation
from trueness.stats.undefined import Floats

EPSILON = 0.01
"""An adversary changes the output no more than this."""


def shows_attention(explainer: Explainer) -> bool:
    """Whether what it shows is attention alone, not also what the output does with it."""
    return explainer.facts.machinery == ("attention",) and "gradients" not in explainer.facts.needs


def layers_shown(explainer: Explainer, network: Transformer) -> list[int]:
    """The layers, from 0, whose attention an explainer shows."""
    number = int(network.model.config.num_hidden_layers)
    if "attention" in explainer.facts.needs:
        return [number - 1]
    layer = getattr(explainer, "layer", None)
    return list(range(number)) if layer is None else [layer - 1]


def change_when_uniform(network: Transformer, split: EncodedSplit, layers: Collection[int]) -> Floats:
    """(texts,) total variation of the output when the attention of some layers is made equal for all tokens: [0, 1]."""
    found = np.zeros(len(split))
    with inspecting(network):
        for rows, batch in split.in_order(1 << 13):
            own = network(batch).logits.double().softmax(dim=-1)
            with UniformAttention(layers):
                flat = network(batch).logits.double().softmax(dim=-1)
            found[rows] = total_variation(own, flat).cpu().numpy()
    return found


def needs_attention(model: Classifier, examples: Sequence[TextExample]) -> dict[str, Any]:
    """Of a model with one attention, (texts,) each: what permuting its weights changes, and what an adversary reaches.

    `permuted` is the median total variation of the output, `divergence` that of the most different attention with the
    same output: the largest there is for two classes (`exact`), otherwise one that was found.
    """
    network = model.network
    if not isinstance(network, AttentiveClassifier):
        raise TypeError("the model has no attention of its own")
    split = EncodedSplit(examples, model.coder, model.device)
    change, divergence = np.zeros(len(split)), np.zeros(len(split))
    exact = True
    with inspecting(network), torch.no_grad():
        for rows, batch in split.in_order(1 << 13):
            view = AttentionView(network, batch)
            change[rows] = sampled_median(view).cpu().numpy()
            found = best_adversary(view, EPSILON)
            exact &= bool(found.exact)
            divergence[rows] = found.divergence.cpu().numpy()
    return {"permuted": change, "divergence": divergence, "exact": exact}
