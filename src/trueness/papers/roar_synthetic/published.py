"""The data and the model as the code of Madsen et al. (2022) makes them."""

from __future__ import annotations

import functools

from trueness.kinds.vector.families import VECTOR_MODELS, LinearFamily
from trueness.kinds.vector.roar_synthetic import roar_synthetic
from trueness.kinds.vector.vectors import VECTOR_DATASETS

VECTOR_DATASETS.add(
    "roar-synthetic@madsen2022",
    functools.partial(roar_synthetic, name="roar-synthetic@madsen2022", shared_noise=True),
    "synthetic vectors of ROAR, one scalar noise per example as in the authors' code (generated)",
)
VECTOR_MODELS.add(
    "logistic-regression@madsen2022",
    LinearFamily("logistic-regression@madsen2022", {"C": float("inf")}),
    "logistic regression of vectors, 100 steps of L-BFGS without penalty as in the authors' code",
)
