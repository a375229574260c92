"""How a dataset of images is kept between tasks: arrays, and facts."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.data.dataset import SPLITS
from trueness.engine import Store
from trueness.kinds.image.data.images import ImageDataset, Images

if TYPE_CHECKING:
    from trueness.engine import Stored


def pack(data: ImageDataset) -> dict[str, Any]:
    """The payloads that hold a dataset."""
    arrays = {f"{split}.{part}": value for split, some in data.splits.items() for part, value in vars(some).items()}
    about = {"name": data.name, "classes": list(data.classes), "notes": list(data.notes), "splits": list(data.splits)}
    return {"pixels": arrays, "about": about}


def unpack(stored: Stored) -> ImageDataset:
    """The dataset again."""
    return _read(stored.store.path, stored.key)


@functools.lru_cache(maxsize=1)
def _read(path: Path, key: str) -> ImageDataset:
    """A worker reads the images of a store once for all its tasks."""
    stored = Store.open(path).get(key)
    about, arrays = stored.read("about"), stored.read("pixels")
    # An earlier version kept no order.
    names = about.get("splits") or [name for name in SPLITS if f"{name}.labels" in arrays]
    splits = {name: Images(arrays[f"{name}.pixels"], arrays[f"{name}.labels"]) for name in names}
    return ImageDataset(about["name"], tuple(about["classes"]), splits, tuple(about["notes"]))
