"""A trained image classifier with its classes, and its folder: safetensors and JSON, no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trueness.kinds.image.data.batches import ImageSplit, usual_cell
from trueness.kinds.image.data.images import Images
from trueness.kinds.image.models.network import ImageNetwork
from trueness.models.saved import SavedModel


@dataclass(frozen=True, repr=False)
class ImageModel(SavedModel):
    """A network, its classes, and how training went."""

    kind = "image"
    network: ImageNetwork = field(repr=False)
    classes: tuple[str, ...]
    history: tuple[Mapping[str, float], ...] = field(default=(), repr=False)

    def coded(self, images: Images, cell: int | None = None) -> ImageSplit:
        """Images on the model's device, ready to be batched; units are squares of a 16th of the side, or of `cell`."""
        chosen = usual_cell(*images.pixels.shape[1:3]) if cell is None else cell
        return ImageSplit(images, self.device, cell=chosen, blank=self.network.mean.flatten().tolist())

    def config(self) -> dict[str, Any]:
        """All but the weights, as plain JSON."""
        return {
            "classes": list(self.classes),
            "size": list(self.network.size),
            "history": [dict(row) for row in self.history],
        }
