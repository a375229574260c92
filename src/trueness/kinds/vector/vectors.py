"""Vectors: rows of numbers, each a feature, with a class; and datasets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trueness.data.arrays import ArrayExamples
from trueness.data.dataset import Dataset
from trueness.registry import Registry


@dataclass(frozen=True)
class Vectors(ArrayExamples):
    """Examples of one split: a row of features each, and a class."""

    features: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64]

    def keep(self, columns: npt.NDArray[np.intp]) -> Vectors:
        """The same examples with only those features."""
        return Vectors(self.features[:, columns], self.labels)


@dataclass(frozen=True)
class VectorDataset(Dataset[Vectors]):
    """Named splits of vectors."""

    kind = "vector"
    name: str
    classes: tuple[str, ...]
    splits: Mapping[str, Vectors] = field(repr=False)
    features: tuple[str, ...] = ()
    """The names of the features; numbered without any."""
    evidence: npt.NDArray[np.bool_] | None = None
    """(features,) which are known to matter, where that is known."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.features:
            object.__setattr__(self, "features", tuple(f"feature {number}" for number in range(self.width)))

    @property
    def train(self) -> Vectors:
        """The training split."""
        return self["train"]

    @property
    def test(self) -> Vectors:
        """The test split."""
        return self["test"]

    @property
    def width(self) -> int:
        """Number of features."""
        return int(next(iter(self.splits.values())).features.shape[1])


class VectorGenerator(Protocol):
    """Draws a dataset of vectors from a seed; sizes are options."""

    def __call__(
        self, seed: int, /, *, features: int = ..., informative: int = ..., train: int = ..., test: int = ...
    ) -> VectorDataset:
        """Draw the dataset."""


VECTOR_DATASETS: Registry[VectorGenerator] = Registry("dataset", group="trueness.vector_datasets")
