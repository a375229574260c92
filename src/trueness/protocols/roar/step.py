"""One step: train models on what is left of their input, measure them, and let explanations say what is hidden next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.inputs import Split
from trueness.explainers.contract import Explainer, Target
from trueness.protocols.roar.hiding import Amount, hide

Hiding = Callable[[str, Any], Tensor]
"""Which units of a split are hidden, from its name and what it is."""
View = Callable[[str, Any], Any]
"""A split as a model is to see it, from its name and what it is."""


class Retrained(Protocol):
    """A model that was trained on what is left."""

    @property
    def network(self) -> Any:
        """What explainers look at."""


@dataclass(frozen=True)
class Retraining:
    """How models of one family are trained on one dataset, again and again; every kind of input says how."""

    train: Callable[[Sequence[int], Sequence[View]], Sequence[Any]]
    """A model for each seed, from how each is to see the splits."""
    splits: Callable[[Any], Mapping[str, Any]]
    """All splits as a model reads them, nothing hidden: train and test, perhaps others."""
    measure: Callable[[Any, Any], dict[str, float]]
    """How a model does on a split; accuracy among it."""
    random: Callable[[int], Explainer]
    """What hides at random, by a seed."""
    alone: Callable[[Sequence[Trained], Sequence[int], int | None], Sequence[float]] | None = None
    """For each model the test accuracy of one that sees only which units are hidden, perhaps trained for so many
    epochs; without it models of the same family are trained on outlines."""


@dataclass(frozen=True)
class Trained:
    """One retrained model: how it performs on the test split, and what is hidden from it."""

    model: Retrained
    splits: Mapping[str, Any]
    """Nothing hidden."""
    hidden: Mapping[str, Tensor]
    measured: dict[str, float]


def everything(name: str, split: Split) -> Tensor:  # noqa: ARG001  # a hiding
    """Hide all that may be hidden."""
    return split.maskable


def nothing(name: str, split: Split) -> Tensor:  # noqa: ARG001  # a hiding
    """Hide no unit."""
    return torch.zeros(split.tokens, dtype=torch.bool, device=split.device)


def retrain(how: Retraining, seeds: Sequence[int], hidings: Sequence[Hiding], *, leak: bool | int) -> list[Trained]:
    """Train with units hidden and measure with units hidden; with `leak` also what the outlines alone tell."""
    views: list[View] = [
        lambda name, split, hiding=hiding: split.hidden(hiding(name, split))  # type: ignore[misc]
        for hiding in hidings
    ]
    found = []
    for model, hiding in zip(how.train(seeds, views), hidings, strict=True):
        splits = how.splits(model)
        hidden = {name: hiding(name, split) for name, split in splits.items()}
        measured = how.measure(model, splits["test"].hidden(hidden["test"]))
        measured["hidden"] = float(hidden["test"].sum() / splits["test"].maskable.sum().clamp(min=1))
        found.append(Trained(model, splits, hidden, measured))
    if leak:
        epochs = None if leak is True else leak
        alone = how.alone(found, seeds, epochs) if how.alone is not None else _on_outlines(how, found, seeds)
        for one, accuracy in zip(found, alone, strict=True):
            labels = one.splits["test"].labels
            largest = largest_class(labels.cpu().numpy() if isinstance(labels, Tensor) else labels)
            one.measured.update({"mask-only": accuracy, "largest-class": largest})
    return found


def _on_outlines(how: Retraining, trained: Sequence[Trained], seeds: Sequence[int]) -> list[float]:
    views: list[View] = [lambda name, split, one=one: split.outline(one.hidden[name]) for one in trained]  # type: ignore[misc]
    return [
        how.measure(model, one.splits["test"].outline(one.hidden["test"]))["accuracy"]
        for model, one in zip(how.train(seeds, views), trained, strict=True)
    ]


def largest_class(labels: npt.NDArray[Any]) -> float:
    """The share of the most frequent label: what a classifier that knows nothing gets."""
    return float(np.unique(labels, return_counts=True)[1].max() / len(labels))


def hide_next(
    trained: Trained, explainer: Explainer, amounts: Sequence[Amount], *, target: Target, signed: bool
) -> list[dict[str, Tensor]]:
    """For each amount what is hidden from every split, by explanations of this model: none are made without one."""
    if not amounts:
        return []
    network = trained.model.network
    by_split = {
        name: hide(network, explainer, split, trained.hidden[name], amounts, target=target, signed=signed)
        for name, split in trained.splits.items()
    }
    return [{name: by_split[name][number] for name in by_split} for number in range(len(amounts))]
