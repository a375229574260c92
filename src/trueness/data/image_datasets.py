"""Image datasets by name, folder, archive or table."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from trueness.boundary import exists
from trueness.data.image_files import read_image_files
from trueness.data.images import ImageDataset, Images
from trueness.data.text_datasets import ROOT_VARIABLE, unknown
from trueness.errors import UserError
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
IMAGE_DATASETS: Registry[Callable[[int], ImageDataset]] = Registry("image dataset")
"""Name to a function from the size of the images."""


def load_images(name: str, size: int | None = None) -> ImageDataset:
    """A dataset by name (`photo-crops`, `birds`), or the pictures of a folder, tar archive or table.

    A folder has one folder for each class, or train, dev and test with such folders; a table has the columns path and
    label, and perhaps split. Pictures become `size` by `size` pixels, by default 128.
    """
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
    """Whether a path is one of pictures: a tar archive, or a folder in whose folders there are any."""
    from trueness.data.image_files import SUFFIXES

    if path.is_file():
        return path.name.endswith((".tar", ".tar.gz", ".tgz"))
    return path.is_dir() and any(file.suffix.lower() in SUFFIXES for file in path.glob("*/*"))


def _birds() -> Path:
    root = os.environ.get(ROOT_VARIABLE)
    found = None if root is None else Path(root) / BIRDS
    if found is None or not exists(found):
        raise UserError(f"The birds are not here: {ROOT_VARIABLE} must name a folder with {BIRDS}; or use photo-crops.")
    return found


def _read_birds(size: int) -> ImageDataset:
    found = read_image_files(_birds(), size)
    return ImageDataset("birds", found.classes, found.splits, found.notes)


def photo_crops(size: int, *, train: int = 400, dev: int = 100, test: int = 100) -> ImageDataset:
    """Crops of the photographs inside scikit-learn, a temple and a flower: splits share no pixel.

    So many crops of each class; their places are drawn, always alike. A crop is a fifth to a third as tall as its
    photograph.
    """
    photographs = _photographs()
    splits: dict[str, Images] = {}
    begin = 0.0
    for split, share, count in (("train", 0.6, train), ("dev", 0.2, dev), ("test", 0.2, test)):
        rng = np.random.default_rng([0, *f"photo-crops {split}".encode()])
        pixels = []
        for photograph in photographs:
            columns = photograph.shape[1]
            strip = photograph[:, round(begin * columns) : round((begin + share) * columns)]
            pixels += [_crop(strip, size, rng) for _ in range(count)]
        splits[split] = Images(np.stack(pixels), np.repeat(np.arange(2), count).astype(np.int64))
        begin += share
    return ImageDataset("photo-crops", ("temple", "flower"), splits)


@functools.cache
def _photographs() -> tuple[np.ndarray, ...]:
    try:
        from sklearn.datasets import load_sample_images

        return tuple(np.asarray(image) for image in load_sample_images().images)
    except ImportError as error:
        raise UserError("Photographs need the images extra: pip install 'trueness[images]'.") from error


def _crop(strip: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    from PIL import Image

    side = int(rng.integers(strip.shape[0] // 5, min(strip.shape[0] // 3, strip.shape[1]) + 1))
    top, left = (int(rng.integers(0, room - side + 1)) for room in strip.shape[:2])
    crop = Image.fromarray(strip[top : top + side, left : left + side])
    return np.asarray(crop.resize((size, size), Image.Resampling.BICUBIC), dtype=np.uint8)


IMAGE_DATASETS.add("photo-crops", photo_crops, "crops of two photographs, a temple and a flower (in scikit-learn)")
IMAGE_DATASETS.add("birds", _read_birds, "eight species in four confusable pairs (Zhou et al. 2022), 128 pixels")
