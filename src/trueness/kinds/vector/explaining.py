"""How rows of numbers are given to be explained, and how the scores of their features are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.data.dataset import Dataset
from trueness.errors import UserError
from trueness.kinds.vector.reading import VectorData
from trueness.kinds.vector.vectors import Vectors

if TYPE_CHECKING:
    from trueness.kinds.vector.model import VectorModel
    from trueness.stats.undefined import Floats


class VectorExplaining:
    """What `tn.explain` asks of the kind `vector`."""

    def usual(self, model: VectorModel) -> list[str]:
        """Gradients where the model has them, and methods that hide features."""
        gradients = ["input-x-gradient", "integrated-gradients"] if model.network.differentiable else []
        return [*gradients, "lime[n_samples=200]", "kernel-shap[n_samples=200]", "leave-one-out"]

    def is_data(self, examples: Any) -> bool:
        """A dataset, its name, a file, or a table."""
        if isinstance(examples, str | Path):
            return isinstance(examples, Path) or VectorData().recognises(examples)
        return isinstance(examples, Dataset) or hasattr(examples, "columns")

    def given(self, examples: Any, model: VectorModel, others: Sequence[str] | None = None) -> tuple[Vectors, bool]:
        """Rows of a dataset, table or array; one row, also as text, 5.1,3.5,1.4."""
        if others is not None:
            raise UserError("Rows have no second texts: leave out others.")
        if isinstance(examples, Vectors):
            return examples, bool((examples.labels < 0).any())
        listed = [examples] if isinstance(examples, str) else examples
        if isinstance(listed, list | tuple) and listed and all(isinstance(one, str) for one in listed):
            listed = [_row(one) for one in listed]
        if isinstance(listed, list | tuple) and not listed:
            return Vectors(np.zeros((0, int(model.network.shape["features"]))), np.zeros(0, dtype=np.int64)), True
        try:
            listed = np.atleast_2d(np.asarray(listed, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise UserError(
                f"Rows are numbers of shape (rows, features), not an object of type {type(examples).__name__}."
            ) from error
        read = VectorData().look(listed, model, gold=False)
        return next(iter(read.splits.values())), True

    def shown(self, model: VectorModel, examples: Vectors, row: int, scores: Floats) -> Mapping[str, Any]:
        """One score for each feature, which is shown with its value."""
        values = examples.features[row].tolist()
        names = model.features or [f"feature {number}" for number in range(len(values))]
        tokens = tuple(f"{name} = {value:.4g}" for name, value in zip(names, values, strict=True))
        return {"tokens": tokens, "scores": tuple(scores.tolist()), "bars": True}


def _row(text: str) -> list[float]:
    try:
        return [float(cell) for cell in text.split(",")]
    except ValueError as error:
        raise UserError(f"A row is numbers with commas between them, such as 5.1,3.5,1.4; not {text!r}.") from error
