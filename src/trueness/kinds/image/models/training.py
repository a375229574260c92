"""Training of image classifiers until a validation accuracy is reached, with checkpoints (Zhou et al. 2022)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trueness.kinds.image.data.batches import ImageSplit
from trueness.kinds.image.models.network import ImageNetwork
from trueness.models.network import check_outputs, inspecting

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class ImageRecipe:
    """Adam at its usual settings, as in the paper: its `stop`, batches and gains; its schedule never comes to act."""

    epochs: int = 50
    batch_size: int = 128
    learning_rate: float = 1e-3
    stop: float = 0.97
    """Training ends with the epoch whose validation accuracy exceeds this."""
    gain: float = 0.05
    """A checkpoint is kept each time validation accuracy is so much higher than at the last one."""


@dataclass(frozen=True)
class ImageCheckpoint:
    """The network after an epoch."""

    epoch: int
    accuracy: float
    """On the development split."""
    weights: Weights


@dataclass(frozen=True)
class ImageTraining:
    """How it went; the last checkpoint is the best one, which the network now has."""

    history: tuple[dict[str, float], ...]
    checkpoints: tuple[ImageCheckpoint, ...]


def train_images(
    network: ImageNetwork, train: ImageSplit, dev: ImageSplit, recipe: ImageRecipe, seed: int, *, keep: bool = False
) -> ImageTraining:
    """Train a network in place; with `keep` also keep what it was at each gain of accuracy."""
    rng = np.random.default_rng([seed, *b"images"])
    optimiser = torch.optim.Adam(network.parameters(), lr=recipe.learning_rate, fused=train.on_gpu)
    loss_of = nn.CrossEntropyLoss()
    history: list[dict[str, float]] = []
    best = ImageCheckpoint(0, accuracy(network, dev), _weights(network))
    kept = [best] if keep else []
    with steady(), _layout(network, train):
        for epoch in range(1, recipe.epochs + 1):
            network.train()
            total = torch.zeros((), device=train.device)
            pieces = [rows for rows in train.shuffled(recipe.batch_size, rng) if len(rows) > 1]  # BatchNorm needs two
            for batch in train.batches(pieces):
                with torch.autocast(train.device.type, torch.bfloat16, enabled=train.on_gpu):
                    loss = loss_of(network(batch).logits.float(), batch.labels)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                total += loss.detach()
            found = accuracy(network, dev)
            history.append({"epoch": epoch, "loss": float(total) / len(pieces), "dev accuracy": found})
            if found > best.accuracy or epoch == 1:
                best = ImageCheckpoint(epoch, found, _weights(network))
            if keep and found >= kept[-1].accuracy + recipe.gain:
                kept.append(best)
            if found > recipe.stop:
                break
    network.load_state_dict(best.weights)
    network.eval()
    last = [] if kept and kept[-1].epoch == best.epoch else [best]
    return ImageTraining(tuple(history), (*kept, *last))


def accuracy(network: ImageNetwork, split: ImageSplit) -> float:
    """The share of the images that it gets right."""
    return float((predicted(network, split) == split.labels).double().mean())


def predicted(network: ImageNetwork, split: ImageSplit) -> Tensor:
    """(images,) the classes that it gives."""
    with inspecting(network):
        found = [check_outputs(network, network(batch).logits).argmax(dim=-1) for _, batch in split.in_order()]
    return torch.cat(found)


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


@contextlib.contextmanager
def _layout(network: ImageNetwork, split: ImageSplit) -> Iterator[None]:
    """On a GPU the channels of a pixel lie side by side, as its tensor cores want them."""
    if split.on_gpu:
        module: Any = network.module
        module.to(memory_format=torch.channels_last)
    yield
