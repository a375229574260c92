"""One model trained on a dataset by the loop of all kinds, where nothing but the network differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.evaluation import Evaluation
from trueness.models.loop import Checkpoint, Loop

if TYPE_CHECKING:
    from trueness.models.recipes import Recipe
    from trueness.models.training import SplitView


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
