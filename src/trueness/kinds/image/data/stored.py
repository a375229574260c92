"""How a dataset of images is kept between tasks: arrays, and facts."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.data import arrays
from trueness.engine import Store
from trueness.kinds.image.data.images import ImageDataset, Images

if TYPE_CHECKING:
    from trueness.engine import Stored


def pack(data: ImageDataset) -> dict[str, Any]:
    """The payloads that hold a dataset."""
    return arrays.pack(data, "pixels")


def unpack(stored: Stored) -> ImageDataset:
    """The dataset again."""
    return _read(stored.store.path, stored.key)


@functools.lru_cache(maxsize=1)
def _read(path: Path, key: str) -> ImageDataset:
    """A worker reads the images of a store once for all its tasks."""
    about, splits = arrays.unpack(Store.open(path).get(key), "pixels", Images)
    return ImageDataset(splits=splits, **about)
