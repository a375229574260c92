"""How classifiers of images are opened, whatever form they are in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.boundary import is_file, read_settings
from trueness.kinds.image.models.families import IMAGE_MODELS, OLDER, as_image_family
from trueness.models import saved
from trueness.models.families import Family, ModelsOfFamilies
from trueness.plugins import is_function

if TYPE_CHECKING:
    from trueness.kinds.image.models.model import ImageModel


def recognise(folder: str | Path, family: Any = None) -> tuple[Family, dict[str, Any]]:
    """The family of a saved classifier, and its config.json; nothing is loaded."""
    return saved.recognise(folder, IMAGE_MODELS, as_image_family, family)


class ImageModels(ModelsOfFamilies):
    """The models part of the kind `image`."""

    families = IMAGE_MODELS

    def recognises(self, model: Any) -> bool:
        """A folder of transformers or of an earlier version, (model, processor), a pipeline; others say their kind."""
        if not isinstance(model, str | Path):
            return _with_processor(model) is not None
        if is_function(model) or not is_file(Path(model) / saved.CONFIG):
            return False
        config = read_settings(Path(model) / saved.CONFIG)
        return isinstance(config, dict) and (config.get("format") == OLDER or _classifies_images(config))

    def open(self, model: Any, device: str = "cpu", family: Any = None) -> ImageModel:
        """A classifier on a device."""
        from trueness.kinds.image.models.transformers import of_pair, open_folder

        if not isinstance(model, str | Path):
            pair = _with_processor(model)
            assert pair is not None
            return of_pair(*pair, device)
        if family is None and _classifies_images(saved.read_config(Path(model))):
            return open_folder(Path(model), device)
        found, config = recognise(model, family)
        opened: ImageModel = found.load(Path(model), config, device)
        return opened


def _classifies_images(config: Mapping[str, Any]) -> bool:
    """Whether `save_pretrained` of transformers wrote it for a classifier of images."""
    names = config.get("architectures")
    return isinstance(names, list) and any(str(name).endswith("ForImageClassification") for name in names)


def _with_processor(model: Any) -> tuple[Any, Any] | None:
    """A classifier of transformers and what prepares its images, as a pair or as a pipeline has them."""
    network, processor = (
        model
        if isinstance(model, tuple) and len(model) == 2
        else (getattr(model, "model", None), getattr(model, "image_processor", None))
    )
    return (network, processor) if hasattr(processor, "image_mean") and hasattr(network, "config") else None
