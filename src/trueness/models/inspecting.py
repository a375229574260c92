"""Looking at a model without changing it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from trueness.models.network import TextNetwork


@contextlib.contextmanager
def inspecting(model: TextNetwork, *, gradients: bool = False) -> Iterator[None]:
    """Look at a model with or without gradients, never of its parameters; all is restored, also after an exception.

    cuDNN differentiates recurrent layers in training mode only; our recurrent models have no dropout, so that nothing
    else changes. A transformer has, and is always looked at in evaluation mode.
    """
    was_training = model.training
    learned = [parameter for parameter in model.parameters() if gradients and parameter.requires_grad]
    model.train(gradients and model.recurrent)
    for parameter in learned:
        parameter.requires_grad = False
    try:
        with torch.set_grad_enabled(gradients):
            yield
    finally:
        model.train(was_training)
        for parameter in learned:
            parameter.requires_grad = True
