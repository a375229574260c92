"""Sources of examples, and checks of them."""

from trueness.data import roar_synthetic as _roar_synthetic  # registers its datasets
from trueness.data.check import check_dataset
from trueness.data.dataset import TextDataset
from trueness.data.examples import RawExample, TextExample
from trueness.data.preparation import Preparation
from trueness.data.source import TextSource, as_source
from trueness.data.text_datasets import TEXT_DATASETS, load_text
from trueness.data.vectors import VECTOR_DATASETS, VectorDataset, Vectors
from trueness.data.vocabulary import Vocabulary

del _roar_synthetic

__all__ = [
    "TEXT_DATASETS",
    "VECTOR_DATASETS",
    "Preparation",
    "RawExample",
    "TextDataset",
    "TextExample",
    "TextSource",
    "VectorDataset",
    "Vectors",
    "Vocabulary",
    "as_source",
    "check_dataset",
    "load_text",
]
