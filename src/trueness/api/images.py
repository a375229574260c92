"""Maps of a model's images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from trueness.api.forms import images_for, labelled_as, of_images
from trueness.api.models import described
from trueness.api.texts import named_explainer
from trueness.errors import UserError
from trueness.kinds.image.data.images import Images

if TYPE_CHECKING:
    from trueness.api.texts import AnyExplainer
    from trueness.explainers.contract import Target
    from trueness.kinds.image.models.model import ImageModel


def explain_images(
    model: ImageModel,
    images: Images,
    explainer: AnyExplainer = "integrated-gradients",
    *,
    target: str | int = "predicted",
) -> npt.NDArray[np.float64]:
    """(images, height, width) the score of every pixel: `tn.explain_images(model, data["test"].pick([0, 1]))`.

    Of a whole dataset, those of its test split, or the only one. The gold labels of single images are numbers of the
    model's classes; those of a dataset are matched by the names of its classes.
    """
    from trueness.protocols.agreement.explaining import explain_all

    if not of_images(model) or isinstance(model, str | Path):
        raise UserError(f"tn.explain_images takes a model of images, tn.load_model(folder); not {described(model)}.")
    dataset = None if isinstance(images, Images) else images_for(model, images)
    pictures = images if dataset is None else dataset.default_split()
    coded: Any = model.coded(pictures, 1)
    if target == "gold" and dataset is not None:
        coded = labelled_as(model, coded, dataset.classes)
    name, method = named_explainer(explainer, model)
    chosen = model.classes.index(target) if isinstance(target, str) and target in model.classes else target
    found = explain_all(model.network, coded, {name: method}, cast("Target", chosen))
    return found.scores[name].reshape(pictures.pixels.shape[:3])
