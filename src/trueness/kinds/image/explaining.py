"""How images are given to be explained, and how the scores of their pixels are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueness.boundary import is_file, short
from trueness.data.dataset import Dataset
from trueness.errors import UserError
from trueness.kinds.image.data.files import SUFFIXES, read_picture
from trueness.kinds.image.data.images import Images, images_of

if TYPE_CHECKING:
    from trueness.kinds.image.models.model import ImageModel
    from trueness.stats.undefined import Floats


class ImageExplaining:
    """What `tn.explain` asks of the kind `image`."""

    def usual(self, model: ImageModel) -> list[str]:  # noqa: ARG002  # the same for all
        """Gradients, maps of a layer, and squares hidden."""
        return ["gradient", "grad-cam", "integrated-gradients", "occlusion"]

    def is_data(self, examples: Any) -> bool:
        """A dataset, its name, a folder, archive or table of pictures."""
        if isinstance(examples, str | Path):
            return Path(examples).suffix.lower() not in SUFFIXES
        return isinstance(examples, Dataset)

    def given(self, examples: Any, model: ImageModel, others: Sequence[str] | None = None) -> tuple[Images, bool]:
        """Images of a dataset; files of pictures, reduced to the model's size; pictures and arrays in memory."""
        if others is not None:
            raise UserError("Images have no second texts: leave out others.")
        if isinstance(examples, Images):
            return examples, bool((examples.labels < 0).any())
        several = isinstance(examples, list | tuple)
        one_by_one = [_as_pixels(one, model) for one in (examples if several else [examples])]
        if not one_by_one:
            return Images(np.zeros((0, *model.network.size, 3), dtype=np.uint8), np.zeros(0, dtype=np.int64)), True
        sizes = {one.shape[1:] for one in one_by_one}
        if len(sizes) > 1:
            raise UserError("The images differ in size: give the names of their files, or reduce them to one size.")
        return images_of(np.concatenate(one_by_one), None, "the images"), True

    def shown(self, model: ImageModel, examples: Images, row: int, scores: Floats) -> Mapping[str, Any]:  # noqa: ARG002
        """One score for each pixel."""
        pixels = examples.pixels[row]
        return {"tokens": (), "scores": scores.astype(np.float64).reshape(pixels.shape[:2]), "pixels": pixels}


def _as_pixels(one: Any, model: ImageModel) -> npt.NDArray[Any]:
    """(images, height, width, 3) of a file, a picture of PIL, or an array, of one image or of several."""
    if isinstance(one, str | Path):
        if not is_file(Path(one)) or Path(one).suffix.lower() not in SUFFIXES:
            raise UserError(f"There is no picture {short(str(one))} ({', '.join(SUFFIXES)}).")
        return read_picture(str(one), Path(one), model.network.size[0])[None]
    if hasattr(one, "convert"):
        one = one.convert("RGB")
    array = np.asarray(one.detach().cpu() if hasattr(one, "detach") else one)
    if array.ndim == 4 and array.shape[1] in (1, 3) and array.shape[-1] not in (1, 3):
        array = array.transpose(0, 2, 3, 1)  # as torch orders them
    if array.ndim == 3 and array.shape[0] == 3 and array.shape[-1] != 3:
        array = array.transpose(1, 2, 0)
    if array.ndim == 2 or (array.ndim == 3 and array.shape[-1] == 3):
        array = array[None]
    if array.dtype.kind not in "biuf":
        raise UserError(
            f"An object of type {type(one).__name__} is no image: give a dataset, the name of a file, an array "
            "(height, width, 3), or a list of these."
        )
    return images_of(array, None, "the images").pixels
