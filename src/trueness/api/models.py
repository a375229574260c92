"""Datasets and classifiers of texts and images: load, train, evaluate."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.api.bar import bar
from trueness.api.devices import check_device
from trueness.data.columns import columns_of
from trueness.data.labels import match_labels
from trueness.errors import UserError
from trueness.kinds.image.data.datasets import IMAGE_DATASETS, is_images, load_images
from trueness.kinds.image.data.images import ImageDataset
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.datasets import load_text
from trueness.kinds.text.data.splitting import with_splits
from trueness.kinds.text.data.texts import as_dataset
from trueness.kinds.vector.vectors import VECTOR_DATASETS, VectorDataset
from trueness.plugins import is_function

if TYPE_CHECKING:
    from trueness.data.inputs import Split as AnySplit
    from trueness.kinds.image.models.model import ImageModel
    from trueness.kinds.image.models.training import ImageRecipe
    from trueness.kinds.text.models.classifier import Classifier
    from trueness.kinds.text.models.transformer import TransformerModel
    from trueness.models.recipes import FineTuning, Recipe

    AnyModel = Classifier | ImageModel


_NAMES = "; or name the classes so where they come from: id2label in a transformer's config.json, a function's classes"
"""The way out of labels that no renaming reaches."""


def load_dataset(name: Any, **options: Any) -> VectorDataset | TextDataset | ImageDataset:
    """A dataset by name, file, folder or hub name, or of what is in memory as `train` takes it; see `docs/data.md`.

    Options of vectors: `seed` and sizes; of text: `root` (where the papers' corpora lie) and parts of the preparation;
    of images (`photo-crops`, `birds`, or a folder, archive or table of pictures): `size` in pixels.
    """
    if not isinstance(name, str | Path):
        if isinstance(name, TextDataset | VectorDataset | ImageDataset):
            raise UserError(f"{name.name} is loaded already: options are given where it is read.")
        return as_dataset(name, **{**options, "columns": columns_of(options.get("columns") or {})})
    name = str(name)
    if name in IMAGE_DATASETS or "size" in options or is_images(Path(name)):
        return load_images(name, **options)
    if name in VECTOR_DATASETS:
        return VECTOR_DATASETS[name](options.pop("seed", 0), **options)
    return load_text(name, **options)


def train(
    model: str,
    data: Any,
    *,
    recipe: str | Recipe | ImageRecipe | None = None,
    seed: int = 0,
    root: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    vectors: str | Path | None = None,
    device: str = "cpu",
    state: str | Path | None = None,
    **shape: Any,
) -> Any:
    """Train a classifier of texts or images: `tn.train("bilstm-additive", "movie-sentences")`.

    An image model, `tn.train("small-cnn", "photo-crops", size=32)`, takes an `ImageRecipe`, a seed, a device, and of
    images that are not read yet their `size` in pixels.

    `data` is a dataset, its name, a file or folder, a DataFrame, a `datasets.Dataset`, or a list of texts and labels;
    `columns` names text_column, text_b_column, label_column where they cannot be guessed. Splits that are missing are
    made, see `docs/data.md`. `recipe` names how to train (see `trueness list recipe`); `shape` sets the model's sizes
    (`hidden=32`). With `state`, a folder, an interrupted training continues where it stopped.
    """
    from trueness.kinds.image.models.families import IMAGE_MODELS
    from trueness.kinds.text.models import families

    check_device(device)
    if not isinstance(model, str):
        raise UserError(
            f"tn.train takes the name of a model, or where one of your own is, mine.py:network; not {kind_of(model)}."
        )
    check_number("A seed", seed, 0)
    # What an address holds is not looked at: the data tell whether it is a model of images.
    if isinstance(data, ImageDataset) or model in list(IMAGE_MODELS) or (":" in model and are_images(data)):
        from trueness.kinds.image.models.model import train_image_model

        named = isinstance(data, str | Path)
        for name in shape.keys() - ({"size"} if named else set()):
            what = "its images have a size" if name == "size" else "of its shape there is nothing to set but size"
            raise UserError(f"{model} is a model of images, and {what}: leave out {name}.")
        images = load_images(str(data), shape.get("size")) if named else data
        if not isinstance(images, ImageDataset) or isinstance(recipe, str):
            raise UserError(f"{model} is a model of images: it takes images, and an ImageRecipe if any.")
        drawn: Any = recipe
        with bar():
            return train_image_model(model, images, recipe=drawn, seed=seed, device=device)
    loaded = _with_splits(data, root, columns)
    how: dict[str, Any] = {"recipe": recipe, "device": device, "vectors": vectors, **shape}
    with bar():
        return families.train(model, loaded, seed=seed, state=state, **how)


def fine_tune(
    pretrained: str | Path,
    data: Any,
    *,
    recipe: str | FineTuning = "fine-tune",
    seed: int = 0,
    root: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    device: str = "cpu",
    state: str | Path | None = None,
) -> TransformerModel:
    """A classifier from a pretrained transformer in a folder: `tn.fine_tune("minilm/", "movie-sentences")`.

    `data`, `columns` and `state` are those of `tn.train`. The epoch with the best development score is kept.
    """
    from trueness.kinds.text.models.finetuning import fine_tune as tune
    from trueness.kinds.text.models.pretrained import find_pretrained

    check_device(device)
    find_pretrained(pretrained)  # refused before the data are read
    loaded = _with_splits(data, root, columns)
    with bar():
        return tune(pretrained, loaded, recipe=recipe, seed=seed, device=device, state=state)


def _with_splits(data: Any, root: str | Path | None, columns: Mapping[str, str] | None) -> TextDataset:
    return with_splits(as_dataset(data, root=root, columns=columns_of(columns or {})))


def load_model(path: str | Path, device: str = "cpu", *, family: Any = None) -> Any:
    """Any classifier from its folder: what `save` wrote, or a transformer as `save_pretrained` leaves it.

    A model of somebody else's `family` is loaded with it given: its name or its class. Instead of a folder the address
    of a function from texts to probabilities will do, `mine.py:predict`.
    """
    from trueness.kinds.image.models.families import is_image_model
    from trueness.models import saved

    check_device(device)
    if is_function(path):
        from trueness.kinds.text.models.black_box import load_black_box

        if family is not None:
            raise UserError(f"{path} is a function: leave out family.")
        return load_black_box(str(path))
    if is_image_model(Path(path)):
        from trueness.kinds.image.models.model import load_image_model

        return load_image_model(path, device, family=family)
    return saved.load_model(path, device, family)


def evaluate(model: AnyModel, data: Any, split: str | None = None) -> dict[str, float]:
    """How well a model predicts a split: cross-entropy, accuracy, macro-F1, and for two classes AUC and F1.

    `data` is what `tn.train` takes; one file, DataFrame or list is split as `tn.train` splits it. Labels are matched
    with the model's classes by their names, or by the numbers of the classes.
    """
    from trueness.models import evaluation

    reader: Any = as_classifier(model)
    data = images_for(reader, data) if of_images(reader) else texts_for(data)
    coded: Any = labelled_as(reader, reader.coded(data.to_look_at(split)), data.classes)
    return evaluation.evaluate(reader.network, coded, len(reader.classes))


def labelled_as(model: AnyModel, coded: AnySplit, classes: Sequence[str]) -> AnySplit:
    """The same with the model's numbers instead of those of a dataset's `classes`, which may be fewer."""
    meant = matched(classes, model)
    return coded.labelled([meant[classes[label]] for label in coded.labels.tolist()])


def matched(labels: Sequence[str | int], model: AnyModel) -> Mapping[str | int, int]:
    """The class of a model that each label means; a warning where that is not by its name."""
    found = match_labels(labels, model.classes, _NAMES)
    if found.note:
        warnings.warn(f"{found.note}.", stacklevel=3)
    return found.classes


def texts_for(data: Any) -> TextDataset:
    """A dataset as it is; splits are kept, and what has none is split as `train` splits it."""
    if isinstance(data, TextDataset | Mapping):
        return as_dataset(data)
    if isinstance(data, ImageDataset):
        raise UserError("A model of texts needs texts, not a dataset of images.")
    return _with_splits(data, None, None)


def images_for(model: ImageModel, data: Any) -> ImageDataset:
    """Pictures as large as the model takes them; those of a dataset as they are."""
    if isinstance(data, str | Path):
        return load_images(str(data), model.network.size[0])
    if not isinstance(data, ImageDataset):
        raise UserError("A model of images needs a dataset of images, its name or its folder: tn.load_dataset(folder).")
    return data


def are_images(data: Any) -> bool:
    """Whether it is the name, folder or archive of pictures."""
    return isinstance(data, str | Path) and (str(data) in list(IMAGE_DATASETS) or is_images(Path(data)))


def as_classifier(model: Any) -> AnyModel:
    """A classifier as it is; a function of texts, or an object with `predict_proba`, as `load_black_box` makes one."""
    if hasattr(model, "network"):
        classifier: AnyModel = model
        return classifier
    if isinstance(model, str | Path):
        raise UserError(f"{str(model)!r} is the name of a model, not a model: give tn.load_model({str(model)!r}).")
    if hasattr(model, "save_pretrained"):
        kind = type(model).__name__
        raise UserError(f"{kind} lacks its tokeniser: save both into one folder, and give tn.load_model(folder).")
    if not callable(getattr(model, "predict_proba", model)):
        raise UserError(
            f"An object of type {type(model).__name__} is no model: give tn.load_model(folder), a function from texts "
            "to probabilities, or an object with predict_proba, see trueness.models.load_black_box."
        )
    from trueness.kinds.text.models.black_box import load_black_box

    return load_black_box(model)


def as_text_classifier(model: Any) -> Classifier:
    """The same, of texts."""
    found: Any = as_classifier(model)
    if of_images(found):
        raise UserError(f"The model ({', '.join(found.classes)}) is a classifier of images; use tn.explain_images.")
    text: Classifier = found
    return text


def check_number(what: str, number: Any, least: int) -> None:
    """Refuse what is no whole number, or too small."""
    if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
        raise UserError(f"{what} is a whole number, {least} or more, not {number!r}.")


def several(explainers: Any) -> Any:
    """Explainers as a list: one alone will do, and none."""
    return explainers if explainers is None or isinstance(explainers, list | tuple) else [explainers]


def kind_of(thing: Any) -> str:
    """What somebody gave, in a few words."""
    return "nothing" if thing is None else f"an object of type {type(thing).__name__}"


def refuse_numbers(data: Any, what: str) -> None:
    """Refuse an array, a table or lists of numbers where texts or images are wanted."""
    types: Any = getattr(data, "dtypes", getattr(data, "dtype", None))  # of a table, or of an array
    kinds = {getattr(kind, "kind", "") for kind in (types if hasattr(types, "__iter__") else [types])}
    row = data[0] if isinstance(data, list | tuple) and data else None
    listed = isinstance(row, list | tuple) and bool(row) and all(isinstance(one, int | float) for one in row)
    if isinstance(data, VectorDataset) or listed or (kinds and kinds <= set("biuf")):
        raise UserError(
            f"{what} is for texts and images, and the data are numbers: of vectors and tables trueness has "
            "tn.recursive_roar."
        )


def of_images(model: Any) -> bool:
    """Whether it classifies images: a model at hand, or one in a folder."""
    if isinstance(model, str | Path):
        from trueness.kinds.image.models.families import is_image_model

        return not is_function(model) and is_image_model(Path(model))
    from trueness.kinds.image.models.model import ImageModel

    return isinstance(model, ImageModel)
