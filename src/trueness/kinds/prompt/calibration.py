"""Label words without the bias of a model: what it says of texts that say nothing is taken off (Zhao et al. 2021).

A language model likes some words more than others, whatever it reads. Their log-likelihoods after texts without content
are subtracted from those after every text. Where one label still takes nearly all texts, there is nothing to explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueness.errors import UserError
from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples

EMPTY = ("N/A", "[MASK]", "...")
"""Texts without content."""
MOST = 0.95
"""The share of the texts that one label may take."""
_LEAST = 20
_MOST_ASKED = 200
"""Texts by which a bias is told: at least, and at most."""


def calibrate(model: Any) -> None:
    """Take off the logits of a model's label words what they are after texts without content."""
    import torch

    from trueness.models.network import inspecting

    network = model.network
    network.offset = None
    split = model.coded(PromptExamples(PromptExample(text) for text in EMPTY))
    with inspecting(network):
        said = network.logits(split.batch(np.arange(len(EMPTY)))).double().log_softmax(dim=-1)
    offset = said.mean(dim=0)
    network.offset = (offset - offset.mean()).to(device=network.device, dtype=torch.float32)


def check_bias(model: Any, examples: Sequence[PromptExample]) -> list[str]:
    """How the calibrated model's labels fall, as a note; UserError where one label takes nearly all texts."""
    from trueness.models.network import inspecting

    examples = examples[:_MOST_ASKED]
    split, found = model.coded(examples), np.zeros(len(examples), dtype=np.intp)
    with inspecting(model.network):
        for rows, batch in split.in_order():
            found[rows] = model.network.logits(batch).argmax(dim=-1).cpu().numpy()
    counts = np.bincount(found, minlength=len(model.classes))
    most = int(counts.argmax())
    if len(examples) >= _LEAST and counts[most] > MOST * len(examples):
        raise UserError(
            f"The model says {model.classes[most]!r} of {counts[most]} of {len(examples)} texts, also when it is "
            "calibrated: its bias decides, and not the text. Put examples into the prompt, or take other label words."
        )
    shares = ", ".join(f"{name} {count}" for name, count in zip(model.classes, counts.tolist(), strict=True))
    return [f"label words, calibrated on texts without content: {shares}"]
