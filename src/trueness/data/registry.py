"""The names of generated datasets."""

from __future__ import annotations

from typing import Protocol

from trueness.data.vectors import VectorDataset
from trueness.registry import Registry


class VectorGenerator(Protocol):
    """Draws a dataset of vectors from a seed; sizes are options."""

    def __call__(
        self, seed: int, /, *, features: int = ..., informative: int = ..., train: int = ..., test: int = ...
    ) -> VectorDataset:
        """Draw the dataset."""
        ...


VECTOR_DATASETS: Registry[VectorGenerator] = Registry("dataset")
