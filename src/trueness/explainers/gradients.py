"""The gradient of a class at what the network reads: its size, and times the way from a blank example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.outputs import Output, output_of, target_class
from trueness.models.network import Network, inspecting
from trueness.models.packing import every_example, in_batches

Logits = Callable[[Tensor, Any], Tensor]
"""(examples, classes) from values and the examples that they are of."""


def gradient_of(
    model: Network,
    batch: Batch,
    target: Target,
    *,
    output: Output = "logit",
    logits_of: Logits | None = None,
    max_bytes: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The gradient of the target's output at the values, and the values: both (examples, units, size).

    `logits_of` takes the place of the model's own logits, for methods that hold a part of it constant.
    """
    values = model.values(batch).detach()
    gradient = torch.zeros_like(values)

    def work(numbers: Tensor, examples: Any) -> Tensor:
        given = values[numbers, : examples.width].requires_grad_()
        logits = model.logits(examples, values=given) if logits_of is None else logits_of(given, examples)
        chosen = target_class(logits.detach(), examples, target)
        # Examples do not interact, so one backward pass gives every example its own gradient.
        return torch.autograd.grad(output_of(logits, chosen, output).sum(), given)[0]

    with inspecting(model, gradients=True):
        every = every_example(batch)
        for numbers, found in in_batches(model, batch, every, work, max_bytes=max_bytes, gradients=True):
            gradient[numbers, : found.shape[1]] = found
    return gradient, values


def ends(model: Network, batch: Batch, baseline: str) -> tuple[Tensor, Tensor]:
    """The values, and those of the baseline: what is not explained stays as it is."""
    values = model.values(batch).detach()
    return values, torch.where(batch.finest().mask[..., None], model.blank(batch, baseline), values)


@dataclass(frozen=True)
class Gradient(Explainer):
    """The size of the gradient of the target's logit: not negative.

    Of a token it is the L2 norm over the embedding, of a pixel the sum of the magnitudes of its colours.
    """

    facts = Facts(signed=False, needs=("gradients",), machinery=("gradient",))

    max_bytes: int | None = None

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        gradient, _ = gradient_of(model, batch, target, max_bytes=self.max_bytes)
        return model.to_units(model.size_of(gradient), batch)


@dataclass(frozen=True)
class InputXGradient(Explainer):
    """Gradient of the target's logit times the way from a blank example: signed."""

    facts = Facts(needs=("gradients",), machinery=("gradient", "path", "rescale"))

    max_bytes: int | None = None

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        gradient, values = gradient_of(model, batch, target, max_bytes=self.max_bytes)
        return model.to_units((gradient * (values - model.blank(batch, "zero"))).sum(dim=-1), batch)
