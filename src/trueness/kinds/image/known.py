"""Classifiers of images of which it is known why they decide: the brightness of squares, times weights, is added up."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from trueness.kinds.contract import Known
from trueness.kinds.image.data.images import Images
from trueness.kinds.image.models.model import ImageModel
from trueness.kinds.image.models.network import ImageNetwork

SIDE = 8
"""Pixels of a side, each of which is a unit."""


class SquareWeights(nn.Module):
    """Half of the log odds of both classes from normalised pixels."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights, self.bar = nn.Parameter(weights), 0.0

    def forward(self, pixels: Tensor) -> Tensor:
        """(images, 2)."""
        total = (pixels.mean(dim=1).flatten(1) * self.weights).sum(dim=1, keepdim=True) - self.bar
        return torch.cat([-total, total], dim=1) / 2


def add_up(rng: np.random.Generator, examples: int, rare: float = 0.2) -> Known:
    """Noise; this share of the images is of the class "bright"."""
    pixels = rng.integers(0, 256, (examples, SIDE, SIDE, 3), dtype=np.uint8)
    weights = torch.from_numpy(rng.standard_t(3, SIDE * SIDE) * rng.uniform(0.3, 1.0)).float()
    module = SquareWeights(weights)
    model = ImageModel(ImageNetwork(module, 2, (SIDE, SIDE), family="known"), ("dark", "bright"))
    images = Images(pixels, np.zeros(examples, dtype=np.int64))
    with torch.no_grad():
        sums = torch.cat([model.network(batch).logits[:, 1] for _, batch in model.coded(images).in_order()])
    module.bar = 2 * float(np.quantile(sums.numpy(), 1 - rare))
    return Known(model, images)
