"""Vectors on a device: every feature is a unit, and a hidden one shows a blank value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from trueness.data.rows import RowSplit
from trueness.kinds.vector.vectors import Vectors


class VectorSplit(RowSplit):
    """Vectors on a device, ready to be batched."""

    def __init__(
        self, examples: Vectors, device: str | torch.device = "cpu", blank: npt.ArrayLike | None = None
    ) -> None:
        """A hidden feature shows its `blank` value, by default its mean over these examples."""
        given = examples.features.mean(axis=0) if blank is None else blank
        super().__init__(examples.features.astype(np.float32), examples.labels, device, given)
