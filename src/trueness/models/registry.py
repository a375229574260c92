"""The names of models."""

from __future__ import annotations

from typing import Protocol

from trueness.data.vectors import Vectors
from trueness.models.linear import LinearModel
from trueness.registry import Registry


class VectorTrainer(Protocol):
    """Trains a classifier of vectors."""

    def __call__(self, examples: Vectors, /) -> LinearModel:
        """Train on the examples."""
        ...


VECTOR_MODELS: Registry[VectorTrainer] = Registry("model")
