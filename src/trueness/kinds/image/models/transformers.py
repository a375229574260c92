"""Classifiers of images by the transformers library: from a folder, a pair of model and processor, or a pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueness.boundary import reading
from trueness.engine import disk
from trueness.errors import UserError, install
from trueness.kinds.image.models.model import ImageModel
from trueness.kinds.image.models.network import ImageNetwork


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
    try:
        import transformers
    except ImportError as error:
        raise UserError(f"Transformers are in an extra: {install('transformers')}.") from error
    safely: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    with reading(path, "cannot be read as a classifier of images with its processor"):
        reader: Any = transformers.AutoImageProcessor
        processor = reader.from_pretrained(path, **safely)
        model = transformers.AutoModelForImageClassification.from_pretrained(path, use_safetensors=True, **safely)
    return of_pair(model, processor, device)


def of_pair(model: Any, processor: Any, device: str = "cpu") -> ImageModel:
    """A classifier of transformers and its processor, with the classes that its configuration names."""
    size, classes = _size_of(processor), int(model.config.num_labels)
    mean, spread = list(processor.image_mean), list(processor.image_std)
    network = ImageNetwork(model, classes, size, mean=mean, spread=spread, family="transformers")
    names = tuple(str(model.config.id2label[number]) for number in range(classes))
    return TransformersImageModel(network.to(device).eval(), names, processor=processor)


def _size_of(processor: Any) -> tuple[int, int]:
    """Height and width of what the model reads."""
    for name in ("crop_size", "size"):
        used = name == "size" or getattr(processor, "do_center_crop", False)
        said = dict(getattr(processor, name, None) or {}) if used else {}
        if said.get("height") and said.get("width"):
            return int(said["height"]), int(said["width"])
        if said.get("shortest_edge"):
            return int(said["shortest_edge"]), int(said["shortest_edge"])
    raise UserError("The image processor does not say what size images become: set its size to height and width.")
