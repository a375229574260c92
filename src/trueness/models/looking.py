"""Looking at a model without changing it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from trueness.models.network import TextNetwork


@contextlib.contextmanager
def looking(model: TextNetwork, *, gradients: bool = False) -> Iterator[None]:
    """Look at a model with or without gradients; its mode is restored, also after an exception.

    cuDNN differentiates recurrent layers in training mode only; our recurrent models have no dropout, so that nothing
    else changes. A transformer has, and is always looked at in evaluation mode.
    """
    was_training = model.training
    model.train(gradients and model.recurrent)
    try:
        with torch.set_grad_enabled(gradients):
            yield
    finally:
        model.train(was_training)
