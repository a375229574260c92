"""What is explained: the logit or the probability of one class of each example."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.errors import UserError
from trueness.explainers.contract import Target
from trueness.models.network import Network, inspecting
from trueness.models.packing import logits_of

Output = Literal["probability", "logit"]
"""What of that class is explained."""


def target_class(logits: Tensor, batch: Batch, target: Target) -> Tensor:
    """(examples,) class numbers."""
    if target == "predicted":
        return logits.argmax(dim=-1)
    if target == "gold":
        return batch.labels
    if not isinstance(target, int) or not 0 <= target < logits.shape[-1]:
        raise UserError(
            f"The target must be predicted, gold or a class from 0 to {logits.shape[-1] - 1}, not {target!r}."
        )
    return torch.full((len(batch),), target, device=logits.device)


def chosen_class(model: Network, batch: Batch, target: Target) -> Tensor:
    """(examples,) the class that is explained."""
    if target != "predicted":
        return target_class(batch.labels.new_empty(len(batch), model.classes), batch, target)
    with inspecting(model):
        return target_class(logits_of(model, batch), batch, target)


def output_of(logits: Tensor, chosen: Tensor, output: Output) -> Tensor:
    """(examples,) the chosen class's logit or probability."""
    values = logits if output == "logit" else logits.softmax(dim=-1)
    return values.gather(1, chosen[:, None])[:, 0]
