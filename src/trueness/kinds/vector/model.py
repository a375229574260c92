"""A classifier of vectors with its classes and the names of its features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from trueness.data.rows import RowSplit
from trueness.errors import UserError
from trueness.kinds.vector.network import FunctionNetwork, VectorNetwork
from trueness.kinds.vector.vectors import Vectors
from trueness.models.saved import SavedModel


class VectorSplit(RowSplit):
    """Vectors on a device, ready to be batched."""

    def __init__(
        self, examples: Vectors, device: str | torch.device = "cpu", blank: npt.ArrayLike | None = None
    ) -> None:
        """A hidden feature shows its `blank` value, by default its mean over these examples."""
        given = examples.features.mean(axis=0) if blank is None else blank
        super().__init__(examples.features.astype(np.float32), examples.labels, device, given)


@dataclass(frozen=True, repr=False)
class VectorModel(SavedModel):
    """A network, what its classes and features are called, and how training went."""

    kind = "vector"
    network: VectorNetwork = field(repr=False)
    classes: tuple[str, ...]
    features: tuple[str, ...] = ()
    """Their names; none where nobody said them."""
    centred: bool = True
    """Whether the network knows the means of the training features."""
    history: tuple[Mapping[str, float], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    def coded(self, examples: Vectors) -> VectorSplit:
        """Examples on the model's device. A hidden feature shows the mean of the training examples, if it is known."""
        return VectorSplit(examples, self.device, self.network.mean.cpu().numpy() if self.centred else None)

    def config(self) -> dict[str, Any]:
        """All but the weights, as plain JSON."""
        return {
            "network": dict(self.network.shape),
            "classes": list(self.classes),
            "features": list(self.features),
            "centred": self.centred,
            "history": [dict(row) for row in self.history],
            "notes": list(self.notes),
        }

    def save(self, folder: str | Path) -> Path:
        """Write config.json and weights.safetensors, see `trueness.models.saved`; a function is not kept: UserError."""
        if isinstance(self.network, FunctionNetwork):
            name = self.network.predictor.name
            raise UserError(f"{name} is a function, not a model that could be saved to {folder}.")
        return super().save(folder)
