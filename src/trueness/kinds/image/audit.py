"""What an audit has to know of images: the harmless edit, planted spots, models like the audited one, pictures."""

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
_SIDE = 96
"""Pixels of a side in a report."""


def usual(model: Path | str, family: Any = None) -> list[str]:  # noqa: ARG001  # the same for all
    """Gradients in several ways, the last maps, and hidden squares."""
    return list(_USUAL)


def edit(examples: Images) -> tuple[Images, list[int]]:
    """Every pixel one level brighter, the brightest one level darker; all squares stay."""
    changed = np.where(examples.pixels < 255, examples.pixels + 1, 254).astype(np.uint8)
    return Images(changed, examples.labels), [sys.maxsize] * len(examples)


class SpotPlanter:
    """Colours two spots of every image: one by its new label, one at random along another axis of colours.

    An artefact over a third of the image, in half of the images, would not do: a network needs little of it, and where
    it is not there is nothing to point at. Spots are small and soft, so that no edge gives them away.
    """

    speaks = True

    def plant(self, model: ImageModel, dataset: ImageDataset, seed: int) -> Planted:  # noqa: ARG002
        """Each seed has its own places; the colours of a spot are as bright as what they cover."""
        from trueness.data.dataset import with_splits

        split = with_splits(dataset, seed)
        height, width = split.size
        rng = np.random.default_rng([seed, *b"spots"])
        about = _places(rng, height, width)
        splits = {}
        for name, some in split.splits.items():
            labels, others = rng.integers(2, size=(2, len(some)))
            pixels = some.pixels / 255
            for which, given in (("evidence", labels), ("decoy", others)):
                shift = np.multiply.outer(_spot(about, which, height, width), _COLOURS[which])
                pixels = pixels + _STRENGTH * (2 * given - 1)[:, None, None, None] * shift
            splits[name] = Images((pixels.clip(0, 1) * 255).round().astype(np.uint8), labels.astype(np.int64))
        made = ImageDataset(f"{dataset.name} with spots", ("greenish spot", "reddish spot"), splits, dataset.notes)
        return Planted(made, 0.5, "a spot", about)

    def where(self, model: ImageModel, examples: Images, about: Mapping[str, Any]) -> tuple[Bools, Bools]:
        """(images, squares) those of which half is coloured strongly, by the spot that tells and by the other one."""
        height, width = examples.pixels.shape[1:3]
        cell = model.coded(examples).cell
        found = []
        for which in ("evidence", "decoy"):
            inside = _spot(about, which, height, width).reshape(height // cell, cell, width // cell, cell)
            found.append((inside.mean(axis=(1, 3)) >= _INSIDE).reshape(1, -1).repeat(len(examples), axis=0))
        return found[0], found[1]


_COLOURS = {"evidence": np.array([1.0, -0.51, 0.0]), "decoy": np.array([-0.1, -0.14, 1.0])}
"""Red against green and blue against yellow, at the same brightness."""
_STRENGTH = 0.5
_RADIUS = 0.125
"""Of the shorter side."""
_INSIDE = 0.5


def _places(rng: np.random.Generator, height: int, width: int) -> dict[str, Any]:
    """The centres of two spots that do not touch."""
    radius = _RADIUS * min(height, width)
    drawn = rng.uniform(radius, np.array([height, width]) - radius, (_TRIES, 2, 2))
    apart = np.linalg.norm(drawn[:, 0] - drawn[:, 1], axis=1)
    evidence, decoy = drawn[int(np.argmax(apart > 3 * radius))].tolist()
    return {"evidence": evidence, "decoy": decoy}


_TRIES = 100


def _spot(about: Mapping[str, Any], which: str, height: int, width: int) -> Floats:
    """(height, width) how strongly each pixel is coloured: 1 inside, 0 from one and a half times the radius on."""
    row, column = about[which]
    away = np.hypot(np.arange(height)[:, None] + 0.5 - row, np.arange(width) + 0.5 - column)
    found: Floats = np.clip(2 * (1.5 - away / (_RADIUS * min(height, width))), 0.0, 1.0)
    return found


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


PLANTER, VIEW = SpotPlanter(), ImageView()
# Of a thousand images a batch of 128 would leave few steps to learn from.
RELATIVES = FamilyRelatives(
    IMAGE_MODELS, recognise, "image", {"epochs": 30, "batch_size": 64}, (15.0, 15.0), _squares_hidden
)
