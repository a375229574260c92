"""Sources of examples, and checks of them."""

from trueness.data import roar_synthetic as _roar_synthetic  # registers its datasets
from trueness.data.check import check_dataset
from trueness.data.registry import DATASETS
from trueness.data.vectors import VectorDataset, Vectors

del _roar_synthetic

__all__ = ["DATASETS", "VectorDataset", "Vectors", "check_dataset"]
