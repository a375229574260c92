"""Forms of data and models that functions of texts alone, and of images alone, ask for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.api.models import as_model
from trueness.data.dataset import with_splits
from trueness.data.labels import NAME_THEM, match_labels
from trueness.errors import UserError
from trueness.kinds import kind_of
from trueness.kinds.image.data.datasets import IMAGE_DATASETS, is_images, load_images
from trueness.kinds.image.data.images import ImageDataset
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.texts import as_dataset
from trueness.kinds.vector.vectors import VectorDataset

if TYPE_CHECKING:
    from trueness.data.inputs import Split as AnySplit
    from trueness.kinds.image.models.model import ImageModel
    from trueness.kinds.text.models.classifier import Classifier

    AnyModel = Classifier | ImageModel


def labelled_as(model: AnyModel, coded: AnySplit, classes: Sequence[str]) -> AnySplit:
    """The same with the model's numbers instead of those of a dataset's `classes`, which may be fewer."""
    meant = matched(classes, model)
    return coded.labelled([meant[classes[label]] for label in coded.labels.tolist()])


def matched(labels: Sequence[str | int], model: AnyModel) -> Mapping[str | int, int]:
    """The class of a model that each label means; a warning where that is not by its name."""
    found = match_labels(labels, model.classes, NAME_THEM)
    if found.note:
        warnings.warn(f"{found.note}.", stacklevel=3)
    return found.classes


def texts_for(data: Any) -> TextDataset:
    """A dataset as it is; splits are kept, and what has none is split as `train` splits it."""
    if isinstance(data, TextDataset | Mapping):
        return as_dataset(data)
    if isinstance(data, ImageDataset):
        raise UserError("A model of texts needs texts, not a dataset of images.")
    return with_splits(as_dataset(data))


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


def as_text_classifier(model: Any) -> Classifier:
    """The same, of texts."""
    found: Any = as_model(model)
    if of_images(found):
        raise UserError(f"The model ({', '.join(found.classes)}) is a classifier of images; use tn.explain_images.")
    text: Classifier = found
    return text


def several(explainers: Any) -> Any:
    """Explainers as a list: one alone will do, and none."""
    return explainers if explainers is None or isinstance(explainers, list | tuple) else [explainers]


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
    return kind_of(model).name == "image"
