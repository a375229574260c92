"""A trained image classifier with its classes, and its folder: safetensors and JSON, no code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save

from trueness.boundary import check_folder, quoted, read_json, reading
from trueness.engine import disk, write_atomically
from trueness.errors import UserError
from trueness.kinds.image.data.batches import ImageSplit
from trueness.kinds.image.data.images import ImageDataset, Images
from trueness.kinds.image.models.families import IMAGE_MODELS, ImageFamily, as_image_family
from trueness.kinds.image.models.network import ImageNetwork
from trueness.kinds.image.models.training import ImageRecipe, train_images
from trueness.kinds.text.models.text_model import check_finite
from trueness.models.saved import foreign

FORMAT = "image-model 1"
_PLACES = 16
"""Of a side, by default: pixels alone tell little, and there are many."""
_CONFIG, _WEIGHTS = "config.json", "weights.safetensors"


@dataclass(frozen=True)
class ImageModel:
    """A network, its classes, and how training went."""

    network: ImageNetwork = field(repr=False)
    classes: tuple[str, ...]
    history: tuple[Mapping[str, float], ...] = field(default=(), repr=False)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.network.device

    def coded(self, images: Images, cell: int | None = None) -> ImageSplit:
        """Images on the model's device, ready to be batched; places are squares of a 16th of the side, or of `cell`."""
        side = min(images.pixels.shape[1:3])
        chosen = cell or max(1, side // _PLACES)
        if cell is None and any(length % chosen for length in images.pixels.shape[1:3]):
            chosen = 1
        return ImageSplit(images, self.device, cell=chosen, blank=self.network.mean.flatten().tolist())

    def save(self, folder: str | Path) -> Path:
        """Write config.json and weights.safetensors; the config last, so that a folder with one is complete."""
        path = Path(folder)
        config = {
            "format": FORMAT,
            "family": self.network.family,
            "classes": list(self.classes),
            "size": list(self.network.size),
            "history": [dict(row) for row in self.history],
        }
        weights = {name: value.detach().cpu().contiguous() for name, value in self.network.state_dict().items()}
        with disk(f"the model {path}", full="free some space", refused="choose another folder"):
            path.mkdir(parents=True, exist_ok=True)
            write_atomically(path / _WEIGHTS, save(weights))
            write_atomically(path / _CONFIG, json.dumps(config, ensure_ascii=False, indent=1).encode())
        return path


def load_image_model(folder: str | Path, device: str = "cpu", *, family: Any = None) -> ImageModel:
    """The classifier that `save` wrote; a `family` of somebody else's is given by its name, address or object."""
    path = Path(folder)
    check_folder(path)
    config = read_json(path / _CONFIG)
    if not isinstance(config, Mapping) or config.get("format") != FORMAT:
        form = config.get("format") if isinstance(config, Mapping) else config
        raise UserError(f"{path} has format {quoted(form)}; an image model of this version has {FORMAT!r}.")
    with reading(path / _CONFIG, "does not describe an image model"):
        classes, (height, width) = tuple(map(str, config["classes"])), map(int, config["size"])
        said, history = str(config["family"]), tuple(map(dict, config["history"]))
    kind = _family(path / _CONFIG, said, family)
    with reading(path / _WEIGHTS, "is missing or unreadable"):
        weights = load_file(path / _WEIGHTS)
    check_finite(path, weights)
    network = kind.build(len(classes), (height, width), 0)
    with reading(path / _WEIGHTS, f"does not fit the model {kind.name}"):
        network.load_state_dict(weights)
    return ImageModel(network.to(device).eval(), classes, history)


def _family(config: Path, said: str, given: Any) -> ImageFamily:
    """The family that is given, or the registered one that a file names; no code is looked for by its name."""
    if given is None:
        if said not in list(IMAGE_MODELS):
            raise foreign(config, said)
        return IMAGE_MODELS[said]
    return IMAGE_MODELS[given] if isinstance(given, str) else as_image_family(given, said)


def train_image_model(
    model: str, data: ImageDataset, *, recipe: ImageRecipe | None = None, seed: int = 0, device: str = "cpu"
) -> ImageModel:
    """A classifier of a dataset's images: `train_image_model("small-cnn", load_images("photo-crops"))`."""
    network = IMAGE_MODELS[model].build(len(data.classes), data.size, seed).to(device)
    if next((one for one in network.parameters() if one.requires_grad), None) is None:
        raise UserError(f"{model} makes a network without weights to train.")
    blank = network.mean.flatten().tolist()
    train, dev = (ImageSplit(data[name], device, blank=blank) for name in ("train", "dev"))
    found = train_images(network, train, dev, recipe or ImageRecipe(), seed)
    return ImageModel(network, data.classes, found.history)
