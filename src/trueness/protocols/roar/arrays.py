"""Recursive ROAR of whatever is an array: images, vectors, any input of a model of your own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from trueness.errors import Unsupported, UserError
from trueness.progress import told
from trueness.protocols.result import Result
from trueness.protocols.roar.curves import BASELINE
from trueness.protocols.roar.hiding import Amount, choose
from trueness.protocols.roar.removal import Order, removal
from trueness.protocols.roar.step import largest_class
from trueness.protocols.roar.summary import summarise

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Split = tuple[Array, Array]
"""Inputs (examples, ...) and their classes."""
Train = Callable[[Array, Array, int], Any]
"""A model from inputs, classes and a seed."""
Predict = Callable[[Any, Array], Array]
"""The classes that a model gives to inputs."""
Explain = Callable[[Any, Array, Array], Array]
"""How important every place of every input is to a model, for the class given."""
Target = Literal["gold", "predicted"]
Channels = Literal["first", "last"]
_AXIS = {"first": 1, "last": -1}


def follow(
    trial: ArrayTrial,
    explainers: Mapping[str, Explain],
    seeds: Sequence[int],
    shares: Sequence[float],
    orders: Sequence[Order],
    *,
    dataset: str,
    model: str,
) -> Result:
    """The curves of all explainers and of random masks, with the scores and guards that texts have."""
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    each = 1 / (1 + len(explainers)) / len(seeds)
    for place, seed in enumerate(seeds):
        here = {"dataset": dataset, "model": model, "seed": seed}
        ends, nothing = replace(trial, leak=False), trial.masks(full=False)
        whole, start = ends.retrain(seed, nothing)
        _, end = ends.retrain(seed, trial.masks(full=True))
        rows.append({**here, "method": "nothing hidden", "order": "both", "step": 0, **start})
        rows.append({**here, "method": "all hidden", "order": "both", "step": len(shares) + 1, **end})
        for number, (method, explain) in enumerate({BASELINE: None, **explainers}.items()):
            if any(row["method"] == method for row in refused):
                continue
            importance = functools.partial(trial.importance, seed, method, explain)
            again = functools.partial(trial.retrain, seed)
            followed: Sequence[Order] = ["plain"] if explain is None else orders
            points = removal(whole, nothing, shares, followed, explain=importance, hide=_hide, train=again)
            begin = (place + number / (1 + len(explainers))) / len(seeds)
            steps = told(points, f"seed {seed}, {method}", len(shares) * len(followed), begin, begin + each)
            try:
                rows += [
                    {**here, "method": method, "order": order, "step": step, **measured}
                    for order, step, _, measured in steps
                ]
            except Unsupported as error:
                reason = str(error).rstrip(".")
                refused.append({**here, "method": method, "order": "explained", "step": 0, "reason": reason})
    if len(refused) == len(explainers):
        reasons = "; ".join(f"{row['method']}: {row['reason']}" for row in refused)
        raise UserError(f"No explainer could be followed: {reasons}.")
    return summarise(
        pd.DataFrame(rows),
        pd.DataFrame(),
        pd.DataFrame(refused, columns=["dataset", "model", "method", "order", "step", "seed", "reason"]),
        pd.DataFrame(),
        amounts=shares,
        unit="share",
        target=trial.target,
        metrics={dataset: "accuracy"},
    )


@dataclass(frozen=True)
class ArrayTrial:
    """What is the same for all seeds and methods."""

    splits: Mapping[str, Split]
    train: Train
    predict: Predict
    fill: Array
    channels: Channels | None
    target: Target
    signed: bool
    leak: bool

    def masks(self, *, full: bool) -> dict[str, Bools]:
        """Nothing or everything hidden: truth values (examples, places) for each split, without channels."""
        shapes = {name: np.array(inputs.shape) for name, (inputs, _) in self.splits.items()}
        if self.channels is not None:
            shapes = {name: np.delete(shape, _AXIS[self.channels]) for name, shape in shapes.items()}
        return {name: np.full(shape, full) for name, shape in shapes.items()}

    def retrain(self, seed: int, hidden: Mapping[str, Bools]) -> tuple[Any, dict[str, float]]:
        """A model trained on what is left, and its accuracy; with `leak` also what the masks alone tell."""
        shown = {name: self.shown(name, mask) for name, mask in hidden.items()}
        model, found = self._accuracy(seed, shown)
        measured = {"accuracy": found, "hidden": float(hidden["test"].mean())}
        if self.leak:
            outlines = {
                name: np.broadcast_to(self._laid_over(mask), self.splits[name][0].shape).astype(np.float32)
                for name, mask in hidden.items()
            }
            largest = largest_class(self.splits["test"][1])
            measured |= {"mask-only": self._accuracy(seed, outlines)[1], "largest-class": largest}
        return model, measured

    def shown(self, name: str, hidden: Bools) -> Array:
        """Inputs with what is hidden filled in."""
        inputs = self.splits[name][0]
        return np.where(self._laid_over(hidden), self.fill, inputs).astype(inputs.dtype)

    def _laid_over(self, hidden: Bools) -> Bools:
        return hidden if self.channels is None else np.expand_dims(hidden, _AXIS[self.channels])

    def _accuracy(self, seed: int, inputs: Mapping[str, Array]) -> tuple[Any, float]:
        model = self.train(inputs["train"], self.splits["train"][1], seed)
        return model, float((self.classes(model, inputs["test"]) == self.splits["test"][1]).mean())

    def classes(self, model: Any, inputs: Array) -> Array:
        """Those that a model gives, if they are classes at all."""
        found = np.asarray(self.predict(model, inputs))
        if found.shape != (len(inputs),):
            raise UserError(f"predict gives an array of shape {found.shape}, and {(len(inputs),)} is wanted: classes.")
        if not np.isin(found, self.splits["train"][1]).any():
            raise UserError(f"predict gives {found[0]!r} and the like, and no input has such a class.")
        return found

    def importance(
        self, seed: int, method: str, explain: Explain | None, model: Any, hidden: Mapping[str, Bools]
    ) -> dict[str, Array]:
        """Of every split (examples, places): the higher, the sooner hidden; at random without an explainer."""
        if explain is None:
            return {
                name: np.random.default_rng([seed, *name.encode()]).random(mask.shape) for name, mask in hidden.items()
            }
        return {name: self._explained(method, explain, model, name, mask) for name, mask in hidden.items()}

    def _explained(self, method: str, explain: Explain, model: Any, name: str, hidden: Bools) -> Array:
        shown = self.shown(name, hidden)
        classes = self.splits[name][1] if self.target == "gold" else self.classes(model, shown)
        try:
            found = np.asarray(explain(model, shown, classes), dtype=np.float64)
        except Exception as error:
            error.add_note(f"The explainer {method} failed on {len(shown)} inputs of the {name} split.")
            raise
        if found.shape != hidden.shape:
            how = "without channels" if self.channels is None else f"with channels {self.channels}"
            raise UserError(
                f"The explainer {method} gives scores of shape {found.shape}; {how}, inputs of shape {shown.shape} "
                f"need {hidden.shape}."
            )
        if not np.isfinite(found).all():
            raise UserError(f"The explainer {method} gives scores that are not finite.")
        return found if self.signed else np.abs(found)


def _hide(importance: Mapping[str, Array], hidden: Mapping[str, Bools], share: float) -> dict[str, Bools]:
    """What is hidden, and then the most important of the rest: that share of all places, rounded down."""
    found = {}
    for name, mask in hidden.items():
        scores, before = (torch.from_numpy(values.reshape(len(values), -1)) for values in (importance[name], mask))
        count = Amount(share).of(torch.full((len(before),), before.shape[1]))
        found[name] = choose(scores, torch.ones_like(before), before, count).numpy().reshape(mask.shape)
    return found
