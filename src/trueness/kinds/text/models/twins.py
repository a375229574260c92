"""Twins: models trained to predict what a base model predicts while attending elsewhere (AtteFa 2022, section 3.2)."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.kinds.text.data.batches import Batch, EncodedSplit
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.models.attentive import AttentiveClassifier, attentive
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.network import Prediction, TextNetwork
from trueness.kinds.text.models.stack import run_loops
from trueness.models.cuda_graphs import Together, rounded_up
from trueness.models.loop import Checkpoint, Loop
from trueness.models.network import check_outputs, inspecting
from trueness.models.recipes import RECIPES, Divergence, Recipe
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
        return cls(check_outputs(network, probability), attention)


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

    def __init__(
        self, base: Reference, weight: float | Tensor = 1.0, divergence: Divergence = "jensen-shannon"
    ) -> None:
        self.base, self.weight, self.divergence = base, weight, divergence
        self.free = isinstance(weight, float) and math.isinf(weight)

    def __call__(self, prediction: Prediction, batch: Batch, index: Tensor) -> Tensor:
        """One loss per example."""
        attention = self.base.attention[index][..., : batch.tokens.shape[-1]]
        look = Reference(prediction.logits.softmax(dim=-1), prediction.attention)
        return self._loss(look, Reference(self.base.probability[index], attention))

    def alike(self, other: TwinObjective) -> bool:
        """Twins of one base model, pushed away alike; weights may differ, as long as both keep to the prediction."""
        return (other.base is self.base, other.divergence, other.free) == (True, self.divergence, self.free)

    def joined(self, others: Sequence[TwinObjective], device: torch.device) -> TwinObjective:
        """With the weight of each."""
        if self.free:
            return self
        return TwinObjective(
            self.base, torch.tensor([[other.weight] for other in others], device=device), self.divergence
        )

    def whole(self, look: Reference) -> Tensor:
        """One loss per example of the split that the base model was looked at on."""
        return self._loss(look, self.base)

    def _loss(self, look: Reference, base: Reference) -> Tensor:
        if self.divergence == "jensen-shannon":
            apart = jensen_shannon(look.attention, base.attention) / LN2
        else:
            apart = skewed_kl(look.attention, base.attention)
        return -apart if self.free else total_variation(look.probability, base.probability) - self.weight * apart


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
    loops = []
    for number, (seed, weight) in enumerate(jobs):
        network = build(lambda: AttentiveClassifier(config), seed, vectors).to(device)
        objective = TwinObjective(looks["train"], weight, divergence)
        selected = TwinObjective(looks[how.select_on], weight, divergence)
        measure = functools.partial(_measure, objective=selected, split=splits[how.select_on])
        twin = [str(weight), divergence]
        identity = {"config": asdict(config), "recipe": asdict(how), "seed": seed, "twin": twin}
        checkpoint = None if states is None else Checkpoint(states[number], identity)
        loops.append(Loop(network, how, splits["train"], objective, measure, seed, checkpoint))
    run_loops(loops)
    notes = ("the epoch was chosen on the test split, as published",) if how.select_on == "test" else ()
    found = []
    for loop, (seed, weight) in zip(loops, jobs, strict=True):
        model = replace(base, network=loop.finish(), history=tuple(loop.progress.history), notes=notes)
        found.append(Twin(model, seed, weight, loop.best_epoch))
    return found


def _measure(network: AttentiveClassifier, objective: TwinObjective, split: EncodedSplit) -> dict[str, float]:
    """The mean objective on the selection split."""
    look = Reference.of(network, split)
    apart = Apartness.between(look, objective.base)
    return {
        "loss": float(objective.whole(look).double().mean()),
        "change": float(apart.change.mean()),
        "divergence": float(apart.divergence.mean()),
    }
