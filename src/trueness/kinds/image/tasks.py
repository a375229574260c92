"""The tasks of images that studies and audits share: all images of a dataset in one size, read once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.engine import Stored, Task, task
from trueness.engine.encoding import digest
from trueness.kinds.image.data.datasets import IMAGE_DATASETS, file_of

if TYPE_CHECKING:
    from trueness.kinds.image.data.images import ImageDataset


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
    from trueness.kinds.image.data.reading import ImageData

    return ImageData().pack(load_images(str(name or source), size))


def images_task(dataset: str, size: int) -> Task:
    """The task that reads a dataset, by its name or its file."""
    from trueness.kinds.image.data.files import listed_pictures

    source = file_of(dataset)
    listed = [] if source is None else listed_pictures(source)
    named: dict[str, Any] = {"pictures": digest(listed)} if listed else {}
    return images(name=dataset if dataset in IMAGE_DATASETS else None, source=source, size=size, **named)


def read_images(stored: Stored) -> ImageDataset:
    """What the task `images/dataset` left."""
    from trueness.kinds.image.data.reading import ImageData

    return ImageData().unpack(stored)
