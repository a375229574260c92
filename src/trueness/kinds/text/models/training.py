"""Train networks of texts from scratch, several at once where a device has room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from trueness.errors import UserError
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.word_vectors import Missing, check_vectors, load_vectors, note_on
from trueness.kinds.text.models.attentive import AttentiveConfig
from trueness.kinds.text.models.network import TextNetwork
from trueness.kinds.text.models.stack import run_loops
from trueness.kinds.text.models.text_model import TextModel
from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.evaluation import Evaluation
from trueness.models.loop import Checkpoint, Loop
from trueness.models.recipes import RECIPES, Recipe
from trueness.models.training import SplitView, build

Make = Callable[[TextDataset, Recipe, Mapping[str, Any]], TextNetwork]
"""A fresh network for a dataset under a recipe, with changes of its shape."""


def attentive_config(data: TextDataset, recipe: Recipe, **changes: Any) -> AttentiveConfig:
    """The shape of an attentive classifier for a dataset under a recipe."""
    head = changes.get("head", recipe.shape.get("head", "linear"))
    if data.pairs and head == "linear":
        raise UserError(f"{data.name} has pairs of texts, and the recipe reads one: use default-pair or jw2019-pair.")
    if not data.pairs and head != "linear":
        raise UserError(f"{data.name} has single texts, and the recipe reads pairs: use default or jw2019.")
    if recipe.shape.get("one_logit") and len(data.classes) != 2:
        raise UserError(f"{data.name} has {len(data.classes)} classes, and the recipe is for two: use default.")
    return AttentiveConfig(len(data.vocabulary), len(data.classes), **{**recipe.shape, **changes})


def train_networks(
    make: Make,
    data: TextDataset,
    seeds: Sequence[int],
    *,
    recipe: str | Recipe | None = None,
    device: str = "cpu",
    vectors: str | Path | npt.NDArray[np.float32] | None = None,
    missing: Missing = "zeros",
    states: Sequence[str | Path] | None = None,
    guide: Callable[[EncodedSplit], Tensor] | None = None,
    views: Sequence[SplitView] | None = None,
    **changes: Any,
) -> list[TextModel]:
    """One classifier per seed: on a CPU the same as alone, on a GPU stacked, with batches of their own.

    `guide` gives the attention (examples, tokens) over a split that models with frozen attention are trained under.
    With `views` each seed's model sees the splits changed, for example with tokens masked.
    """
    how = recipe if isinstance(recipe, Recipe) else RECIPES[recipe or ("default-pair" if data.pairs else "default")]
    if how.select == "auc" and len(data.classes) != 2:
        raise UserError(f"{data.name} has {len(data.classes)} classes, and the recipe is for two: use default.")
    shown = {split: EncodedSplit(data[split], data.vocabulary, device) for split in {"train", how.select_on}}
    if guide is not None:
        for split in shown.values():
            split.guide = guide(split)
    loops, notes = [], list[str]()
    for number, seed in enumerate(seeds):
        splits = shown if views is None else {split: views[number](split, shown[split]) for split in shown}
        table, notes = _table(vectors, data, missing, seed)
        if table is not None:
            changes = {**changes, "embedding": table.shape[1]}
        network = build(lambda: make(data, how, changes), seed, table).to(device)  # noqa: B023  # called at once
        objective = CrossEntropy(splits["train"], weigh_positive=how.weigh_positive)
        measure = Evaluation(splits[how.select_on], len(data.classes))
        identity = {"config": dict(network.shape), "recipe": asdict(how), "seed": seed, "data": data.name}
        checkpoint = None if states is None else Checkpoint(states[number], identity)
        loops.append(Loop(network, how, splits["train"], objective, measure, seed, checkpoint))
    run_loops(loops)
    if how.select_on == "test":
        notes.append("the best epoch was chosen on the test split, as published; its test scores are optimistic")
    return [trained(loop, data, *notes) for loop in loops]


def trained(loop: Loop[Any], data: TextDataset, *notes: str) -> TextModel:
    """What a finished loop trained, as it was after its best epoch."""
    history = tuple(loop.progress.history)
    return TextModel(loop.finish(), data.vocabulary, data.classes, data.preparation, history, (*data.notes, *notes))


def _table(
    vectors: str | Path | npt.NDArray[np.float32] | None, data: TextDataset, missing: Missing, seed: int
) -> tuple[npt.NDArray[np.float32] | None, list[str]]:
    """A vector for every word of the vocabulary (given, read from a file, or none), and a note on it."""
    if vectors is None:
        return None, []
    if isinstance(vectors, np.ndarray):
        return vectors, [f"word vectors, {vectors.shape[1]}-d"]
    check_vectors(vectors)
    table, found = load_vectors(vectors, data.vocabulary, missing=missing, seed=seed)
    return table, [note_on(vectors, table, found, data)]
