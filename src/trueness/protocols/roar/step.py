"""One step: train models on masked texts, measure them, and let explanations say what is hidden next."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.dataset import SPLITS
from trueness.explainers.contract import Explainer, Target
from trueness.explainers.simple import Random
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.coding import Coder
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.network import TextNetwork
from trueness.kinds.text.models.stack import run_loops
from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.evaluation import Evaluation, evaluate
from trueness.models.loop import Loop
from trueness.models.recipes import Recipe
from trueness.models.training import SplitView, build
from trueness.protocols.roar.hiding import Amount, hide

Hiding = Callable[[str, EncodedSplit], Tensor]
"""Which tokens of a split are hidden, from its name and what it is."""
RECIPE = Recipe(batch_size=256, learning_rate=0.005, select="accuracy")
"""Of a classifier of masks."""
STEPS, FEWEST, MOST = 600, 8, 150
"""It is trained for so many steps, within these numbers of epochs, so that few texts are not few steps."""
Trainer = Callable[..., Sequence[Classifier]]
"""How models of one kind are made: a family's `train`, with all bound but the data, seeds, views and device."""


class Coded:
    """The splits of a dataset, nothing hidden: coded once for models in a row that read alike, as all seeds of ours."""

    def __init__(self, data: TextDataset, device: str) -> None:
        self._data, self._device = data, device
        self._coder: Coder | None = None
        self._splits: dict[str, EncodedSplit] = {}

    def by(self, coder: Coder, name: str) -> EncodedSplit:
        """One of them."""
        if coder != self._coder:
            self._coder, self._splits = coder, {}
        if name not in self._splits:
            self._splits[name] = EncodedSplit(self._data[name], coder, self._device)
        return self._splits[name]


@dataclass(frozen=True)
class Trained:
    """One retrained model: how it performs on test texts, and what is hidden from it."""

    network: TextNetwork
    splits: Mapping[str, EncodedSplit]
    """Nothing hidden."""
    hidden: Mapping[str, Tensor]
    measured: dict[str, float]


def everything(name: str, split: EncodedSplit) -> Tensor:  # noqa: ARG001  # a hiding
    """Hide all that may be hidden."""
    return split.maskable


def nothing(name: str, split: EncodedSplit) -> Tensor:  # noqa: ARG001  # a hiding
    """Hide no token."""
    return torch.zeros(split.tokens, dtype=torch.bool, device=split.device)


def retrain(
    train: Trainer, data: TextDataset, seeds: Sequence[int], hidings: Sequence[Hiding], device: str, *, leak: bool | int
) -> list[Trained]:
    """Train on masked texts and measure on masked test texts; with `leak` also what masks alone tell (`mask_only`)."""
    views: list[SplitView] = [
        lambda name, split, hiding=hiding: split.hidden(hiding(name, split))  # type: ignore[misc]
        for hiding in hidings
    ]
    classes, found = len(data.classes), []
    coded = Coded(data, device)
    for model, hiding in zip(train(data, seeds, views=views, device=device), hidings, strict=True):
        splits = {name: coded.by(model.coder, name) for name in SPLITS}
        hidden = {name: hiding(name, split) for name, split in splits.items()}
        measured = evaluate(model.network, splits["test"].hidden(hidden["test"]), classes)
        measured["hidden"] = float(hidden["test"].sum() / splits["test"].maskable.sum().clamp(min=1))
        found.append(Trained(model.network, splits, hidden, measured))
    if leak:
        epochs = None if leak is True else leak
        alone = mask_only(found[0].splits, [one.hidden for one in found], seeds, classes, epochs)
        for one, accuracy in zip(found, alone, strict=True):
            largest = largest_class(one.splits["test"].labels.cpu().numpy())
            one.measured.update({"mask-only": accuracy, "largest-class": largest})
    return found


def mask_only(
    splits: Mapping[str, EncodedSplit],
    hidden: Sequence[Mapping[str, Tensor]],
    seeds: Sequence[int],
    classes: int,
    epochs: int | None = None,
) -> list[float]:
    """For each seed the test accuracy of a small BiLSTM that reads the outlines of masked texts: train, dev and test.

    Beside the share of the largest class it says how far labels can be told from masks and lengths (Rong et al. 2022);
    of pairs it reads the other text as well, and random masks say what that and lengths tell. By default it is trained
    for 600 steps, or until a quarter of them brought nothing; or for so many `epochs`, all of them run.
    """
    train = splits["train"]
    if epochs is None:
        enough = min(max(math.ceil(STEPS / math.ceil(len(train) / RECIPE.batch_size)), FEWEST), MOST)
        recipe = replace(RECIPE, epochs=enough, patience=max(3, enough // 4))
    else:
        recipe = replace(RECIPE, epochs=epochs, patience=None)
    config = AttentiveConfig(
        encoder="bilstm",
        attention="additive",
        vocabulary=max(split.words for split in splits.values()),
        classes=classes,
        embedding=8,
        hidden=16,
        head="query" if train.pairs else "linear",
    )
    loops, tests = [], []
    for seed, where in zip(seeds, hidden, strict=True):
        outlines = {name: split.outline(where[name]) for name, split in splits.items()}
        network = build(lambda: AttentiveClassifier(config), seed).to(splits["train"].device)
        measure = Evaluation(outlines["dev"], classes)
        loops.append(Loop(network, recipe, outlines["train"], CrossEntropy(outlines["train"]), measure, seed))
        tests.append(outlines["test"])
    run_loops(loops)
    return [evaluate(loop.finish(), test, classes)["accuracy"] for loop, test in zip(loops, tests, strict=True)]


def largest_class(labels: npt.NDArray[Any]) -> float:
    """The share of the most frequent label: what a classifier that knows nothing gets."""
    return float(np.unique(labels, return_counts=True)[1].max() / len(labels))


def hide_next(
    trained: Trained, explainer: str, amounts: Sequence[Amount], *, seed: int, target: Target, signed: bool
) -> list[dict[str, Tensor]]:
    """For each amount what is hidden from every split, by explanations of this model: none are made without one."""
    if not amounts:
        return []
    method = method_of(explainer, seed)
    by_split = {
        name: hide(trained.network, method, split, trained.hidden[name], amounts, target=target, signed=signed)
        for name, split in trained.splits.items()
    }
    return [{name: by_split[name][number] for name in by_split} for number in range(len(amounts))]


def method_of(explainer: str, seed: int) -> Explainer:
    """The explainer of that name; the random one draws by the model's seed."""
    return Random(seed) if explainer == "random" else TEXT_EXPLAINERS[explainer]
