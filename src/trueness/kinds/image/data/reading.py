"""How images are read: by name, from folders, archives, tables and arrays, in the size that a model takes."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.boundary import short
from trueness.data import arrays
from trueness.data.arrays import DataOfArrays
from trueness.engine import Store
from trueness.errors import UserError
from trueness.kinds.image.data.datasets import IMAGE_DATASETS, file_of, is_images, load_images
from trueness.kinds.image.data.files import listed_pictures
from trueness.kinds.image.data.images import ImageDataset, Images, images_of

if TYPE_CHECKING:
    from trueness.engine import Stored


class ImageData(DataOfArrays):
    """The data part of the kind `image`."""

    datasets, payload = IMAGE_DATASETS, "pixels"

    def recognises(self, data: Any) -> bool:
        """A dataset's name, a folder, archive or table of pictures, or arrays (images, height, width[, colours])."""
        if isinstance(data, str | Path):
            return str(data) in IMAGE_DATASETS or is_images(Path(data))
        return isinstance(data, Images) or _is_array(data) or (_is_pair(data) and _is_array(data[0]))

    def read(
        self,
        data: Any,
        *,
        model: Any = None,
        columns: Mapping[str, str] | None = None,
        root: str | Path | None = None,  # noqa: ARG002  # of texts
        **options: Any,
    ) -> ImageDataset:
        """`size` is in pixels, by default that of the model; splits that are missing are made."""
        size = options.pop("size", None)
        if wrong := [*options, *(name for name, column in (columns or {}).items() if column)]:
            raise UserError(f"Of images nothing but their size can be said: leave out {wrong[0]}.")
        if isinstance(data, ImageDataset):
            return data
        if isinstance(data, str | Path):
            return load_images(str(data), size or (None if model is None else model.network.size[0]))
        if size is not None:
            raise UserError("Images in memory have a size: leave out size.")
        if isinstance(data, Images) or _is_array(data) or _is_pair(data):
            pixels, labels = data if _is_pair(data) else (data, None)
            some = data if isinstance(data, Images) else images_of(pixels, labels, "the images")
            count = int(some.labels.max(initial=1)) + 1
            named = tuple(map(str, range(count))) if model is None else model.classes
            return ImageDataset(f"{len(some):,} images", named, {"all": some})
        raise UserError(
            f"{short(type(data).__name__)} holds no images: give a folder, an archive, a dataset's name, or "
            "(pixels, labels)."
        )

    def sources(self, data: str) -> list[Path]:
        """The file or folder, and the pictures that a table lists; none of what is generated."""
        source = file_of(data)
        return [] if source is None else [source, *listed_pictures(source)]

    def pack(self, data: ImageDataset) -> dict[str, Any]:
        """Arrays, and facts."""
        return arrays.pack(data, self.payload)

    def unpack(self, kept: Stored) -> ImageDataset:
        """The dataset that `pack` gave; a worker reads the images of a store once for all its tasks."""
        return _read_once(kept.store.path, kept.key)


@functools.lru_cache(maxsize=1)
def _read_once(path: Path, key: str) -> ImageDataset:
    about, splits = arrays.unpack(Store.open(path).get(key), ImageData.payload, Images)
    return ImageDataset(splits=splits, **about)


def _is_array(data: Any) -> bool:
    return getattr(data, "ndim", 0) in (3, 4) and hasattr(data, "dtype")


def _is_pair(data: Any) -> bool:
    return isinstance(data, tuple) and len(data) == 2 and hasattr(data[1], "__len__")
