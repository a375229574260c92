"""The trial that only text models with attention have: is the attention needed that is shown as a reason?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueness.explainers.contract import Explainer
from trueness.kinds.contract import Finding, KindTrial

NEEDED = 0.05
"""Total variation of the output without the attention."""
UNIQUE = 0.5
"""Of the texts: those in which no clearly different attention gives the same output."""
DIFFERENT = 0.5 * math.log(2)
"""Divergence of two attentions that clearly differ: half of the largest there is."""


def measure(model: Any, examples: Any, explainer: Explainer) -> tuple[Sequence[Finding], Sequence[str]]:
    """Of an explainer that shows attention alone; nothing of others."""
    from trueness.kinds.text.attention.need import change_when_uniform, layers_shown, needs_attention, shows_attention
    from trueness.kinds.text.models.attentive import AttentiveClassifier
    from trueness.kinds.text.models.transformer import Transformer

    network = model.network
    if not shows_attention(explainer):
        return (), ()
    if isinstance(network, Transformer):
        split, number = model.coded(examples), int(network.model.config.num_hidden_layers)
        values = change_when_uniform(network, split, layers_shown(explainer, network))
        each = [float(np.mean(change_when_uniform(network, split, [layer]))) for layer in range(number)]
        about = "change of the output when the attention that is shown is made equal for all words"
        shown = ", ".join(f"{value:.2f}" for value in each)
        note = f"The output changes when one layer's attention is made uniform by (first to last layer) {shown}."
        return [Finding("made uniform", about, values, NEEDED)], [note]
    if isinstance(network, AttentiveClassifier) and network.attends == "one":
        found = needs_attention(model, examples)
        about = "change of the output when the weights are dealt out to other words"
        unique = "share of the texts in which no clearly different attention gives the same output"
        alone = DIFFERENT - found["divergence"]
        note = "With more than two classes the other attention is one that was found; there may be stronger ones."
        return [
            Finding("permuted", about, found["permuted"], NEEDED),
            Finding("no other attention does", unique, alone, UNIQUE, shares=True),
        ], ([] if found["exact"] else [note])
    return (), ()


ATTENTION = KindTrial(
    "attention matters",
    "Does the output need this attention?",
    "The audit moves the model's attention, the weights with which it reads the words, and looks at its output. "
    "Where the output stays as it was, attention cannot be the reason for it.",
    (
        "Jain and Wallace (2019): Attention is not Explanation. NAACL. arXiv 1902.10186.",
        "Wiegreffe and Pinter (2019): Attention is not not Explanation. EMNLP. arXiv 1908.04626.",
    ),
    measure,
)
TRIALS = (ATTENTION,)
