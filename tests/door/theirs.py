"""Somebody else's explainer, dataset and model family: one file, which knows trueness and is unknown to it."""

from dataclasses import dataclass

import torch

from trueness.explainers.contract import Explainer, Facts
from trueness.kinds.text.models.network import Prediction, TextNetwork


def later(model, batch, target):
    """Later words count more."""
    place = torch.arange(batch.mask.shape[1], device=batch.mask.device)
    return place.float().expand(batch.mask.shape) + 1


@dataclass(frozen=True)
class Earlier(Explainer):
    """Earlier words count more."""

    facts = Facts(signed=False, machinery=("position",))
    power: float = 1.0

    def attribute(self, model, batch, target="predicted"):
        place = torch.arange(batch.mask.shape[1], 0, -1, device=batch.mask.device).float()
        return (place**self.power).expand(batch.mask.shape)


def films():
    """One word of a text decides."""
    words = ("a", "film", "with", "plot", "scene")
    texts = [
        (" ".join([*words[index % 5 :], ("bad", "good")[index % 2], *words[: index % 4]]), index % 2)
        for index in range(60)
    ]
    return {"train": texts[:36], "dev": texts[36:48], "test": texts[48:]}


class Bag(TextNetwork):
    """Words on their own, weighted alike."""

    def __init__(self, vocabulary, classes, *, embedding=8, sharpness=1.0):
        super().__init__()
        self.sharpness = sharpness
        self.embedding = torch.nn.Embedding(vocabulary, embedding, padding_idx=0)
        self.output = torch.nn.Linear(embedding, classes)

    def forward(self, batch, *, embeddings=None, attention=None):
        states = self.embed(batch) if embeddings is None else embeddings
        weights = batch.mask / batch.mask.sum(dim=1, keepdim=True).clamp(min=1) if attention is None else attention
        return Prediction(self.sharpness * self.output((weights[..., None] * states).sum(dim=1)), weights, states)
