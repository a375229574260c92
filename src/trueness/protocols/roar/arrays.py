"""Recursive ROAR of whatever is an array, by functions of one's own: images, vectors, any input of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.rows import EvenSplit
from trueness.errors import UserError
from trueness.explainers.contract import Explainer, Target
from trueness.protocols.roar.step import Retraining, View

Array = npt.NDArray[Any]
Split = tuple[Array, Array]
"""Inputs (examples, ...) and their classes."""
Train = Callable[[Array, Array, int], Any]
"""A model from inputs, classes and a seed."""
Predict = Callable[[Any, Array], Array]
"""The classes that a model gives to inputs."""
Explain = Callable[[Any, Array, Array], Array]
"""How important every unit of every input is to a model, for the class given."""
Channels = Literal["first", "last"]
_AXIS = {"first": 1, "last": -1}


@dataclass(frozen=True)
class ArraySplit(EvenSplit):
    """Inputs of one split; where `channels` are named, the values of a unit are hidden together."""

    name: str
    inputs: Array
    """As they are shown."""
    labels: Array
    fill: Array
    channels: Channels | None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def shape(self) -> tuple[int, ...]:
        """(examples, ...) without channels."""
        kept = list(self.inputs.shape)
        if self.channels is not None:
            kept.pop(_AXIS[self.channels])
        return tuple(kept)

    @property
    def units(self) -> int:  # type: ignore[override]
        """Of each input."""
        return int(np.prod(self.shape[1:]))

    def laid_over(self, where: Tensor) -> npt.NDArray[np.bool_]:
        """Truth values in a shape that fits the inputs."""
        laid = where.numpy().reshape(self.shape)
        return laid if self.channels is None else np.expand_dims(laid, _AXIS[self.channels])

    def hidden(self, where: Tensor) -> ArraySplit:
        """The same with some units filled in."""
        shown = np.where(self.laid_over(where), self.fill, self.inputs).astype(self.inputs.dtype)
        return replace(self, inputs=shown)

    def outline(self, where: Tensor) -> ArraySplit:
        """1 where a unit is hidden, 0 elsewhere."""
        return replace(self, inputs=np.broadcast_to(self.laid_over(where), self.inputs.shape).astype(np.float32))

    @property
    def mask(self) -> Tensor:
        """(examples, units) true everywhere."""
        return torch.ones((len(self), self.units), dtype=torch.bool)

    def to_explain(self) -> Iterator[tuple[npt.NDArray[np.intp], ArraySplit]]:
        """All inputs at once: an explainer says itself how many it looks at together."""
        yield np.arange(len(self)), self


@dataclass(frozen=True)
class ArrayModel:
    """What a function trained."""

    network: Any


def array_retraining(
    train: Train,
    predict: Predict,
    splits: Mapping[str, Split],
    fill: Array,
    channels: Channels | None,
) -> Retraining:
    """Of functions of one's own; what is hidden is filled in."""
    shown = {name: ArraySplit(name, *split, fill, channels) for name, split in splits.items()}

    def models(seeds: Sequence[int], views: Sequence[View]) -> Iterator[ArrayModel]:
        for seed, view in zip(seeds, views, strict=True):
            yield ArrayModel(train(view("train", shown["train"]).inputs, shown["train"].labels, seed))

    def measure(model: ArrayModel, split: ArraySplit) -> dict[str, float]:
        return {"accuracy": float((classes_of(predict, splits, model.network, split) == split.labels).mean())}

    return Retraining(cast(Any, models), lambda _: shown, measure, lambda seed: cast(Explainer, _RandomMask(seed)))


def classes_of(predict: Predict, splits: Mapping[str, Split], model: Any, split: ArraySplit) -> Array:
    """Those that a model gives, if they are classes at all."""
    found = np.asarray(predict(model, split.inputs))
    if found.shape != (len(split),):
        raise UserError(f"predict gives an array of shape {found.shape}, and {(len(split),)} is wanted: classes.")
    if not np.isin(found, splits["train"][1]).any():
        raise UserError(f"predict gives {found[0]!r} and the like, and no input has such a class.")
    return found


@dataclass(frozen=True)
class _RandomMask:
    """Random numbers by a seed and the name of a split."""

    seed: int

    def attribute(self, model: Any, split: ArraySplit, target: Target) -> Tensor:  # noqa: ARG002
        rng = np.random.default_rng([self.seed, *split.name.encode()])
        return torch.from_numpy(rng.random(split.mask.shape))


@dataclass(frozen=True)
class ArrayExplainer:
    """A function as an explainer; what it gives is checked."""

    method: str
    explain: Explain
    classes: Callable[[Any, ArraySplit], Array]
    """Those that a model predicts."""

    def attribute(self, model: Any, split: ArraySplit, target: Target) -> Tensor:
        """(examples, units) its scores."""
        classes = split.labels if target == "gold" else self.classes(model, split)
        try:
            found = np.asarray(self.explain(model, split.inputs, classes), dtype=np.float64)
        except Exception as error:
            error.add_note(f"The explainer {self.method} failed on {len(split)} inputs of the {split.name} split.")
            raise
        if found.shape != split.shape:
            how = "without channels" if split.channels is None else f"with channels {split.channels}"
            raise UserError(
                f"The explainer {self.method} gives scores of shape {found.shape}; {how}, inputs of shape "
                f"{split.inputs.shape} need {split.shape}."
            )
        if not np.isfinite(found).all():
            raise UserError(f"The explainer {self.method} gives scores that are not finite.")
        return torch.from_numpy(found.reshape(split.mask.shape))
