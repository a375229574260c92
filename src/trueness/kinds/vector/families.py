"""Families of classifiers of vectors: logistic regression, and a small network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.errors import UserError
from trueness.models.families import Family
from trueness.registry import Registry

if TYPE_CHECKING:
    import numpy.typing as npt

    from trueness.kinds.vector.model import VectorModel
    from trueness.kinds.vector.network import VectorNetwork
    from trueness.kinds.vector.vectors import VectorDataset


class VectorFamily(Family):
    """Networks that are built from the number of features and classes."""

    built_in = True

    def build(self, features: int, classes: int, **shape: Any) -> VectorNetwork:
        """A fresh network of that shape."""
        raise NotImplementedError

    def assemble(
        self, config: Mapping[str, Any], weights: Mapping[str, Any], device: str, source: str | Path
    ) -> VectorModel:
        """See `Family.assemble`."""
        from trueness.boundary import reading
        from trueness.kinds.vector.model import VectorModel
        from trueness.models.saved import CONFIG, check_format, check_names, filled

        check_format(source, config)
        with reading(f"{source}: {CONFIG}", "does not describe a model of vectors"):
            shape = dict(config["network"])
            classes, features = tuple(config["classes"]), tuple(config["features"])
            check_names(source, "classes", classes, shape["classes"])
            check_names(source, "features", features, shape["features"] if features else 0)
            network = filled(source, lambda: self.build(**shape), weights, device)
            history = tuple(map(dict, config["history"]))
            return VectorModel(network, classes, features, bool(config["centred"]), history, tuple(config["notes"]))


@dataclass(frozen=True)
class LinearFamily(VectorFamily):
    """Logistic regression with options of scikit-learn; training draws nothing at random."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def build(self, features: int, classes: int, **shape: Any) -> VectorNetwork:
        """One matrix."""
        from torch import nn

        from trueness.kinds.vector.network import VectorNetwork

        return VectorNetwork(nn.Linear(features, classes), features, classes, self.name, **shape)

    def train_one(
        self,
        data: VectorDataset,
        seed: int,  # noqa: ARG002  # nothing is drawn
        *,
        view: Any,
        state: Any,  # noqa: ARG002  # nothing to interrupt
        recipe: Any = None,
        device: str = "cpu",
        **shape: Any,
    ) -> VectorModel:
        """The same for every seed, unless a `view` hides features."""
        from trueness.kinds.vector.linear import fit_all
        from trueness.kinds.vector.vectors import Vectors

        if recipe is not None or shape:
            wrong = ", ".join([*(["recipe"] if recipe is not None else []), *shape])
            raise UserError(f"{self.name} is fitted by scikit-learn as it is: leave out {wrong}.")
        train = data["train"]
        if view is not None:
            from trueness.kinds.vector.model import VectorSplit

            seen = view("train", VectorSplit(train)).batch(range(len(train)))
            train = Vectors(seen.values.double().numpy(), seen.labels.numpy())
        if len(np.unique(train.labels)) < len(data.classes):
            raise UserError(f"{data.name}: the training split does not have examples of every class.")
        return linear_model(self, data, *fit_all(train, **self.options), device, train.features)


def linear_model(
    family: LinearFamily,
    data: VectorDataset,
    weights: npt.NDArray[np.float64],
    biases: npt.NDArray[np.float64],
    device: str,
    rows: npt.NDArray[np.float64],
) -> VectorModel:
    """A network that has these coefficients of raw features, and reads standardised ones."""
    from trueness.kinds.vector.model import VectorModel

    if len(weights) == 1:  # of two classes: half for one, half against the other
        weights, biases = (np.concatenate([-part, part]) / 2 for part in (weights, biases))
    network = family.build(data.width, len(data.classes)).standardise(rows)
    fill_linear(network, weights, biases)
    return VectorModel(network.to(device).eval(), data.classes, data.features)


def fill_linear(network: VectorNetwork, weights: npt.ArrayLike, biases: npt.ArrayLike) -> None:
    """Give a linear network the coefficients (classes, features) and biases of raw features."""
    import torch

    with torch.no_grad():
        raw, bias = (torch.as_tensor(np.asarray(part), dtype=torch.float64) for part in (weights, biases))
        linear: Any = network.module
        linear.weight.copy_(raw * network.deviation)
        linear.bias.copy_(bias + raw @ network.mean.double())


@dataclass(frozen=True)
class LayersFamily(VectorFamily):
    """Fully connected layers, trained by the loop of all kinds."""

    name: str = "mlp"
    hidden: int = 64
    layers: int = 2

    settings = ("hidden", "layers")

    def build(self, features: int, classes: int, **shape: Any) -> VectorNetwork:
        """Layers of `hidden` units each."""
        from itertools import pairwise

        from torch import nn

        from trueness.kinds.vector.network import VectorNetwork

        hidden, layers = shape.get("hidden", self.hidden), shape.get("layers", self.layers)
        widths = [features, *[hidden] * layers]
        parts: list[nn.Module] = []
        for before, after in pairwise(widths):
            parts += [nn.Linear(before, after), nn.ReLU()]
        module = nn.Sequential(*parts, nn.Linear(widths[-1], classes))
        return VectorNetwork(module, features, classes, self.name, hidden=hidden, layers=layers)

    def train_one(
        self,
        data: VectorDataset,
        seed: int,
        *,
        view: Any,
        state: Any,
        recipe: Any = None,
        device: str = "cpu",
        **shape: Any,
    ) -> VectorModel:
        """By the loop of all kinds."""
        from trueness.kinds.vector.model import VectorModel
        from trueness.models.recipes import RECIPES, Recipe
        from trueness.models.training import build, fitted

        if wrong := [name for name in shape if name not in self.settings]:
            raise UserError(f"{self.name} has no {wrong[0]} to set, only {' and '.join(self.settings)}.")
        how = recipe if isinstance(recipe, Recipe) else RECIPES[recipe or "vector"]
        fresh = build(lambda: self.build(data.width, len(data.classes), **shape), seed)
        network = fresh.standardise(data["train"].features).to(device)
        fresh_model = VectorModel(network, data.classes, data.features)
        trained: VectorModel = fitted(fresh_model, data, how, seed, view, state)
        return trained


def as_vector_family(thing: Any, name: str) -> VectorFamily:
    """An object of a subclass of `VectorFamily`."""
    if isinstance(thing, VectorFamily):
        return thing
    raise UserError(f"{name} is no model of vectors: give an object of trueness.kinds.vector.families.VectorFamily.")


VECTOR_MODELS: Registry[VectorFamily] = Registry("model", group="trueness.vector_models", adapt=as_vector_family)
# Maximum likelihood, with a ridge too small to matter except where no maximum exists: on separable data it makes the
# direction of the coefficients, which is what explanations rank, the one of largest margin instead of wherever a solver
# stopped.
VECTOR_MODELS.add(
    "logistic-regression",
    LinearFamily("logistic-regression", {"C": 1e6, "solver": "newton-cholesky", "max_iter": 200, "tol": 1e-6}),
    "logistic regression of vectors, converged (scikit-learn, Newton)",
)
VECTOR_MODELS.add("mlp", LayersFamily(), "vectors: two layers of 64 units (settings hidden and layers)")
