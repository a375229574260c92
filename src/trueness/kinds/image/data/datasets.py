"""Image datasets by name, folder, archive or table."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trueness.boundary import exists, is_file
from trueness.data.dataset import ROOT_VARIABLE, unknown
from trueness.errors import UserError, install
from trueness.kinds.image.data.files import LEAST_SIDE, read_image_files
from trueness.kinds.image.data.images import ImageDataset, Images
from trueness.registry import Registry

SIZE = 128
"""Pixels of a side, unless asked otherwise."""
BIRDS = "birds-128.tar"
SIMILAR = (
    ("brandts_cormorant", "pelagic_cormorant"),
    ("fish_crow", "common_raven"),
    ("forsters_tern", "common_tern"),
    ("pomarine_jaeger", "long_tailed_jaeger"),
)
"""The confusable pairs of Zhou et al. (2022)."""
_STRIPS = {"train": (0, 2, 4, 5, 7, 9), "dev": (1, 6), "test": (3, 8)}
"""Of each photograph, from the left."""
IMAGE_DATASETS: Registry[Callable[[int], ImageDataset]] = Registry("image dataset")
"""Name to a function from the size of the images."""


def load_images(name: str, size: int | None = None) -> ImageDataset:
    """A dataset by name (`photo-crops`, `birds`), or the pictures of a folder, tar archive or table.

    A folder has one folder for each class, or train, dev and test with such folders; a table has the columns path and
    label, and perhaps split. Pictures become `size` by `size` pixels, by default 128.
    """
    if size is not None and (not isinstance(size, int) or size < LEAST_SIDE):
        raise UserError(f"The size of images is a whole number of pixels, {LEAST_SIDE} or more, not {size!r}.")
    if name in IMAGE_DATASETS:
        return IMAGE_DATASETS[name](size or SIZE)
    if not exists(Path(name)):
        raise unknown(name, list(IMAGE_DATASETS))
    return read_image_files(Path(name), size or SIZE)


def file_of(name: str) -> Path | None:
    """The file or folder behind a dataset, as a parameter of tasks; None of one that is generated."""
    if name == "birds":
        return _birds()
    return None if name in IMAGE_DATASETS else Path(name)


def is_images(path: Path) -> bool:
    """Whether a path is one of pictures: an archive, a table with paths, or a folder with any in its folders."""
    from trueness.kinds.image.data.files import SUFFIXES

    if is_file(path):
        return path.name.endswith((".tar", ".tar.gz", ".tgz")) or _names_pictures(path)
    inside = itertools.chain(path.glob("*/*"), path.glob("*/*/*"))
    return exists(path) and path.is_dir() and any(file.suffix.lower() in SUFFIXES for file in inside)


def _names_pictures(path: Path) -> bool:
    """Whether a table begins with the columns path and label, and no text."""
    if not path.name.endswith((".csv", ".tsv", ".jsonl")):
        return False
    with path.open("rb") as file:
        words = {word.lower() for word in re.findall(rb"\w+", file.readline(1 << 12))}
    return {b"path", b"label"} <= words and b"text" not in words


def _birds() -> Path:
    root = os.environ.get(ROOT_VARIABLE)
    found = None if root is None else Path(root) / BIRDS
    if found is None or not exists(found):
        raise UserError(f"The birds are not here: {ROOT_VARIABLE} must name a folder with {BIRDS}; or use photo-crops.")
    return found


def _read_birds(size: int) -> ImageDataset:
    found = read_image_files(_birds(), size)
    return ImageDataset("birds", found.classes, found.splits, found.notes)


def photo_crops(size: int, *, train: int = 500, dev: int = 100, test: int = 100) -> ImageDataset:
    """Crops of the photographs inside scikit-learn, a temple and a flower: splits share no pixel.

    So many crops of each class; their places are drawn, always alike. Every photograph is cut into ten strips; a crop
    lies in one strip and is at least three quarters as wide.
    """
    splits: dict[str, Images] = {}
    for split, count in (("train", train), ("dev", dev), ("test", test)):
        rng = np.random.default_rng([0, *f"photo-crops {split}".encode()])
        pixels = [_crop(photograph, _STRIPS[split], size, rng) for photograph in _photographs() for _ in range(count)]
        splits[split] = Images(np.stack(pixels), np.repeat(np.arange(2), count).astype(np.int64))
    return ImageDataset("photo-crops", ("temple", "flower"), splits)


@functools.cache
def _photographs() -> tuple[npt.NDArray[np.uint8], ...]:
    try:
        from sklearn.datasets import load_sample_images

        return tuple(np.asarray(image) for image in load_sample_images().images)
    except ImportError as error:
        raise UserError(f"Photographs need the images extra: {install('images')}.") from error


def _crop(
    photograph: npt.NDArray[np.uint8], strips: Sequence[int], size: int, rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    from PIL import Image

    wide = photograph.shape[1] // 10
    side = int(rng.integers(3 * wide // 4, wide + 1))
    top = int(rng.integers(0, photograph.shape[0] - side + 1))
    left = wide * int(rng.choice(strips)) + int(rng.integers(0, wide - side + 1))
    crop = Image.fromarray(photograph[top : top + side, left : left + side])
    return np.asarray(crop.resize((size, size), Image.Resampling.BICUBIC), dtype=np.uint8)


IMAGE_DATASETS.add("photo-crops", photo_crops, "crops of two photographs, a temple and a flower (in scikit-learn)")
IMAGE_DATASETS.add("birds", _read_birds, "eight species in four confusable pairs (Zhou et al. 2022), 128 pixels")
