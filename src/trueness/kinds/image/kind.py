"""The kind `image`: images of one size, explained pixel by pixel or square by square."""

from __future__ import annotations

from typing import Any

from trueness.kinds.contract import Kind, Words
from trueness.kinds.image.data.artefacts import ARTEFACTS
from trueness.kinds.image.data.reading import ImageData
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.image.explaining import ImageExplaining
from trueness.kinds.image.models.opening import ImageModels


def usual(model: Any) -> list[str]:  # noqa: ARG001  # the same for all
    """Gradients, maps of a layer, and squares hidden."""
    return ["gradient", "grad-cam", "integrated-gradients", "occlusion"]


IMAGE = Kind(
    name="image",
    words=Words("image", "images", "square", "squares", "every pixel becomes one level brighter"),
    models=ImageModels(),
    data=ImageData(),
    explainers=IMAGE_EXPLAINERS,
    usual=usual,
    explaining=ImageExplaining(),
    dry_run="ground-truth-images",
    plantings=ARTEFACTS,
)
