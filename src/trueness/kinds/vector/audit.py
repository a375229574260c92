"""What an audit has to know of vectors: the harmless edit, planted features, models like the audited one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.errors import UserError
from trueness.kinds.contract import Content, Planted, Words
from trueness.kinds.relatives import FamilyRelatives
from trueness.kinds.vector.families import VECTOR_MODELS
from trueness.kinds.vector.opening import recognise
from trueness.kinds.vector.vectors import VectorDataset, Vectors
from trueness.plugins import is_function
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    from trueness.kinds.vector.model import VectorModel

WORDS = Words("row", "rows", "feature", "features", "every number changes in its sixth digit")
FOILS = ("random",)
_HIDING = ("leave-one-out", "lime[n_samples=200]", "kernel-shap[n_samples=200]", "occlusion")
_LEAST = 10
"""Different values of a feature that evidence can be planted in."""


def usual(model: Path | str, family: Any = None) -> list[str]:  # noqa: ARG001  # the same for all
    """Gradients where the model has them, and methods that hide features."""
    return list(_HIDING) if is_function(model) else ["gradient", "input-x-gradient", "integrated-gradients", *_HIDING]


def edit(examples: Vectors) -> tuple[Vectors, list[int]]:
    """Every number a millionth larger; all features stay."""
    return Vectors(examples.features * (1 + 1e-6), examples.labels), [sys.maxsize] * len(examples)


class FeaturePlanter:
    """Gives one feature values by which a new label can be told, and another one values that look like it."""

    speaks = True

    def plant(self, model: VectorModel, dataset: VectorDataset, seed: int) -> Planted:  # noqa: ARG002
        """Of two features the values are dealt anew: large ones go to class 1 in the first, to anybody in the other."""
        from trueness.data.dataset import with_splits

        rng = np.random.default_rng([seed, *b"audit"])
        split = with_splits(dataset)
        rows = np.concatenate([some.features for some in split.splits.values()])
        several = [column for column in range(rows.shape[1]) if len(np.unique(rows[:, column])) >= _LEAST]
        if len(several) < 2:
            raise UserError(f"{dataset.name} has fewer than two features of {_LEAST} values: none can be evidence.")
        evidence, decoy = map(int, rng.choice(several, 2, replace=False))
        splits = {}
        for name, some in split.splits.items():
            features, labels = some.features.copy(), rng.integers(2, size=len(some))
            for column, given in ((evidence, labels), (decoy, rng.integers(2, size=len(some)))):
                features[:, column] = _dealt(rows[:, column], given, rng)
            splits[name] = Vectors(features, labels.astype(np.int64))
        made = VectorDataset(f"{dataset.name} with evidence", ("low", "high"), splits, dataset.features)
        about = {"evidence": evidence, "decoy": decoy}
        return Planted(made, 0.5, dataset.features[evidence], about)

    def where(self, model: VectorModel, examples: Vectors, about: Mapping[str, Any]) -> tuple[Bools, Bools]:  # noqa: ARG002
        """(rows, features) the planted feature, and the one that looks like it."""
        found = []
        for name in ("evidence", "decoy"):
            marked = np.zeros(examples.features.shape, dtype=bool)
            marked[:, about[name]] = True
            found.append(marked)
        return found[0], found[1]


def _dealt(values: Floats, labels: Any, rng: np.random.Generator) -> Floats:
    """One value for each label: of label 1 from the larger half of all, of 0 from the smaller half."""
    ordered = np.sort(values)
    middle = len(ordered) // 2
    low, high = (rng.choice(half, len(labels)) for half in (ordered[:middle], ordered[middle:]))
    found: Floats = np.where(labels == 1, high, low)
    return found


class RowView:
    """A row is shown as its features with their values."""

    def contents(self, model: VectorModel, examples: Vectors) -> list[Content]:
        """Names, where the model knows them."""
        width = examples.features.shape[1]
        names = model.features or [f"feature {number}" for number in range(width)]
        return [
            Content(tuple(f"{name} = {value:.4g}" for name, value in zip(names, row, strict=True)))
            for row in examples.features.tolist()
        ]

    def scores(self, model: VectorModel, examples: Vectors, row: int, scores: Floats) -> list[float]:  # noqa: ARG002
        """One score for each feature."""
        found: list[float] = scores.tolist()
        return found


PLANTER, VIEW = FeaturePlanter(), RowView()
RELATIVES = FamilyRelatives(VECTOR_MODELS, recognise, "vector", {}, (40.0, 40.0))
