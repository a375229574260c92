"""Recursive ROAR of a family on a dataset, or of functions on arrays: what is given is checked before work starts."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from trueness.api.bar import bar
from trueness.api.devices import check_device
from trueness.errors import UserError
from trueness.protocols.roar.curves import BASELINE
from trueness.report import Measurement

if TYPE_CHECKING:
    from trueness.api.explaining import AnyExplainer
    from trueness.protocols.roar.arrays import Array, Channels, Explain, Predict, Split, Train
    from trueness.protocols.roar.curves import Order
    from trueness.protocols.roar.step import Retraining

STEPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def recursive_roar(
    subject: Split | str,
    data: Any,
    /,
    explainers: Mapping[str, Explain] | Sequence[AnyExplainer],
    *,
    train: Train | None = None,
    predict: Predict | None = None,
    seeds: int | Sequence[int] = 5,
    steps: Sequence[float] = STEPS,
    orders: Sequence[Order] = ("recursive",),
    target: Literal["gold", "predicted"] = "gold",
    signed: bool = False,
    leak: bool = True,
    recipe: Any = None,
    device: str = "cpu",
    channels: Channels | None = None,
    fill: float | npt.ArrayLike | None = None,
    dataset: str = "data",
    model: str = "model",
) -> Measurement:
    """Is what an explainer calls important needed? Hide it everywhere, train again, measure; step by step.

    Of a family of models and a dataset: `tn.recursive_roar("small-cnn", "photo-crops", ["gradient"])`. `recipe` says
    how models are trained, and `device` where.

    Of arrays and functions of your own: `tn.recursive_roar(train_split, test_split, {"gradient": function}, train=...,
    predict=...)`. Splits are inputs (examples, ...) and one class for each. All functions get NumPy arrays of floats:
    `train(inputs, classes, seed)` makes a model, `predict(model, inputs)` gives (examples,) classes, and each of
    `explainers` gives from a model, inputs and classes a score for every unit of every input, in the shape of the
    inputs. With `channels` the values of a unit, such as red, green and blue, have one score and are hidden together.
    What is hidden gets the mean of the training inputs at its place, or `fill`. `dataset` and `model` are what they are
    called in the result.

    Scores count by magnitude, or with `signed` by value: the highest are hidden first. `steps` are the shares of all
    units that are hidden, rounded down. `orders` are "recursive" (explain again after every step), "plain" (explain
    once), or both. `target` is the class that is explained: the "gold" one or the "predicted" one. `leak` trains on the
    masks alone as well, which takes as long again: where these tell the class, a curve says little. `seeds` is a number
    of seeds, or which.

    The result has `score_table()`, `tables["curves"]`, `warnings`, and as `abstentions` the explainers that raised
    `tn.Unsupported`: this model cannot have that explanation. Any other error of an explainer ends the call.
    """
    if isinstance(orders, str) or not orders or not set(orders) <= {"recursive", "plain"}:
        raise UserError(f"The orders are recursive, plain, or both, in a list; not {orders!r}.")
    if target not in ("gold", "predicted"):
        raise UserError(f"The target is gold or predicted, not {target!r}.")
    if BASELINE in explainers:
        raise UserError(f"The name {BASELINE} is taken: random masks are always there as the baseline.")
    methods: Mapping[str, Any]
    if isinstance(subject, str):
        check_device(device)
        how, methods, dataset = _of_family(subject, data, explainers, recipe, device)
        model = subject
    elif train is None or predict is None:
        raise UserError("Arrays need functions of your own: give train= and predict=, or the name of a family.")
    else:
        how, methods = _of_arrays(subject, data, train, predict, explainers, channels, fill)
    from trueness.protocols.roar.following import follow

    asked: dict[str, Any] = {"target": target, "signed": signed, "leak": leak, "dataset": dataset, "model": model}
    with bar():
        found = follow(how, methods, _seeds(seeds), _shares(steps), orders, **asked)
    return Measurement.of(
        found, "Is what an explainer calls important needed?", "recursive-roar", "Student's over seeds"
    )


def _of_family(
    family: str, data: Any, explainers: Any, recipe: Any, device: str
) -> tuple[Retraining, dict[str, Any], str]:
    """How a family is trained on a dataset, the explainers by name, and what the dataset is called."""
    from trueness.data.dataset import with_splits
    from trueness.kinds import kind_of_data
    from trueness.studies.retraining import retraining_of

    if isinstance(explainers, str):
        raise UserError(f"Explainers are given in a list: [{explainers!r}].")
    kind = kind_of_data(data)
    loaded = with_splits(kind.data.read(data))
    known = kind.models.families[family]
    names = [kind.explainers.name_of(one) for one in explainers]
    how = retraining_of(kind, loaded, device, known.name, **({} if recipe is None else {"recipe": recipe}))
    return how, {name: kind.explainers[name] for name in names}, loaded.name


def _of_arrays(
    train_split: Split,
    test_split: Split,
    train: Train,
    predict: Predict,
    explainers: Any,
    channels: Channels | None,
    fill: float | npt.ArrayLike | None,
) -> tuple[Retraining, dict[str, Any]]:
    from trueness.protocols.roar.arrays import ArrayExplainer, array_retraining, classes_of

    splits = {"train": _split(train_split, "training"), "test": _split(test_split, "test")}
    if splits["train"][0].shape[1:] != splits["test"][0].shape[1:]:
        shapes = " and ".join(str(inputs.shape[1:]) for inputs, _ in splits.values())
        raise UserError(f"Training and test inputs differ in shape: {shapes}.")
    if channels not in (None, "first", "last"):
        raise UserError(f"Channels are first, last, or None where each value is a unit of its own; not {channels!r}.")
    if not isinstance(explainers, Mapping) or not explainers or not all(map(callable, explainers.values())):
        raise UserError("Explainers are given by name: {'gradient': function}.")
    how = array_retraining(train, predict, splits, _filling(splits["train"][0], fill), channels)
    classes = functools.partial(classes_of, predict, splits)
    return how, {name: ArrayExplainer(name, explain, classes) for name, explain in explainers.items()}


def _split(split: Split, name: str) -> Split:
    if not isinstance(split, tuple | list) or len(split) != 2:
        raise UserError(f"The {name} split must be a pair: inputs and their classes.")
    inputs, labels = (np.asarray(part) for part in split)
    if inputs.ndim < 2 or labels.ndim != 1:
        raise UserError(
            f"The {name} split's inputs have shape {inputs.shape} and its classes {labels.shape}: wanted are "
            "(examples, ...) and (examples,)."
        )
    if len(inputs) != len(labels) or not len(labels):
        raise UserError(f"The {name} split has {len(inputs)} inputs and {len(labels)} classes.")
    if inputs.dtype.kind not in "biuf":
        raise UserError(f"The {name} split's inputs are not numbers, but {inputs.dtype}.")
    # The mean of whole numbers is none.
    return (inputs if inputs.dtype.kind == "f" else inputs.astype(np.float32)), labels


def _filling(inputs: Array, fill: float | npt.ArrayLike | None) -> Array:
    if fill is None:
        return np.asarray(inputs.mean(axis=0))
    try:
        return np.broadcast_to(np.asarray(fill, dtype=inputs.dtype), inputs.shape[1:])
    except ValueError as error:
        raise UserError(f"fill must be a number or fit the shape of an input, {inputs.shape[1:]}.") from error


def _shares(steps: Sequence[float]) -> list[float]:
    try:
        shares: list[float] = np.atleast_1d(np.asarray(steps, dtype=np.float64)).tolist()
    except (TypeError, ValueError) as error:
        raise UserError(f"The steps are shares of all places, such as [0.1, 0.5]; not {steps!r}.") from error
    if not shares or not shares[0] > 0 or any(after <= before for before, after in itertools.pairwise([*shares, 1.0])):
        raise UserError(f"The steps are shares above 0 and below 1 that increase, not {shares}.")
    return shares


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    try:
        chosen = list(range(operator.index(seeds))) if not isinstance(seeds, Sequence) else list(map(int, seeds))
    except (TypeError, ValueError) as error:
        raise UserError(f"Seeds are a number of them, or a list; not {seeds!r}.") from error
    if isinstance(seeds, str) or not chosen or len(set(chosen)) < len(chosen):
        raise UserError(f"At least one seed is needed, and none twice; not {seeds!r}.")
    return chosen
