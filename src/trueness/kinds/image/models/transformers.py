"""Classifiers of images by the transformers library: from a folder, a pair of model and processor, or a pipeline."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from trueness.boundary import first_line, quoted, reading
from trueness.engine import disk
from trueness.errors import UserError
from trueness.kinds.image.data.files import LEAST_SIDE
from trueness.kinds.image.models.model import ImageModel
from trueness.kinds.image.models.network import ImageNetwork
from trueness.models.pretrained import (
    SAFELY,
    check_classes,
    check_saved,
    check_size,
    class_names,
    import_transformers,
    quiet,
    shapes_of,
)
from trueness.models.saved import check_finite
from trueness.rehearsal import rehearse

_LARGEST_SIDE = 4096
"""Pixels of a side of what a model reads."""


@dataclass(frozen=True)
class TransformersImageModel(ImageModel):
    """A classifier with what prepares its images; it is saved as `save_pretrained` does."""

    processor: Any = field(default=None, repr=False)

    def save(self, folder: str | Path) -> Path:
        """Safetensors, configuration and processor."""
        path = Path(folder)
        module: Any = self.network.module
        with disk(f"the model {path}", full="free some space", refused="choose another folder"):
            module.save_pretrained(path)
            self.processor.save_pretrained(path)
        return path


def open_folder(path: Path, device: str = "cpu") -> ImageModel:
    """The classifier that a folder holds; nothing of it is run, and nothing is fetched."""
    transformers = import_transformers()
    files = check_saved(path)

    def processor_of() -> Any:
        check_size(path, shapes_of(files), transformers.AutoModelForImageClassification.from_config)
        return transformers.AutoImageProcessor.from_pretrained(path, **SAFELY)

    with quiet(), reading(path, "cannot be read as a classifier of images with its processor"):
        rehearse(path, processor_of)
        processor = processor_of()
        model, loading = transformers.AutoModelForImageClassification.from_pretrained(
            path,
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are told below
            **SAFELY,
        )
    check_classes(f"{path}: {type(model).__name__}", model.config)
    drawn = sorted({*loading["missing_keys"], *(name for name, *_ in loading["mismatched_keys"])})
    if drawn:
        raise UserError(f"{path} has no weights {drawn[0]} of the shape that config.json says: they would be random.")
    check_finite(path, model.state_dict())
    return of_pair(model, processor, device)


def of_pair(model: Any, processor: Any, device: str = "cpu") -> ImageModel:
    """A classifier of transformers and its processor, with the classes that its configuration names."""
    name = type(model).__name__
    names = class_names(name, model.config)
    size = _size_of(processor)
    mean, spread = (_colours_of(processor, which) for which in ("image_mean", "image_std"))
    if min(spread) <= 0:
        raise UserError("The image processor divides by an image_std that is not above 0.")
    network = ImageNetwork(model, len(names), size, mean=mean, spread=spread, family="transformers").eval()
    try:
        with torch.no_grad():
            model(torch.zeros(1, 3, *size, dtype=model.dtype, device=model.device))
    except Exception as error:  # whatever its code says
        raise UserError(
            f"{name} does not run on images of {size[0]} by {size[1]} pixels, as its processor makes them "
            f"({first_line(error)})."
        ) from error
    return TransformersImageModel(network.to(device), names, processor=processor)


def _colours_of(processor: Any, name: str) -> list[float]:
    """A number for red, green and blue."""
    given: Any = getattr(processor, name, None)
    numbers = [float(one) for one in given if type(one) in (int, float)] if isinstance(given, list | tuple) else []
    if len(numbers) != 3 or len(given) != 3 or not all(map(math.isfinite, numbers)):
        raise UserError(
            f"{name} of the image processor is {quoted(given)}, and not a number for each of three colours."
        )
    return numbers


def _size_of(processor: Any) -> tuple[int, int]:
    """Height and width of what the model reads."""
    for name in ("crop_size", "size"):
        used = name == "size" or getattr(processor, "do_center_crop", False)
        said = dict(getattr(processor, name, None) or {}) if used else {}
        square = said.get("shortest_edge")
        sides: list[Any] = [said["height"], said.get("width")] if said.get("height") else [square, square]
        if all(sides):
            if not all(type(side) is int and LEAST_SIDE <= side <= _LARGEST_SIDE for side in sides):
                raise UserError(
                    f"The image processor makes images of {quoted(sides[0])} by {quoted(sides[1])} pixels: whole "
                    f"numbers from {LEAST_SIDE} to {_LARGEST_SIDE} are read."
                )
            return int(sides[0]), int(sides[1])
    raise UserError("The image processor does not say what size images become: set its size to height and width.")
