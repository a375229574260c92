"""How image classifiers are trained again with pixels hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness.kinds.image.data.batches import ImageSplit
from trueness.kinds.image.data.images import ImageDataset
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.image.models.model import ImageModel
from trueness.kinds.image.models.training import ImageRecipe, accuracy, train_images
from trueness.protocols.roar.step import Retraining, View


def retraining(family: str, data: ImageDataset, device: str, *, recipe: ImageRecipe | None = None) -> Retraining:
    """Models of a family on images of a dataset; what is hidden shows the mean colour of the training images.

    Where there is no development split, every tenth of the training images, drawn at random, chooses the epoch.
    """
    splits = {name: data[name] for name in ("train", "test")}
    if "dev" in data.splits:
        splits["dev"] = data["dev"]
    else:
        order = np.random.default_rng([0, *b"roar"]).permutation(len(splits["train"]))
        dev, rest = np.split(order, [max(2, len(order) // 10)])
        splits |= {"train": data["train"].pick(rest), "dev": data["train"].pick(dev)}
    blank = (splits["train"].pixels.mean(axis=(0, 1, 2)) / 255).tolist()
    shown = {name: ImageSplit(images, device, blank=blank) for name, images in splits.items()}

    def train(seeds: Sequence[int], views: Sequence[View]) -> list[ImageModel]:
        found = []
        for seed, view in zip(seeds, views, strict=True):
            network = IMAGE_MODELS[family].build(len(data.classes), data.size, seed).to(device)
            seen = {name: view(name, shown[name]) for name in ("train", "dev")}
            train_images(network, seen["train"], seen["dev"], recipe or ImageRecipe(), seed)
            found.append(ImageModel(network, data.classes))
        return found

    def random(seed: int) -> Any:
        known: Any = IMAGE_EXPLAINERS["random"]
        return replace(known, seed=seed)

    return Retraining(train, lambda _: shown, lambda model, split: {"accuracy": accuracy(model.network, split)}, random)
