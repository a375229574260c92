"""The task of the study: each run plants, trains, and explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.data.dataset import SPLITS
from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.image.tasks import read_images

if TYPE_CHECKING:
    import pandas as pd

    from trueness.kinds.image.data.batches import ImageSplit
    from trueness.kinds.image.data.images import ImageDataset
    from trueness.kinds.image.data.manipulations import Manipulation


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
    from trueness.protocols.ground_truth.trial import needed

    device, artefact = current_device(), made_of(manipulation)
    whole = read_images(inputs["images"])
    data = whole.pair(*(pair or whole.classes[:2]))
    network = IMAGE_MODELS[model].build(2, data.size, seed).to(device)
    splits = planted(data, artefact, kept, seed, device, network.mean.flatten().tolist())
    asked = {"stop_at" if name == "stop" else name: value for name, value in recipe.items() if name != "gain"}
    training, gain = replace(RECIPES["image"], **asked), recipe.get("gain", 0.05) if watched else None
    trained = train_images(network, splits["train"], splits["dev"], training, seed, gain=gain)
    test = splits["test"]
    labels = test.labels.cpu().numpy()
    height, width = data.size
    facts = {
        **needed(network, test, bound(reassignment(2, kept))),
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
    from trueness.kinds.image.view import panels_of
    from trueness.protocols.ground_truth.trial import detect

    height, width = network.size
    region = artefact.region(height, width).numpy().reshape(1, -1).repeat(len(shown), axis=0)
    table, found = detect(network, shown, {name: IMAGE_EXPLAINERS[name] for name in explainers}, region)
    means = table.groupby(["method", "label"], sort=False, as_index=False).agg(
        **{
            "attribution share": ("attribution share", "mean"),
            "AUROC": ("AUROC", "mean"),
            "region": ("evidence size", "mean"),
            "images": ("instance", "size"),
        }
    )
    return means, panels_of(shown, found.scores, region[0], table, examples)
