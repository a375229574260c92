"""What explainers are tried on: models of texts and of images, and a toy kind, vectors, that is known only here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.models.test_attentive import batch_of, build, examples
from trueness.data.units import numbered, seeded, spans
from trueness.explainers.catalogue import add_common
from trueness.explainers.contract import as_explainer
from trueness.kinds.image.data.batches import ImageSplit
from trueness.kinds.image.data.images import Images
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.vector.kind import EXPLAINERS as ROW_EXPLAINERS
from trueness.kinds.vector.model import VectorSplit
from trueness.kinds.vector.network import VectorNetwork
from trueness.kinds.vector.vectors import Vectors as Rows
from trueness.models.network import Network
from trueness.registry import Registry

SIDE, CELL = 16, 4


@dataclass(frozen=True)
class Vectors:
    """Rows of features, some of them not to be explained."""

    features: torch.Tensor
    labels: torch.Tensor
    ids: torch.Tensor
    mask: torch.Tensor
    grid = ()

    def __len__(self):
        return len(self.labels)

    @property
    def width(self):
        return self.features.shape[1]

    @property
    def lengths(self):
        return torch.full((len(self),), self.width)

    def rows(self, index):
        return Vectors(self.features[index], self.labels[index], self.ids[index], self.mask[index])

    def cut(self, width, *, full):
        return self

    def hide(self, where):
        return replace(self, features=self.features.masked_fill(where & self.mask, 0.0))

    def finest(self):
        return self

    def alone(self):
        return (self.rows(torch.tensor([row])) for row in range(len(self)))

    def groups(self):
        return numbered(self.mask)

    def windows(self, size):
        return self.groups(), [spans(count, size) for count in self.mask.sum(dim=1).tolist()]

    def generators(self, seed):
        return (seeded(seed, number) for number in self.ids.tolist())


class Perceptron(Network):
    """Two layers."""

    shape = MappingProxyType({"classes": 3})

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()

    def values(self, batch):
        return batch.features[..., None]

    def logits(self, batch, *, values=None):
        return self.layers(batch.features if values is None else values[..., 0])


@dataclass(frozen=True)
class Subject:
    """A model and a batch; and, written out, how a kind measures gradients and noise and sums pixels."""

    registry: Registry
    model: Network
    part: nn.Module
    batch: Any
    size: Callable = torch.abs
    spread: Callable = torch.Tensor.std
    to_units: Callable = torch.clone
    noise: int = 30

    @property
    def chosen(self):
        with torch.no_grad():
            return self.model.logits(self.batch).argmax(dim=-1)


def _of_text(encoder="bilstm", attention="additive", head="linear"):
    model = build(encoder, attention, head)
    return Subject(TEXT_EXPLAINERS, model, model.encoder, batch_of(examples()), size=lambda one: one.norm(dim=-1))


def images(count=5, side=SIDE):
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (count, side // 4, side // 4, 3), dtype=np.uint8)
    return Images(small.repeat(4, axis=1).repeat(4, axis=2), (np.arange(count) % 2).astype(np.int64))


def _of_images(cell=CELL):
    network = IMAGE_MODELS["small-cnn"].build(3, (SIDE, SIDE), 0).eval()
    with torch.no_grad():
        for part in network.modules():
            if isinstance(part, nn.GroupNorm):
                part.bias.copy_(torch.linspace(-0.2, 0.4, len(part.bias)))
    conv = next(part for part in network.modules() if isinstance(part, nn.Conv2d))
    side = SIDE // cell
    return Subject(
        IMAGE_EXPLAINERS,
        network,
        conv,
        ImageSplit(images(), cell=cell).batch(range(4)),
        size=lambda one: one.abs().sum(dim=-1),
        spread=lambda one: one.max() - one.min(),
        to_units=lambda scores: scores.view(side, cell, side, cell).sum(dim=(1, 3)).flatten(),
        noise=50,
    )


def _of_vectors():
    registry = Registry("explainer of vectors", adapt=as_explainer)
    add_common(registry, {"occlusion": {"sliding_window_shapes": 2}})
    rng, model = torch.Generator().manual_seed(0), Perceptron()
    mask = torch.ones(4, 6, dtype=torch.bool)
    mask[0, 5] = mask[1, :3] = mask[2, 1:] = False
    features = torch.randn(4, 6, generator=rng, dtype=torch.float64)
    batch = Vectors(features, torch.tensor([0, 1, 2, 0]), torch.arange(4) + 7, mask)
    return Subject(registry, model, model.layers[0], batch, size=lambda one: one.abs()[..., 0])


def _of_rows():
    torch.manual_seed(0)
    model = VectorNetwork(nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)), 5, 3).double()
    features = np.random.default_rng(0).normal(3, 2, (30, 5))
    split = VectorSplit(Rows(features, np.arange(30) % 3), blank=features.mean(axis=0))
    batch = split.batch(range(4))
    batch = replace(batch, **{name: getattr(batch, name).double() for name in ("values", "blank", "background")})
    model.standardise(features)
    return Subject(ROW_EXPLAINERS, model, model.module[0], batch, size=lambda one: one.abs()[..., 0])


_MADE = {
    "bilstm additive linear": _of_text,
    "cnn dot linear": lambda: _of_text("cnn", "dot"),
    "average uniform linear": lambda: _of_text("average", "uniform"),
    "bilstm additive query": lambda: _of_text("bilstm", "additive", "query"),
    "bilstm dot query": lambda: _of_text("bilstm", "dot", "query"),
    "bilstm additive concat": lambda: _of_text("bilstm", "additive", "concat"),
    "images": _of_images,
    "pixels": lambda: _of_images(1),
    "rows": _of_rows,
    "vectors": _of_vectors,
}
SUBJECTS = tuple(_MADE)


@cache
def subject(name):
    """A new one would say the same: nothing changes it."""
    return _MADE[name]()
