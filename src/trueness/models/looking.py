"""Looking at a model without changing it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from trueness.models.attentive import AttentiveClassifier


@contextlib.contextmanager
def looking(model: AttentiveClassifier, *, gradients: bool = False) -> Iterator[None]:
    """Look at a model with or without gradients; its mode is restored, also after an exception.

    cuDNN differentiates recurrent layers in training mode only; the models have no dropout, so nothing else changes.
    """
    was_training = model.training
    model.train(gradients)
    try:
        with torch.set_grad_enabled(gradients):
            yield
    finally:
        model.train(was_training)
