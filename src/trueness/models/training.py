"""Train a classifier, or several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.batches import EncodedSplit
from trueness.data.examples import TextDataset
from trueness.data.word_vectors import Missing, check_vectors, load_vectors, note_on
from trueness.errors import UserError
from trueness.models.attentive import AttentiveClassifier, AttentiveConfig, check_settable
from trueness.models.checkpoint import Checkpoint
from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.evaluation import Evaluation
from trueness.models.loop import Loop, run_loops
from trueness.models.recipes import RECIPES, Recipe
from trueness.models.registry import TEXT_MODELS
from trueness.models.text_model import TextModel

View = Callable[[str, EncodedSplit], EncodedSplit]
"""A split as a model is to see it, from its name and what it is."""


def model_config(name: str, data: TextDataset, recipe: Recipe, **changes: Any) -> AttentiveConfig:
    """The shape that a name such as `bilstm-additive` means for a dataset under a recipe."""
    check_settable(changes)
    encoder, attention = TEXT_MODELS[name]
    head = changes.get("head", recipe.shape.get("head", "linear"))
    if data.pairs and head == "linear":
        raise UserError(f"{data.name} has pairs of texts, and the recipe reads one: use default-pair or jw2019-pair.")
    if not data.pairs and head != "linear":
        raise UserError(f"{data.name} has single texts, and the recipe reads pairs: use default or jw2019.")
    if (recipe.shape.get("one_logit") or recipe.select == "auc") and len(data.classes) != 2:
        raise UserError(f"{data.name} has {len(data.classes)} classes, and the recipe is for two: use default.")
    shape = {"vocabulary": len(data.vocabulary), "classes": len(data.classes), **recipe.shape, **changes}
    return AttentiveConfig(encoder=encoder, attention=attention, **shape)  # type: ignore[arg-type]


def train(
    name: str,
    data: TextDataset,
    *,
    recipe: str | Recipe | None = None,
    seed: int = 0,
    device: str = "cpu",
    vectors: str | Path | npt.NDArray[np.float32] | None = None,
    missing: Missing = "zeros",
    state: str | Path | None = None,
    **changes: Any,
) -> TextModel:
    """Train a classifier and return it as it was after its best epoch.

    `changes` alter the model's shape (`hidden=32`). With `state`, a folder, training is saved after every epoch and the
    same call continues an interrupted one; on a CPU the result has the same bytes.
    """
    (model,) = train_many(
        name,
        data,
        [seed],
        recipe=recipe,
        device=device,
        vectors=vectors,
        missing=missing,
        states=None if state is None else [state],
        **changes,
    )
    return model


def train_many(
    name: str,
    data: TextDataset,
    seeds: Sequence[int],
    *,
    recipe: str | Recipe | None = None,
    device: str = "cpu",
    vectors: str | Path | npt.NDArray[np.float32] | None = None,
    missing: Missing = "zeros",
    states: Sequence[str | Path] | None = None,
    guide: Callable[[EncodedSplit], Tensor] | None = None,
    views: Sequence[View] | None = None,
    **changes: Any,
) -> list[TextModel]:
    """One classifier per seed: on a CPU the same as `train` gives, on a GPU stacked, with batches of their own.

    `guide` gives the attention (examples, tokens) over a split that models with frozen attention are trained under.
    With `views` each seed's model sees the splits changed, for example with tokens masked.
    """
    how = _recipe(recipe, data)
    shown = {split: EncodedSplit(data[split], data.vocabulary, device) for split in {"train", how.select_on}}
    if guide is not None:
        for split in shown.values():
            split.guide = guide(split)
    loops, checkpoints, notes = [], [], list[str]()
    for number, seed in enumerate(seeds):
        splits = shown if views is None else {split: views[number](split, shown[split]) for split in shown}
        table, notes = _table(vectors, data, missing, seed)
        if table is not None:
            changes = {**changes, "embedding": table.shape[1]}
        config = model_config(name, data, how, **changes)
        network = build(config, seed, table).to(device)
        objective = CrossEntropy(splits["train"], weigh_positive=how.weigh_positive)
        measure = Evaluation(splits[how.select_on], len(data.classes))
        loops.append(Loop(network, how, splits["train"], objective, measure, seed))
        identity = {"config": asdict(config), "recipe": asdict(how), "seed": seed, "data": data.name}
        checkpoints.append(Checkpoint(None if states is None else states[number], identity))
        checkpoints[-1].restore(loops[-1])
    run_loops(loops, checkpoints)
    notes = [*data.notes, *notes]
    if how.select_on == "test":
        notes.append("the best epoch was chosen on the test split, as published; its test scores are optimistic")
    return [
        TextModel(
            loop.finish(), data.vocabulary, data.classes, data.preparation, tuple(loop.progress.history), tuple(notes)
        )
        for loop in loops
    ]


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


def _recipe(recipe: str | Recipe | None, data: TextDataset) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    return RECIPES[recipe or ("default-pair" if data.pairs else "default")]


def build(config: AttentiveConfig, seed: int, table: npt.NDArray[np.float32] | None) -> AttentiveClassifier:
    """A fresh network, fixed by the seed; the table of word vectors starts its embedding."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = AttentiveClassifier(config)
    if table is not None:
        with torch.no_grad():
            network.embedding.weight.copy_(torch.from_numpy(table))
            if config.head == "query" and network.query_embedding is not None:
                network.query_embedding.weight.copy_(torch.from_numpy(table))
    return network
