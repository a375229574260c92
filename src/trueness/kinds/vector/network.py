"""Classifiers of vectors: a module that reads standardised features, and a function that is only asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor, nn

from trueness.data.rows import RowBatch
from trueness.errors import Unsupported, UserError
from trueness.models.network import ModuleNetwork
from trueness.models.predictor import SMALLEST, Predictor


class VectorNetwork(ModuleNetwork):
    """A module behind the questions that explainers ask.

    What gradients are taken of are standardised features: a feature's unit of measurement changes no score, and zero is
    the mean of the training examples.
    """

    def __init__(self, module: nn.Module, features: int, classes: int, family: str = "", **shape: Any) -> None:
        super().__init__(module, family, torch.zeros(features), torch.ones(features), kept=True)
        self.shape = {"features": features, "classes": classes, **shape}

    @torch.no_grad()
    def standardise(self, features: Any) -> VectorNetwork:
        """Read features by their means and standard deviations over these rows."""
        spread = np.asarray(features).std(axis=0)
        self.mean.copy_(torch.from_numpy(np.asarray(features).mean(axis=0)))
        self.deviation.copy_(torch.from_numpy(np.where(spread > 0, spread, 1.0)))
        return self

    def values(self, batch: RowBatch) -> Tensor:
        """(examples, features, 1) standardised."""
        self._check(batch)
        return ((batch.values - self.mean) / self.deviation)[..., None]

    def blank(self, batch: RowBatch, baseline: str) -> Tensor:
        """(features, 1) what a hidden feature shows."""
        if baseline != "zero":
            raise self.unknown("baselines", baseline, "zero", "others")
        return ((batch.blank - self.mean) / self.deviation)[..., None]

    def others(self, batch: RowBatch) -> Tensor:
        """Other examples of the split."""
        return ((batch.background - self.mean) / self.deviation)[..., None]

    def logits(self, batch: RowBatch, *, values: Tensor | None = None) -> Tensor:
        """(examples, classes)."""
        shown = self.values(batch) if values is None else values
        found: Tensor = self.module(self.with_noise(shown, shown.amax() - shown.amin())[..., 0])
        return found

    def to_units(self, per_value: Tensor, batch: RowBatch) -> Tensor:  # noqa: ARG002  # all are explained
        """(examples, features)."""
        return per_value

    def _check(self, batch: RowBatch) -> None:
        if batch.width != self.shape["features"]:
            raise UserError(f"The model reads {self.shape['features']} features, not {batch.width}.")


class FunctionNetwork(VectorNetwork):
    """Asks a function for the probabilities of rows; its logits are their logarithms."""

    differentiable = False

    def __init__(self, predictor: Predictor, features: int, names: Sequence[str] = ()) -> None:
        """A function that knows `names` of features gets tables with these."""
        super().__init__(nn.Identity(), features, len(predictor.classes or ()))
        self.predictor, self._names = predictor, tuple(names)

    def values(self, batch: RowBatch) -> Tensor:  # noqa: ARG002  # a function is not differentiated
        """A function has no gradients: Unsupported."""
        self._refuse()

    def logits(self, batch: RowBatch, *, values: Tensor | None = None) -> Tensor:
        """(examples, classes)."""
        if values is not None:
            self._refuse()
        self._check(batch)
        rows = batch.values.double().cpu().numpy()
        found = self.predictor(named(rows, self._names), "rows")
        return torch.from_numpy(np.log(found.clip(SMALLEST, 1))).to(batch.values)

    def noisy(self, share: float, seed: int) -> NoReturn:  # noqa: ARG002  # there is nothing to add it to
        """A function reads what it reads: Unsupported."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise Unsupported(f"{self.predictor.name} is a function: it has no attention or gradients.")


def named(rows: Any, names: Sequence[str]) -> Any:
    """Rows as a table with these names, where there are any."""
    if not names:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names))
