"""The synthetic problem on which Madsen et al. (2022) validate Recursive ROAR: their equation 1, after Hooker et al."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueness.kinds.vector.vectors import VECTOR_DATASETS, VectorDataset, Vectors


def roar_synthetic(
    seed: int,
    *,
    name: str = "roar-synthetic",
    shared_noise: bool = False,
    features: int = 16,
    informative: int = 4,
    train: int = 10000,
    test: int = 20000,
) -> VectorDataset:
    """One draw of a, d and the data: x = a z / 10 + d eta + epsilon / 10 and y = 1 if z > 0.

    a and d are standard normal vectors drawn once, a only at the first `informative` features; z and eta are standard
    normal per example. The formula leaves open what epsilon is. By default it is independent for every feature, so each
    informative feature tells something of its own. With `shared_noise` it is one scalar per example, as in the authors'
    code: then any one informative feature with two others determines z, and the informative ones are redundant.
    """
    rng = np.random.default_rng([seed, *b"roar-synthetic"])
    a = np.zeros(features)
    a[:informative] = rng.standard_normal(informative)
    d = rng.standard_normal(features)

    def draw(n: int) -> Vectors:
        z, eta = rng.standard_normal((2, n, 1))
        epsilon = rng.standard_normal((n, 1 if shared_noise else features))
        x: npt.NDArray[np.float64] = a * z / 10 + d * eta + epsilon / 10
        return Vectors(x, (z[:, 0] > 0).astype(np.int64))

    splits = {"train": draw(train), "test": draw(test)}
    return VectorDataset(name, ("0", "1"), splits, evidence=np.arange(features) < informative)


VECTOR_DATASETS.add(
    "roar-synthetic",
    roar_synthetic,
    "synthetic vectors of ROAR, noise independent per feature (generated)",
)
