"""Training of image classifiers: the loop of all kinds, the steps of images, and what the network was on the way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueness.errors import UserError
from trueness.kinds.image.data.batches import ImageSplit
from trueness.kinds.image.data.images import ImageDataset
from trueness.kinds.image.models.model import ImageModel
from trueness.kinds.image.models.network import ImageNetwork
from trueness.models.cuda_graphs import cross_entropy
from trueness.models.evaluation import Evaluation, predict
from trueness.models.loop import Checkpoint, Loop
from trueness.models.recipes import RECIPES, Recipe
from trueness.models.training import SplitView

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class ImageCheckpoint:
    """The network after an epoch; epoch 0 is before training."""

    epoch: int
    accuracy: float
    """On the development split."""
    weights: Weights


@dataclass(frozen=True)
class ImageTraining:
    """How it went; the last checkpoint is the best one, which the network now has."""

    history: tuple[dict[str, float], ...]
    checkpoints: tuple[ImageCheckpoint, ...]


class ImageSteps:
    """Takes the steps; a GPU computes them in bfloat16, the channels of a pixel side by side."""

    def __init__(self, network: ImageNetwork, train: ImageSplit, recipe: Recipe) -> None:
        self.network, self.train, self.recipe = network, train, recipe
        self.optimiser = torch.optim.Adam(
            network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=train.on_gpu
        )
        self.total = torch.zeros((), device=train.device)
        """The summed loss of the last pass."""
        if train.on_gpu:
            module: Any = network.module
            module.to(memory_format=torch.channels_last)

    def epoch(self, rng: np.random.Generator) -> Iterator[None]:
        """Take the steps of one pass over the data."""
        self.network.train()
        self.total.zero_()
        # BatchNorm needs two.
        pieces = [rows for rows in self.train.shuffled(self.recipe.batch_size, rng) if len(rows) > 1]
        for batch in self.train.batches(pieces):
            with torch.autocast(self.train.device.type, torch.bfloat16, enabled=self.train.on_gpu):
                logits = self.network(batch).logits
            loss = cross_entropy(logits.float(), batch.labels).mean()
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            if self.recipe.clip is not None:
                torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
            self.optimiser.step()
            self.total += loss.detach() * len(batch)
            yield


def train_images(
    network: ImageNetwork,
    train: ImageSplit,
    dev: ImageSplit,
    recipe: Recipe | str,
    seed: int,
    *,
    gain: float | None = None,
    checkpoint: Checkpoint | None = None,
) -> ImageTraining:
    """Train a network in place; with `gain` keep what it was each time accuracy was so much higher than before."""
    recipe = recipe if isinstance(recipe, Recipe) else RECIPES[recipe]
    measure = Evaluation(dev, network.classes)
    kept = [] if gain is None else [ImageCheckpoint(0, accuracy(network, dev), _weights(network))]
    devices = [train.device] if train.on_gpu else []
    with steady(), torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)  # dropout draws
        given: Any = train  # its steps are taken below
        steps = ImageSteps(network, train, recipe)
        loop = Loop(network, recipe, given, cross_entropy, measure, seed, checkpoint, steps)
        while not loop.finished:
            for _ in loop.steps():
                pass
            loop.look()
            last = loop.progress.history[-1]["accuracy"]
            if gain is not None and last >= kept[-1].accuracy + gain and loop.best_epoch == loop.progress.epoch:
                kept.append(ImageCheckpoint(loop.progress.epoch, last, _weights(network)))
        loop.finish()
    history = tuple(loop.progress.history)
    if not kept or kept[-1].epoch != loop.best_epoch:
        kept.append(ImageCheckpoint(loop.best_epoch, history[loop.best_epoch - 1]["accuracy"], _weights(network)))
    return ImageTraining(history, tuple(kept))


def train_image_model(
    family: Any,
    data: ImageDataset,
    seed: int,
    *,
    view: SplitView | None = None,
    state: str | Path | None = None,
    recipe: str | Recipe | None = None,
    device: str = "cpu",
    **shape: Any,
) -> ImageModel:
    """A classifier of a dataset's images; with a `view` it sees the splits changed."""
    if shape:
        raise UserError(
            f"{family.name} reads images in their size and has nothing to set: leave out {', '.join(shape)}."
        )
    how = recipe if isinstance(recipe, Recipe) else RECIPES[recipe or "image"]
    network = family.build(len(data.classes), data.size, seed).to(device)
    if next((one for one in network.parameters() if one.requires_grad), None) is None:
        raise UserError(f"{family.name} makes a network without weights to train.")
    model = ImageModel(network, data.classes)
    identity = {"recipe": asdict(how), "seed": seed, "data": data.name, "family": family.name, "size": data.size}
    checkpoint = None if state is None else Checkpoint(state, identity, draws=True)
    splits = {name: model.coded(data[name]) for name in ("train", how.select_on)}
    if view is not None:
        splits = {name: view(name, split) for name, split in splits.items()}
    trained = train_images(network, splits["train"], splits[how.select_on], how, seed, checkpoint=checkpoint)
    return ImageModel(network, data.classes, trained.history)


def accuracy(network: ImageNetwork, split: ImageSplit) -> float:
    """The share of the images that it gets right."""
    return float((predicted(network, split) == split.labels).double().mean())


def predicted(network: ImageNetwork, split: ImageSplit) -> Tensor:
    """(images,) the classes that it gives."""
    return torch.from_numpy(predict(network, split)[0].argmax(axis=1)).to(split.device)


def _weights(network: ImageNetwork) -> Weights:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


@contextlib.contextmanager
def steady() -> Iterator[None]:
    """Let cuDNN take the same algorithms every time; then whatever it took before."""
    before = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    try:
        yield
    finally:
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = before
