"""What trainings of every kind share: a network fixed by a seed, splits as a model is to see them, and one loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from trueness.models import network as networks
from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.evaluation import Evaluation
from trueness.models.loop import Checkpoint, Loop
from trueness.models.recipes import Recipe

Network = TypeVar("Network", bound=networks.Network)
SplitView = Callable[[str, Any], Any]
"""A split as a model is to see it, from its name and what it is."""


def build(make: Callable[[], Network], seed: int, table: npt.NDArray[np.float32] | None = None) -> Network:
    """A fresh network, fixed by the seed; the table of word vectors starts its embedding."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make()
    if table is not None:
        taking: Any = network
        taking.take_vectors(table)
    return network


def fitted(
    model: Any, data: Any, recipe: Recipe, seed: int, view: SplitView | None = None, state: str | Path | None = None
) -> Any:
    """The same model, a dataclass with `network` and `history`, after its best epoch.

    `view` is how it sees the splits; `state` a folder in which an interrupted training goes on.
    """
    splits: Mapping[str, Any] = {name: model.coded(data[name]) for name in ("train", recipe.select_on)}
    if view is not None:
        splits = {name: view(name, split) for name, split in splits.items()}
    measure = Evaluation(splits[recipe.select_on], len(data.classes))
    identity = {"recipe": asdict(recipe), "seed": seed, "data": data.name, "shape": dict(model.network.shape)}
    checkpoint = None if state is None else Checkpoint(state, identity)
    loop = Loop(model.network, recipe, splits["train"], CrossEntropy(splits["train"]), measure, seed, checkpoint)
    while not loop.finished:
        for _ in loop.steps():
            pass
        loop.look()
    return replace(model, network=loop.finish(), history=tuple(loop.progress.history))
