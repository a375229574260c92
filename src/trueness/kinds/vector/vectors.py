"""Datasets of plain vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trueness.registry import Registry


@dataclass(frozen=True)
class Vectors:
    """Examples of one split: a row of features each, and a class."""

    features: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def keep(self, columns: npt.NDArray[np.intp]) -> Vectors:
        """The same examples with only those features."""
        return Vectors(self.features[:, columns], self.labels)


@dataclass(frozen=True)
class VectorDataset:
    """Splits of vectors; `evidence` marks the features that are known to matter."""

    name: str
    train: Vectors
    test: Vectors
    evidence: npt.NDArray[np.bool_]

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.evidence)


class VectorGenerator(Protocol):
    """Draws a dataset of vectors from a seed; sizes are options."""

    def __call__(
        self, seed: int, /, *, features: int = ..., informative: int = ..., train: int = ..., test: int = ...
    ) -> VectorDataset:
        """Draw the dataset."""
        ...


VECTOR_DATASETS: Registry[VectorGenerator] = Registry("dataset", group="trueness.vector_datasets")
