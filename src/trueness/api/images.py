"""Images: maps of a model's images, and Recursive ROAR."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from trueness.api.arrays import STEPS, recursive_roar
from trueness.api.devices import check_device
from trueness.api.forms import images_for, labelled_as, of_images
from trueness.api.models import described
from trueness.api.texts import named_explainer
from trueness.errors import UserError
from trueness.kinds.image.data.datasets import load_images
from trueness.kinds.image.data.images import ImageDataset, Images

if TYPE_CHECKING:
    from trueness.api.texts import AnyExplainer
    from trueness.explainers.contract import Target
    from trueness.kinds.image.models.model import ImageModel
    from trueness.models.recipes import Recipe
    from trueness.protocols.roar.removal import Order
    from trueness.report import Measurement


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


def recursive_roar_images(
    data: str | ImageDataset,
    model: str = "small-cnn",
    explainers: Sequence[str] = ("gradient", "grad-cam", "edges"),
    *,
    seeds: int | Sequence[int] = 3,
    steps: Sequence[float] = STEPS,
    orders: Sequence[Order] = ("recursive",),
    recipe: str | Recipe | None = None,
    device: str = "cpu",
    leak: bool = True,
) -> Measurement:
    """Is what a map calls important needed? Pixels are hidden everywhere, models are trained again: step by step.

    The curves, scores and guards are those of texts and arrays, see `recursive_roar`. With `leak` other models learn
    from the masks alone: where these tell the class, a curve says little. A tenth of the training images chooses the
    epoch.
    """
    from trueness.kinds.image.data.batches import ImageSplit
    from trueness.kinds.image.explainers.contract import IMAGE_EXPLAINERS
    from trueness.kinds.image.models.families import IMAGE_MODELS
    from trueness.kinds.image.models.training import predicted, train_images

    check_device(device)
    loaded = load_images(str(data)) if isinstance(data, str | Path) else data
    if not isinstance(loaded, ImageDataset):
        raise UserError(f"Recursive ROAR of images needs a dataset of images, or its name; not {described(data)}.")
    if "random" in explainers:
        raise UserError("Random masks are always there as the baseline: leave out random.")
    methods = {name: IMAGE_EXPLAINERS[name] for name in explainers}
    size = loaded.size

    def coded(pixels: npt.NDArray[Any], labels: npt.NDArray[Any]) -> ImageSplit:
        return ImageSplit(Images(pixels.astype(np.float32), labels.astype(np.int64)), device)

    def train(pixels: npt.NDArray[Any], labels: npt.NDArray[Any], seed: int) -> Any:
        network = IMAGE_MODELS[model].build(len(loaded.classes), size, seed).to(device)
        order = np.random.default_rng([seed, *b"roar"]).permutation(len(labels))
        dev, rest = np.split(order, [max(2, len(order) // 10)])
        splits = [coded(pixels[rows], labels[rows]) for rows in (rest, dev)]
        train_images(network, splits[0], splits[1], recipe or "image", seed)
        return network

    def predict(network: Any, pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = predicted(network, coded(pixels, np.zeros(len(pixels)))).cpu().numpy()
        return found

    def maps(name: str) -> Any:
        def explain(network: Any, pixels: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
            split = coded(pixels, labels)
            found = np.zeros((len(pixels), split.places))
            for rows, batch in split.to_explain():
                found[rows] = methods[name].attribute(network, batch, "gold").cpu().numpy()
            return found.reshape(len(pixels), *size)

        return explain

    splits = {name: (loaded[name].pixels.astype(np.float32) / 255, loaded[name].labels) for name in ("train", "test")}
    return recursive_roar(
        splits["train"],
        splits["test"],
        train=train,
        predict=predict,
        explainers={name: maps(name) for name in methods},
        seeds=seeds,
        steps=steps,
        orders=orders,
        channels="last",
        leak=leak,
        dataset=loaded.name,
        model=model,
    )
