"""Sources of examples, and checks of them."""

from trueness.data import roar_synthetic as _roar_synthetic  # registers its datasets
from trueness.data.check import check_dataset
from trueness.data.dataset import TextDataset
from trueness.data.examples import RawExample, TextExample
from trueness.data.labels import match_labels
from trueness.data.preparation import Preparation
from trueness.data.source import TextSource, as_source
from trueness.data.splitting import with_splits
from trueness.data.text_datasets import TEXT_DATASETS, load_text
from trueness.data.texts import Texts, as_dataset, read_texts
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
    "Texts",
    "VectorDataset",
    "Vectors",
    "Vocabulary",
    "as_dataset",
    "as_source",
    "check_dataset",
    "load_text",
    "match_labels",
    "read_texts",
    "with_splits",
]
