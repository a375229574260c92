"""What computing explanations of text takes: the target's output, memory, and random draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from trueness.errors import UserError
from trueness.explainers.contract import Target
from trueness.kinds.text.data.batches import Batch
from trueness.models.network import TextNetwork, inspecting
from trueness.models.packing import logits_of

Output = Literal["probability", "logit"]
"""What of that class is explained."""


def target_class(logits: Tensor, batch: Batch, target: Target) -> Tensor:
    """(batch,) class numbers."""
    if target == "predicted":
        return logits.argmax(dim=-1)
    if target == "gold":
        return batch.labels
    if not isinstance(target, int) or not 0 <= target < logits.shape[-1]:
        raise UserError(
            f"The target must be predicted, gold or a class from 0 to {logits.shape[-1] - 1}, not {target!r}."
        )
    return torch.full((len(batch),), target, device=logits.device)


def chosen_class(model: TextNetwork, batch: Batch, target: Target) -> Tensor:
    """(batch,) the class that is explained."""
    if target != "predicted":
        return target_class(batch.labels.new_empty(len(batch), model.classes), batch, target)
    with inspecting(model):
        return target_class(logits_of(model, batch), batch, target)


def output_of(logits: Tensor, chosen: Tensor, output: Output) -> Tensor:
    """(batch,) the chosen class's logit or probability."""
    values = logits if output == "logit" else logits.softmax(dim=-1)
    return values.gather(1, chosen[:, None])[:, 0]


def generator_of(batch: Batch, seed: int) -> Iterator[tuple[int, torch.Generator]]:
    """For each text its length and a random generator fixed by the seed and its tokens: company changes nothing."""
    for tokens, length in zip(batch.tokens.tolist(), batch.text.lengths.tolist(), strict=True):
        # Python's hashes of -1 and -2 are one; of large numbers they are the rest by 2**61 - 1.
        yield length, torch.Generator().manual_seed(hash((seed % 2**60, *tokens[:length])) % 2**63)
