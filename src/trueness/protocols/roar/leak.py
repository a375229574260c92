"""How much of the label the masks alone tell: a classifier that sees which tokens are hidden, and no word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from trueness.data.batches import EncodedSplit
from trueness.data.coding import SPECIAL
from trueness.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.evaluation import Evaluation, evaluate
from trueness.models.loop import Loop
from trueness.models.recipes import Recipe
from trueness.models.stack import run_loops
from trueness.models.training import build

RECIPE = Recipe(epochs=8, patience=3, batch_size=256, learning_rate=0.005, select="accuracy")


def mask_only(
    splits: Mapping[str, EncodedSplit],
    hidden: Sequence[Mapping[str, Tensor]],
    seeds: Sequence[int],
    classes: int,
    epochs: int | None = None,
) -> list[float]:
    """For each seed the test accuracy of a small BiLSTM that reads the outlines of masked texts: train, dev and test.

    Beside the share of the largest class it says how far labels can be told from masks and lengths (Rong et al. 2022).
    A few epochs find what is plain in many short texts; so many `epochs`, all of them run, find more.
    """
    recipe = RECIPE if epochs is None else replace(RECIPE, epochs=epochs, patience=None)
    config = AttentiveConfig(
        encoder="bilstm", attention="additive", vocabulary=len(SPECIAL), classes=classes, embedding=8, hidden=16
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
