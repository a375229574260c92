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

TEXT_MODELS: Registry[tuple[str, str]] = Registry("model")
"""Encoder and attention of each attentive classifier."""

_ENCODERS = {"bilstm": "bidirectional LSTM", "cnn": "convolutions", "average": "projection of each token on its own"}
_ATTENTIONS = {
    "additive": "additive attention",
    "dot": "scaled dot-product attention",
    "uniform": "uniform weights",
    "frozen": "weights given from outside",
}
for _encoder, _what in _ENCODERS.items():
    for _attention, _how in _ATTENTIONS.items():
        TEXT_MODELS.add(f"{_encoder}-{_attention}", (_encoder, _attention), f"text classifier: {_what}, {_how}")
