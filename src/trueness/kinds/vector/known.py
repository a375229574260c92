"""Classifiers of vectors of which it is known why they decide: features times weights are added up."""

from __future__ import annotations

from functools import partial

import numpy as np

from trueness.kinds.contract import Known
from trueness.kinds.vector.families import VECTOR_MODELS, LinearFamily, linear_model
from trueness.kinds.vector.vectors import VectorDataset, Vectors

FEATURES = 14


def add_up(rng: np.random.Generator, examples: int, rare: float = 0.2, classes: int = 2, *, more: int = 300) -> Known:
    """Features of several shapes; of two classes the last has this share, of more none is rare.

    Labels are drawn as likely as the model says.
    """
    rows = rng.normal(size=(examples + more, FEATURES))
    rows[:, ::3] = rng.exponential(size=rows[:, ::3].shape) - 1
    weights = rng.standard_t(3, (classes if classes > 2 else 1, FEATURES)) * rng.uniform(0.5, 1.5)
    said = rows @ weights.T
    bar = np.quantile(said, 1 - rare, axis=0) if classes == 2 else np.median(said, axis=0)
    family = VECTOR_MODELS["logistic-regression"]
    assert isinstance(family, LinearFamily)
    names = tuple(f"class {number}" for number in range(classes))
    blank = VectorDataset("known", names, {"all": Vectors(rows, np.zeros(len(rows), dtype=np.int64))})
    model = linear_model(family, blank, weights, -bar, "cpu", rows)
    said = np.concatenate([np.zeros((len(said), 1)), said - bar], axis=1) if classes == 2 else said - bar
    labels = (said + rng.gumbel(size=said.shape)).argmax(axis=1)  # drawn with the model's probabilities
    every = Vectors(rows, labels)
    like = {"family": "logistic-regression", "shape": {}}
    return Known(model, every.pick(range(examples)), dataset=VectorDataset("known", names, {"all": every}), like=like)


three = partial(add_up, classes=3)
