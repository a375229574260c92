"""What an audit has to know of images: the harmless edit, planted artefacts, models like the audited one, pictures."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.kinds.contract import Content, Planted, Words
from trueness.kinds.image.data.images import ImageDataset, Images
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.image.models.opening import recognise
from trueness.kinds.relatives import FamilyRelatives
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    from trueness.kinds.image.data.batches import ImageSplit
    from trueness.kinds.image.models.model import ImageModel

WORDS = Words("image", "images", "square", "squares", "every pixel becomes one level brighter")
FOILS = ("random", "edges")
"""What knows nothing, and what looks at the image alone."""
_USUAL = (
    *("gradient", "smooth-gradient", "grad-cam", "integrated-gradients"),
    *("gradient-shap[n_samples=50]", "occlusion"),
)
_ARTEFACTS = ("brightness", "noise", "hue")
"""What is planted, in turn, at its highest visibility."""
_SIDE = 96
"""Pixels of a side in a report."""


def usual(model: Path | str, family: Any = None) -> list[str]:  # noqa: ARG001  # the same for all
    """Gradients in several ways, the last maps, and hidden squares."""
    return list(_USUAL)


def edit(examples: Images) -> tuple[Images, list[int]]:
    """Every pixel one level brighter, the brightest one level darker; all squares stay."""
    changed = np.where(examples.pixels < 255, examples.pixels + 1, 254).astype(np.uint8)
    return Images(changed, examples.labels), [sys.maxsize] * len(examples)


class ArtefactPlanter:
    """Plants artefacts in half of the images, whose labels are drawn anew."""

    speaks = False

    def plant(self, model: ImageModel, dataset: ImageDataset, seed: int) -> Planted:  # noqa: ARG002
        """Each seed has an artefact of its own, in a region that is drawn."""
        import torch

        from trueness.data.dataset import with_splits
        from trueness.kinds.image.data.artefacts import ARTEFACTS
        from trueness.kinds.image.data.manipulations import settings_of

        name = _ARTEFACTS[seed % len(_ARTEFACTS)]
        drawn = ARTEFACTS[name].by_visibility(np.random.default_rng([seed, *b"audit"]))
        artefact = drawn.at_level(drawn.levels[-1])
        splits = {}
        for number, (split, some) in enumerate(with_splits(dataset).splits.items()):
            rng = np.random.default_rng([seed, number, *b"labels"])
            labels, pixels = rng.integers(2, size=len(some)), some.pixels.copy()
            rows = np.flatnonzero(labels)
            shown = torch.from_numpy(pixels[rows]).permute(0, 3, 1, 2).float() / 255
            changed = artefact.apply(shown, torch.from_numpy(rows), seed * 3 + number)
            pixels[rows] = (changed.permute(0, 2, 3, 1) * 255).round().byte().numpy()
            splits[split] = Images(pixels, labels.astype(np.int64))
        made = ImageDataset(f"{dataset.name} with {name}", ("without", name), splits, dataset.notes)
        return Planted(made, 0.5, name, {"artefact": settings_of(artefact)})

    def where(self, model: ImageModel, examples: Images, about: Mapping[str, Any]) -> tuple[Bools, Bools]:
        """(images, squares) those of which at least half lies in the artefact's region; nothing only looks like it."""
        from trueness.kinds.image.data.manipulations import made_of

        height, width = examples.pixels.shape[1:3]
        cell = model.coded(examples).cell
        region = made_of(about["artefact"]).region(height, width).numpy()
        share = region.reshape(height // cell, cell, width // cell, cell).mean(axis=(1, 3))
        found = (share >= 0.5).reshape(1, -1).repeat(len(examples), axis=0)
        return found, np.zeros_like(found)


def _squares_hidden(split: ImageSplit, seed: int) -> ImageSplit:
    """As audits hide them: by squares, whatever the network is trained on."""
    return split.by_squares().hidden_at_random(seed)


class ImageView:
    """An image is shown as a picture under a grid of squares."""

    def contents(self, model: ImageModel, examples: Images) -> list[Content]:
        """Small pictures, and how many rows and columns of squares lie on them."""
        cell = model.coded(examples.pick([0])).cell if len(examples) else 1
        height, width = examples.pixels.shape[1:3]
        return [Content(image=_png(pixels), grid=(height // cell, width // cell)) for pixels in examples.pixels]

    def scores(self, model: ImageModel, examples: Images, row: int, scores: Floats) -> list[float]:  # noqa: ARG002
        """One score for each square, row by row."""
        found: list[float] = scores.tolist()
        return found


def _png(pixels: Any) -> str:
    """In base 64, no larger than a report needs."""
    from PIL import Image

    image = Image.fromarray(pixels)
    if max(image.size) > _SIDE:
        image = image.resize((_SIDE, _SIDE), Image.Resampling.BOX)
    content = io.BytesIO()
    image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(content, "png", optimize=True)
    return base64.b64encode(content.getvalue()).decode()


PLANTER, VIEW = ArtefactPlanter(), ImageView()
# Of a thousand images a batch of 128 would leave few steps to learn from.
RELATIVES = FamilyRelatives(
    IMAGE_MODELS, recognise, "image", {"epochs": 30, "batch_size": 64}, (15.0, 15.0), _squares_hidden
)
