"""Twins: models trained to predict what a base model predicts while attending elsewhere (AtteFa 2022, section 3.2)."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.batches import Batch, EncodedSplit
from trueness.data.dataset import TextDataset
from trueness.models.attentive import AttentiveClassifier, attentive
from trueness.models.checkpoint import Checkpoint
from trueness.models.classifier import Classifier
from trueness.models.cuda_graphs import Together, rounded_up
from trueness.models.inspecting import inspecting
from trueness.models.loop import Loop
from trueness.models.network import Prediction, TextNetwork
from trueness.models.recipes import RECIPES, Divergence, Recipe
from trueness.models.scheduling import run_loops
from trueness.models.training import build
from trueness.stats.differentiable import jensen_shannon, skewed_kl, total_variation
from trueness.stats.divergence import LN2


@dataclass(frozen=True)
class Reference:
    """What a base model predicts and attends to on a split, computed once: on the device, rows as in the split."""

    probability: Tensor
    """(examples, classes)"""
    attention: Tensor
    """(examples, tokens), zero beyond each text"""

    @classmethod
    def of(cls, network: TextNetwork, split: EncodedSplit) -> Reference:
        """Look at a whole split."""
        width = rounded_up(int(split.sizes.max()))
        probability = torch.zeros(len(split), network.classes, device=split.device)
        attention = torch.zeros(len(split), width, device=split.device)
        with inspecting(network):
            for rows, batch in split.in_order():
                found = network(batch)
                index = torch.from_numpy(rows).to(split.device)
                probability[index] = found.logits.float().softmax(dim=-1)
                attention[index, : found.attention.shape[1]] = found.attention.float()
        return cls(probability, attention)


@dataclass(frozen=True)
class Apartness:
    """How far two models are apart on each example of a split."""

    change: npt.NDArray[np.float64]
    """Total variation between the predictions: [0, 1]."""
    divergence: npt.NDArray[np.float64]
    """Jensen-Shannon divergence between the attentions: [0, ln 2]."""

    @classmethod
    def between(cls, first: Reference, second: Reference) -> Apartness:
        """Of two models on the same split."""
        if first.probability.shape != second.probability.shape or first.attention.shape != second.attention.shape:
            raise ValueError("the two looks are not at the same split")
        change = total_variation(first.probability.double(), second.probability.double())
        divergence = jensen_shannon(first.attention.double(), second.attention.double())
        return cls(change.cpu().numpy(), divergence.clamp(0, LN2).cpu().numpy())


class TwinObjective(Together):
    """Equation 4, weighted: the change of prediction minus `weight` times the divergence of attention.

    A weight of infinity ignores the prediction: it shows how far attention can move at all.
    """

    def __init__(self, base: Reference, weight: float = 1.0, divergence: Divergence = "jensen-shannon") -> None:
        self.base, self.weight, self.divergence = base, weight, divergence
        self._weights: Tensor | None = None

    def __call__(self, prediction: Prediction, batch: Batch, index: Tensor) -> Tensor:
        """One loss per example."""
        width = batch.tokens.shape[1]
        probability = prediction.logits.softmax(dim=-1)
        return self._loss(
            probability, prediction.attention, self.base.probability[index], self.base.attention[index, :width]
        )

    def alike(self, other: TwinObjective) -> bool:
        """Twins of one base model, pushed away alike; weights may differ, as long as both keep to the prediction."""
        same = other.base is self.base and other.divergence == self.divergence
        return same and math.isinf(other.weight) == math.isinf(self.weight)

    def together(self, others: Sequence[TwinObjective], prediction: Prediction, batch: Batch, index: Tensor) -> Tensor:
        """(models, batch)."""
        width = batch.tokens.shape[-1]
        change = total_variation(prediction.logits.softmax(dim=-1), self.base.probability[index])
        apart = self._apart(prediction.attention, self.base.attention[index][:, :, :width])
        if math.isinf(self.weight):
            return -apart
        if self._weights is None:  # not while a step is recorded: that would be a copy from the host
            self._weights = change.new_tensor([[other.weight] for other in others])
        return change - self._weights * apart

    def _apart(self, attention: Tensor, base_attention: Tensor) -> Tensor:
        if self.divergence == "jensen-shannon":
            return jensen_shannon(attention, base_attention) / LN2
        return skewed_kl(attention, base_attention)

    def whole(self, look: Reference) -> Tensor:
        """One loss per example of the split that the base model was looked at on."""
        return self._loss(look.probability, look.attention, self.base.probability, self.base.attention)

    def _loss(self, probability: Tensor, attention: Tensor, base_probability: Tensor, base_attention: Tensor) -> Tensor:
        apart = self._apart(attention, base_attention)
        if math.isinf(self.weight):
            return -apart
        return total_variation(probability, base_probability) - self.weight * apart


@dataclass(frozen=True)
class Twin:
    """A model trained against a base model."""

    model: Classifier
    seed: int
    weight: float
    epoch: int
    """The epoch that was kept, counted from 1."""


def train_twins(
    base: Classifier,
    data: TextDataset,
    jobs: Sequence[tuple[int, float]],
    *,
    recipe: str | Recipe = "twin",
    divergence: Divergence = "jensen-shannon",
    vectors: npt.NDArray[np.float32] | None = None,
    device: str = "cpu",
    states: Sequence[str | Path] | None = None,
) -> list[Twin]:
    """A twin for every (seed, weight), all at the same time; the base model is looked at once, and never again.

    Each starts anew, with the base model's shape and its own seed. The epoch with the least objective on the selection
    split is kept.
    """
    how = RECIPES[recipe] if isinstance(recipe, str) else recipe
    splits = {split: EncodedSplit(data[split], data.vocabulary, device) for split in {"train", how.select_on}}
    config = attentive(base.network).config
    watched = base.network if base.device == torch.device(device) else copy.deepcopy(base.network).to(device)
    looks = {name: Reference.of(watched, split) for name, split in splits.items()}
    loops, checkpoints = [], []
    for number, (seed, weight) in enumerate(jobs):
        network = build(lambda: AttentiveClassifier(config), seed, vectors).to(device)
        objective = TwinObjective(looks["train"], weight, divergence)
        measure = _Measure(TwinObjective(looks[how.select_on], weight, divergence), splits[how.select_on])
        loops.append(Loop(network, how, splits["train"], objective, measure, seed))
        identity = {
            "config": asdict(config),
            "recipe": asdict(how),
            "seed": seed,
            "twin": [str(weight), divergence],
        }
        checkpoints.append(Checkpoint(None if states is None else states[number], identity))
        checkpoints[-1].restore(loops[-1])
    run_loops(loops, checkpoints)
    notes = ("the epoch was chosen on the test split, as published",) if how.select_on == "test" else ()
    return [
        Twin(
            replace(base, network=loop.finish(), history=tuple(loop.progress.history), notes=notes),
            seed,
            weight,
            loop.best_epoch,
        )
        for loop, (seed, weight) in zip(loops, jobs, strict=True)
    ]


class _Measure:
    """The mean objective on the selection split."""

    def __init__(self, objective: TwinObjective, split: EncodedSplit) -> None:
        self._objective, self._split = objective, split

    def __call__(self, network: AttentiveClassifier) -> dict[str, float]:
        look = Reference.of(network, self._split)
        apart = Apartness.between(look, self._objective.base)
        return {
            "loss": float(self._objective.whole(look).double().mean()),
            "change": float(apart.change.mean()),
            "divergence": float(apart.divergence.mean()),
        }
