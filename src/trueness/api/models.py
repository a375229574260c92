"""Datasets and classifiers of every kind: load, train, evaluate."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.api.bar import bar
from trueness.api.devices import check_device
from trueness.data.dataset import Dataset, with_splits
from trueness.errors import UserError
from trueness.kinds import every_kind, kind_of, kind_of_data, open_model
from trueness.plugins import is_address
from trueness.registry import nearest

if TYPE_CHECKING:
    from trueness.kinds.contract import Kind, Model
    from trueness.models.recipes import FineTuning, Recipe


def load_dataset(
    data: Any, *, root: str | Path | None = None, columns: Mapping[str, str] | None = None, **options: Any
) -> Any:
    """A dataset by name, file, folder or hub name, or of what is in memory: `tn.load_dataset("movie-sentences")`.

    Args:
        data: a name (see `trueness list dataset`), a file or folder, a DataFrame, a `datasets.Dataset`, a list of texts
            and labels, or a pair of arrays, inputs and labels; see `docs/data.md`.
        root: the folder in which the papers' corpora lie.
        columns: text_column, text_b_column, label_column, where they cannot be guessed.
        **options: of images `size` in pixels, of generated vectors `seed` and sizes, of texts their preparation.
    """
    if isinstance(data, Dataset):
        raise UserError(f"{data.name} is loaded already: options are given where it is read.")
    return kind_of_data(data).data.read(data, root=root, columns=columns, **options)


def train(
    model: str,
    data: Any,
    *,
    recipe: str | Recipe | None = None,
    seed: int = 0,
    root: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    size: int | None = None,
    vectors: str | Path | None = None,
    device: str = "cpu",
    state: str | Path | None = None,
    **shape: Any,
) -> Any:
    """Train a classifier: `tn.train("bilstm-additive", "movie-sentences")`, `tn.train("small-cnn", "photo-crops")`.

    The epoch with the best development score is kept. Splits that are missing are made, see `docs/data.md`.

    Args:
        model: the name of a model (see `trueness list model`), or where one of your own is, `mine.py:network`.
        data: what `tn.load_dataset` takes, or gives.
        recipe: how to train (see `trueness list recipe`): a name, also with settings, `"image[epochs=5]"`, or a Recipe.
        seed: fixes the weights that training begins with, and the order of the examples.
        root: the folder in which the papers' corpora lie.
        columns: text_column, text_b_column, label_column, where they cannot be guessed.
        size: of images that are not read yet, in pixels.
        vectors: word vectors that models of texts begin with: a file, or a name.
        device: where to train: cpu, cuda, cuda:1.
        state: a folder; the same call with it continues an interrupted training.
        **shape: sizes of the model, such as `hidden=32`.
    """
    check_device(device)
    if not isinstance(model, str):
        raise UserError(
            f"tn.train takes the name of a model, or where one of your own is, mine.py:network; not {described(model)}."
        )
    check_number("A seed", seed, 0)
    kind = kind_with(model, data)
    options = {} if size is None else {"size": size}
    loaded = with_splits(kind.data.read(data, root=root, columns=columns, **options))
    _check_classes(loaded)
    asked = {"recipe": recipe, "vectors": vectors, "states": None if state is None else [state]}
    how = {name: value for name, value in asked.items() if value is not None}
    with bar():
        (trained,) = kind.models.train(model, loaded, [seed], device=device, **how, **shape)
    return trained


def fine_tune(
    pretrained: str | Path,
    data: Any,
    *,
    recipe: str | FineTuning = "fine-tune",
    epochs: int | None = None,
    learning_rate: float | None = None,
    batch_size: int | None = None,
    max_length: int | None = None,
    seed: int = 0,
    root: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    device: str = "cpu",
    state: str | Path | None = None,
) -> Any:
    """A classifier from a pretrained model in a folder: `tn.fine_tune("minilm/", "movie-sentences")`.

    The epoch with the best development score is kept.

    Args:
        pretrained: the folder of a pretrained model.
        data: what `tn.train` takes.
        recipe: how to train (see `trueness list recipe`): a name, or a FineTuning.
        epochs: passes over the training split, instead of the recipe's.
        learning_rate: the highest one.
        batch_size: examples in each step.
        max_length: tokens of a text that are read, at most; short texts train faster with fewer.
        seed: fixes the new head, and the order of the examples.
        root: the folder in which the papers' corpora lie.
        columns: text_column, text_b_column, label_column, bad_rows, where they cannot be guessed.
        device: where to train: cpu, cuda, cuda:1.
        state: a folder; the same call with it continues an interrupted training.
    """
    check_device(device)
    how = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size, "max_length": max_length}
    recipe = _tuned(recipe, {name: value for name, value in how.items() if value is not None})
    kind, family = check_pretrained(pretrained, data)  # refused before the data are read
    loaded = with_splits(kind.data.read(data, root=root, columns=columns))
    _check_classes(loaded)
    states = None if state is None else [state]
    with bar():
        (tuned,) = kind.models.train(
            family, loaded, [seed], pretrained=pretrained, recipe=recipe, device=device, states=states
        )
    return tuned


def _tuned(recipe: str | FineTuning, changes: Mapping[str, Any]) -> FineTuning:
    """A recipe with other settings; UserError for a setting that means nothing."""
    from trueness.models.recipes import FINE_TUNINGS, SHORTEST

    for name, value in changes.items():
        if name == "learning_rate":
            if not (isinstance(value, int | float) and 0 < value < 1):
                raise UserError(f"learning_rate is a number above 0 and below 1, not {value!r}.")
        else:
            check_number(name, value, SHORTEST if name == "max_length" else 1)
    return replace(FINE_TUNINGS[recipe] if isinstance(recipe, str) else recipe, **changes)


def check_pretrained(pretrained: str | Path, data: Any) -> tuple[Kind, str]:
    """The kind and the family that a pretrained model in a folder becomes one of; UserError where there is none."""
    kind = kind_of_data(data)
    names = [name for name in kind.models.families if kind.models.families[name].from_folder]
    if not names:
        raise UserError(f"No model of {kind.words.examples} is fine-tuned from a folder: use tn.train.")
    kind.models.families[names[0]].check_folder(pretrained)
    return kind, names[0]


def load_model(model: Any, device: str = "cpu", *, family: Any = None) -> Any:
    """A classifier, ready to be explained, from whatever form it is in.

    Args:
        model: a folder that `save` wrote or `save_pretrained` of transformers left; the address of a function from
            inputs to probabilities, `mine.py:predict`; a function itself; (model, tokenizer); a text or image
            classification pipeline of transformers; an estimator or pipeline of scikit-learn with `predict_proba`.
        device: where it is to be.
        family: of a folder of somebody else's family: its name, address or class. Nothing in a folder is run.
    """
    check_device(device)
    return as_model(model, device, family=family)


def as_model(model: Any, device: str = "cpu", *, family: Any = None, data: Any = None) -> Model:
    """The same; a function, which may read inputs of any kind, is of the kind of the `data` where they are given."""
    return open_model(model, device, family=family, data=data)


def evaluate(
    model: Any, data: Any, split: str | None = None, *, columns: Mapping[str, str] | None = None
) -> dict[str, float]:
    """How well a model predicts a split: cross-entropy, accuracy, macro-F1, and for two classes AUC and F1.

    Args:
        model: what `tn.load_model` takes, or gives.
        data: what `tn.train` takes; one file, DataFrame or list is split as `tn.train` splits it. Labels are matched
            with the model's classes by their names, or by the numbers of the classes.
        split: by default test.
        columns: text_column, text_b_column, label_column, where they cannot be guessed.
    """
    from trueness.models import evaluation

    opened: Any = as_model(model, data=data)
    kind = same_kind(opened, data)
    read = kind.data.read(data, model=opened, columns=columns)
    whole = isinstance(data, Dataset | Mapping)
    seen = kind.data.look(read if whole else with_splits(read), opened, split=split)
    for note in seen.notes:
        if note not in read.notes and not note.startswith("no split"):
            warnings.warn(f"{note}.", stacklevel=2)
    first = next(iter(seen.splits.values()))
    return evaluation.evaluate(opened.network, opened.coded(first), len(opened.classes))


def same_kind(model: Any, data: Any) -> Kind:
    """The kind of a model; UserError where a dataset is of another one."""
    kind = kind_of(model)
    if isinstance(data, Dataset) and data.kind != kind.name:
        wanted, given = kind.words.examples, kind_of_data(data).words.examples
        raise UserError(f"A model of {wanted} needs {wanted}, not a dataset of {given}.")
    return kind


def check_number(what: str, number: Any, least: int) -> None:
    """Refuse what is no whole number, or too small."""
    if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
        raise UserError(f"{what} is a whole number, {least} or more, not {number!r}.")


def described(thing: Any) -> str:
    """What somebody gave, in a few words."""
    return "nothing" if thing is None else f"an object of type {type(thing).__name__}"


def kind_with(model: str, data: Any) -> Kind:
    """The kind that has a model of that name; of an address of one's own that of the data."""
    for kind in every_kind():
        if model.partition("[")[0] in list(kind.models.families):
            return kind
    if not is_address(model):
        known = [name for kind in every_kind() for name in kind.models.families]
        raise UserError(f"There is no model named {model!r}; {nearest(model, known)}")
    return kind_of_data(data)


def _check_classes(data: Any) -> None:
    if len(data.classes) < 2:
        raise UserError(
            f"All examples of {data.name} have the label {data.classes[0]!r}: a classifier needs two classes."
        )
