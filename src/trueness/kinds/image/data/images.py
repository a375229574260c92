"""Datasets of images: arrays of one size with their classes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trueness.data.arrays import ArrayExamples
from trueness.data.dataset import Dataset
from trueness.errors import UserError


@dataclass(frozen=True)
class Images(ArrayExamples):
    """The images of one split: red, green and blue of every pixel, and a class each."""

    pixels: npt.NDArray[np.uint8]
    """(images, height, width, 3)"""
    labels: npt.NDArray[np.int64]

    def keys(self) -> list[bytes]:
        """A digest of the pixels of each image."""
        return [hashlib.blake2b(image.tobytes(), digest_size=16).digest() for image in self.pixels]


@dataclass(frozen=True)
class ImageDataset(Dataset[Images]):
    """Named splits of images of one size, and what was converted or left out on the way."""

    kind = "image"
    name: str
    classes: tuple[str, ...]
    splits: Mapping[str, Images] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of every image."""
        first = next(iter(self.splits.values()))
        return int(first.pixels.shape[1]), int(first.pixels.shape[2])

    def pair(self, first: str, second: str) -> ImageDataset:
        """The images of two classes, numbered 0 and 1 in the order given."""
        for name in (first, second):
            if name not in self.classes:
                raise UserError(f"{self.name} has no class {name!r}, only {', '.join(self.classes)}.")
        if first == second:
            raise UserError(f"A pair of classes needs two different ones, not {first!r} twice.")
        numbers = [self.classes.index(first), self.classes.index(second)]
        splits = {}
        for name, images in self.splits.items():
            some = images.pick(np.flatnonzero(np.isin(images.labels, numbers)))
            splits[name] = Images(some.pixels, (some.labels == numbers[1]).astype(np.int64))
        return ImageDataset(f"{self.name}, {first} or {second}", (first, second), splits, self.notes)


def from_arrays(
    splits: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]], classes: Sequence[str] = (), name: str = "arrays"
) -> ImageDataset:
    """A dataset of your own arrays: (images, height, width[, 1 or 3]) bytes, or numbers from 0 to 1, and classes.

    UserError for other shapes, ranges or labels.
    """
    found: dict[str, Images] = {}
    for split, (pixels, labels) in splits.items():
        found[split] = images_of(pixels, labels, f"{name}, split {split}")
    if not found:
        raise UserError(f"{name} has no split of images.")
    sizes = {images.pixels.shape[1:] for images in found.values()}
    if len(sizes) > 1:
        raise UserError(f"{name}: the splits hold images of different sizes.")
    count = max(int(images.labels.max()) + 1 for images in found.values())
    named = tuple(classes) or tuple(str(number) for number in range(count))
    if count > len(named) or len(named) < 2:
        raise UserError(f"{name}: labels up to {count - 1} and {len(named)} classes; give two classes or more.")
    return ImageDataset(name, named, found)


def images_of(pixels: npt.ArrayLike, labels: npt.ArrayLike | None, where: str) -> Images:
    """Images of arrays, see `from_arrays`; without labels, -1 takes their place. `where` begins what is wrong."""
    shown = _bytes(np.asarray(pixels), where)
    given = np.full(len(shown), -1, dtype=np.int64) if labels is None else _numbers(np.asarray(labels), where)
    if len(shown) != len(given):
        raise UserError(f"{where}: there are {len(shown)} images and {len(given)} labels.")
    return Images(shown, given)


def _bytes(pixels: npt.NDArray[np.generic], where: str) -> npt.NDArray[np.uint8]:
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    if pixels.ndim != 4 or pixels.shape[-1] not in (1, 3) or 0 in pixels.shape:
        raise UserError(f"{where}: images need the shape (images, height, width, 3), not {pixels.shape}.")
    if pixels.dtype != np.uint8:
        values = pixels.astype(np.float64)
        if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1:
            raise UserError(f"{where}: pixels are neither bytes nor numbers from 0 to 1; divide them by their largest.")
        pixels = np.round(255 * values).astype(np.uint8)
    return np.array(np.broadcast_to(pixels, (*pixels.shape[:3], 3)), dtype=np.uint8, order="C")


def _numbers(labels: npt.NDArray[np.generic], where: str) -> npt.NDArray[np.int64]:
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer) or (len(labels) and labels.min() < 0):
        raise UserError(f"{where}: labels are whole numbers from 0 on, one for each image.")
    return labels.astype(np.int64)
