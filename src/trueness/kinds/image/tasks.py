"""The tasks of images that studies and audits share: all images of a dataset in one size, read once."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.engine import Store, Stored, Task, task
from trueness.engine.encoding import digest
from trueness.kinds.image.data.datasets import IMAGE_DATASETS, file_of

if TYPE_CHECKING:
    from trueness.kinds.image.data.images import ImageDataset

SPLITS = ("train", "dev", "test")


@task("images/dataset", version=1)
def images(
    inputs: Mapping[str, Any],  # noqa: ARG001  # every task takes its inputs; this one has none
    *,
    name: str | None,
    source: Path | None,
    size: int,
    pictures: str = "",  # noqa: ARG001  # only to be part of the task's key
) -> dict[str, Any]:
    """All images in one size; `pictures` is the digest of those that a table names."""
    from trueness.kinds.image.data.datasets import load_images

    found = load_images(str(name or source), size)
    arrays = {f"{split}.{part}": value for split, some in found.splits.items() for part, value in vars(some).items()}
    return {"pixels": arrays, "about": {"name": found.name, "classes": list(found.classes), "notes": list(found.notes)}}


def images_task(dataset: str, size: int) -> Task:
    """The task that reads a dataset, by its name or its file."""
    from trueness.kinds.image.data.files import listed_pictures

    source = file_of(dataset)
    listed = [] if source is None else listed_pictures(source)
    named: dict[str, Any] = {"pictures": digest(listed)} if listed else {}
    return images(name=dataset if dataset in IMAGE_DATASETS else None, source=source, size=size, **named)


@functools.lru_cache(maxsize=1)
def _read(path: Path, key: str) -> ImageDataset:
    """The images that a task left in a store: a worker reads them once for all its runs."""
    from trueness.kinds.image.data.images import ImageDataset, Images

    stored = Store.open(path).get(key)
    about, arrays = stored.read("about"), stored.read("pixels")
    splits = {
        name: Images(arrays[f"{name}.pixels"], arrays[f"{name}.labels"])
        for name in SPLITS
        if f"{name}.pixels" in arrays
    }
    return ImageDataset(about["name"], tuple(about["classes"]), splits, tuple(about["notes"]))


def read_images(stored: Stored) -> ImageDataset:
    """What the task `images/dataset` left."""
    return _read(stored.store.path, stored.key)
