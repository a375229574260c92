"""What the outlines of masked texts tell: a small classifier that sees only which tokens are hidden."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.kinds.text.models.stack import run_loops
from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.evaluation import Evaluation, evaluate
from trueness.models.loop import Loop
from trueness.models.recipes import Recipe
from trueness.models.training import build

RECIPE = Recipe(batch_size=256, learning_rate=0.005, select="accuracy")
"""Of a classifier of masks."""
STEPS, FEWEST, MOST = 600, 8, 150
"""It is trained for so many steps, within these numbers of epochs, so that few texts are not few steps."""


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
