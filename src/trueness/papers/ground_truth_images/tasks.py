"""The tasks of the study: images are read once; each run plants, trains, and explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.engine import Stored, Task, task
from trueness.engine.encoding import digest
from trueness.engine.worker import current_device
from trueness.kinds.image.data.datasets import IMAGE_DATASETS, file_of
from trueness.kinds.image.explainers.contract import IMAGE_EXPLAINERS
from trueness.kinds.image.models.families import IMAGE_MODELS

if TYPE_CHECKING:
    import pandas as pd

    from trueness.kinds.image.data.batches import ImageSplit
    from trueness.kinds.image.data.images import ImageDataset
    from trueness.kinds.image.data.manipulations import Manipulation

SPLITS = ("train", "dev", "test")


@task("images/dataset", version=1)
def images(
    inputs: Mapping[str, Any],  # noqa: ARG001  # every task takes its inputs; this one has none
    *,
    name: str | None,
    source: Path | None,
    size: int,
    pictures: str = "",  # noqa: ARG001  # only to be part of the task's key
) -> dict[str, Any]:
    """All images in one size; `pictures` is the digest of those that a table names."""
    from trueness.kinds.image.data.datasets import load_images
    from trueness.kinds.image.data.stored import pack

    found = load_images(str(name or source), size)
    return pack(found)


def images_task(dataset: str, size: int) -> Task:
    """The task that reads a dataset, by its name or its file."""
    from trueness.kinds.image.data.files import listed_pictures

    source = file_of(dataset)
    listed = [] if source is None else listed_pictures(source)
    named: dict[str, Any] = {"pictures": digest(listed)} if listed else {}
    return images(name=dataset if dataset in IMAGE_DATASETS else None, source=source, size=size, **named)


def read_images(stored: Stored) -> ImageDataset:
    """What the task `images/dataset` left."""
    from trueness.kinds.image.data.stored import unpack

    return unpack(stored)


def planted(
    data: ImageDataset, manipulation: Manipulation, kept: float, seed: int, device: str, blank: Sequence[float]
) -> dict[str, ImageSplit]:
    """The splits with labels drawn anew, kept with a chance, in which images of class 1 show the artefact."""
    from trueness.kinds.image.data.batches import ImageSplit
    from trueness.kinds.image.data.images import Images

    found = {}
    for number, name in enumerate(SPLITS):
        rng = np.random.default_rng([seed, number, *b"labels"])
        some = data[name]
        order = rng.permutation(len(some))
        labels = np.where(rng.random(len(some)) < kept, some.labels, 1 - some.labels)[order]
        pixels = Images(some.pixels[order], labels)
        found[name] = ImageSplit(pixels, device, manipulation=manipulation, seed=seed * 3 + number, blank=blank)
    return found


@task("ground-truth-images/run", version=3)
def run(
    inputs: Mapping[str, Stored],
    *,
    model: str,
    manipulation: Mapping[str, Any],
    pair: Sequence[str] | None,
    kept: float,
    seed: int,
    recipe: Mapping[str, Any],
    explainers: Sequence[str],
    watched: Sequence[str],
    instances: int,
    examples: int,
    always: bool,
) -> dict[str, Any]:
    """One model on images with an artefact: whether it had to use it, and how much of its maps lies in the region.

    It is explained where it had to, or `always`; by those `watched` also as it was at each gain of accuracy.
    """
    import pandas as pd

    from trueness.kinds.image.data.manipulations import made_of
    from trueness.kinds.image.models.training import accuracy, train_images
    from trueness.kinds.text.data.planting import bound, reassignment
    from trueness.models.recipes import RECIPES
    from trueness.protocols.ground_truth.trial import predictions, usage

    device, artefact = current_device(), made_of(manipulation)
    whole = read_images(inputs["images"])
    data = whole.pair(*(pair or whole.classes[:2]))
    network = IMAGE_MODELS[model].build(2, data.size, seed).to(device)
    splits = planted(data, artefact, kept, seed, device, network.mean.flatten().tolist())
    how = {name: recipe[name] for name in ("epochs", "batch_size", "learning_rate")}
    training = replace(RECIPES["image"], stop_at=recipe["stop"], **how)
    gain = recipe["gain"] if watched else None
    trained = train_images(network, splits["train"], splits["dev"], training, seed, gain=gain)
    test = splits["test"]
    labels = test.labels.cpu().numpy()
    right = int((predictions(network, test) == labels).sum())
    height, width = data.size
    facts = {
        **usage(right, len(test), bound(reassignment(2, kept))),
        "epochs": len(trained.history),
        "region": float(artefact.region(height, width).double().mean()),
        "classes": list(data.classes),
        "settings": dict(manipulation),
    }
    half = instances // 2
    shown = test.only(np.sort(np.concatenate([np.flatnonzero(labels == label)[:half] for label in (0, 1)])))
    *earlier, last = trained.checkpoints
    frames: list[pd.DataFrame] = []
    payloads: dict[str, Any] = {"facts": facts}
    for checkpoint in earlier:
        network.load_state_dict(checkpoint.weights)
        found, _ = _explained(network, shown, artefact, watched, 0)
        frames.append(
            found.assign(**{"test accuracy": accuracy(network, test), "epoch": checkpoint.epoch, "last": False})
        )
    network.load_state_dict(last.weights)
    if always or watched or facts["proven"]:
        found, panels = _explained(network, shown, artefact, [*dict.fromkeys([*explainers, *watched])], examples)
        frames.append(found.assign(**{"test accuracy": facts["accuracy"], "epoch": last.epoch, "last": True}))
        payloads |= {"panels": panels} if len(panels) else {}
    return {**payloads, "records": pd.concat(frames, ignore_index=True)} if frames else payloads


def _explained(
    network: Any, shown: ImageSplit, artefact: Manipulation, explainers: Sequence[str], examples: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Means of every explainer and class over images, and some images with their maps."""
    from trueness.protocols.agreement.explaining import explain_all
    from trueness.protocols.ground_truth.trial import measured, predictions
    from trueness.report.pictures import panels_of

    methods = {name: IMAGE_EXPLAINERS[name] for name in explainers}
    found = explain_all(network, shown, methods, refuse=False)
    height, width = network.size
    region = artefact.region(height, width).numpy().reshape(1, -1).repeat(len(shown), axis=0)
    predicted, gold = predictions(network, shown), shown.labels.cpu().numpy()
    table = measured(found, region, np.zeros_like(region), predicted, gold)
    means = table.groupby(["method", "label"], sort=False, as_index=False).agg(
        **{
            "attribution share": ("attribution share", "mean"),
            "AUROC": ("AUROC", "mean"),
            "region": ("evidence size", "mean"),
            "images": ("instance", "size"),
        }
    )
    return means, panels_of(shown, found.scores, region[0], table, examples)
