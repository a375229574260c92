"""The audit of an image classifier, as tasks: the trials, marks and rule of texts, on squares of images."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.audits.gathering import curve_of
from trueness.audits.image_words import fields_of_images
from trueness.audits.judging import in_order, judge, no_better
from trueness.audits.measured import Measurements
from trueness.audits.study import summary
from trueness.audits.trials import PLANTED, lines_of, no_order
from trueness.audits.verdict import Audit, Curve
from trueness.engine import Stored, Task, task
from trueness.engine.encoding import path_digest
from trueness.engine.worker import current_device
from trueness.errors import Unsupported, UserError
from trueness.kinds.image.explainers.contract import IMAGE_EXPLAINERS
from trueness.kinds.image.tasks import read_images
from trueness.papers.ground_truth_images import tasks as image_tasks
from trueness.studies.placed import Placed

if TYPE_CHECKING:
    from trueness.kinds.image.models.model import ImageModel

USUAL = ("gradient", "smooth-gradient", "grad-cam", "integrated-gradients", "gradient-shap[n_samples=50]", "occlusion")
FOILS = ("random", "edges")
_ARTEFACTS = ("brightness", "noise", "hue")
"""What is planted, in turn, at its highest visibility."""
_SINGLE = 30
"""Images that are also explained alone."""
_REPEATED = ("change", "ceiling", "edited", "alone", "flat")
_COSTS = ("cost", "soft_cost")


def plan_images(
    model: Path,
    family: str | None,
    images: Task,
    explainers: Sequence[str],
    *,
    shown: int,
    shuffled: int,
    draws: int,
    planted: int,
    epochs: int,
    at: Mapping[str, str],
) -> Task:
    """Every method is asked, and models like it are trained on the same images with an artefact that they must use."""
    common: dict[str, Any] = {"model": model, "family": family}
    made = Placed("explained", "planted")
    for name in explainers:
        looked = {"shown": shown, "shuffled": min(shuffled, shown), "draws": draws}
        made.add("explained", explained({"images": images}, explainer=name, **looked, **common), explainer=name)
    for seed in range(planted):
        asked = {"explainers": explainers, "seed": seed, "epochs": epochs, "instances": min(shown, 60)}
        made.add("planted", planted_model({"images": images}, **asked, **common), seed=seed)
    about = {"model": model.name, "shown": shown, "epochs": epochs, "randomised": min(shuffled, shown), "draws": draws}
    judged = verdict({"images": [images], **made.inputs}, explainers=explainers, about=about)
    return summary({"audits": [judged]}, at=[at])


def missing_images(asked: int, there: int) -> list[str]:
    """What is to be said where fewer images can be explained than were to be."""
    if asked <= there:
        return []
    return [f"{asked - there:,} of {asked:,} images were not explained: the data have only {there:,} test images"]


def _opened(model: Path, family: str | None, device: str) -> ImageModel:
    """A worker opens the classifier once for all its tasks, and again when it has changed."""
    return _opened_as(model, family, device, path_digest(model))


@functools.lru_cache(maxsize=1)
def _opened_as(model: Path, family: str | None, device: str, content: str) -> ImageModel:  # noqa: ARG001
    from trueness.kinds import open_model

    return open_model(model, device, family=family)  # type: ignore[return-value]


@task("audit-images/explained", version=4)
def explained(
    inputs: Mapping[str, Stored],
    *,
    model: Path,
    family: str | None,
    explainer: str,
    shown: int,
    shuffled: int,
    draws: int,
) -> dict[str, Any]:
    """What one method says of the classifier, whether it says it again, and what hiding squares costs."""
    from trueness.protocols.faithfulness import removal
    from trueness.protocols.ground_truth.trial import predictions
    from trueness.protocols.levels import LEVELS

    classifier = _opened(model, family, current_device())
    network, data = classifier.network, read_images(inputs["images"])
    some = data.default_split()
    some = some.pick(np.random.default_rng([0, *b"audit"]).permutation(len(some))[:shown])
    split = classifier.coded(some)
    predicted = predictions(network, split)
    known = set(data.classes) == set(classifier.classes)
    names = np.array([classifier.classes.index(one) if known else -1 for one in data.classes])
    about = {
        "images": len(some),
        "classes": list(classifier.classes),
        "accuracy": float((names[some.labels] == predicted).mean()) if known else None,
        "labels": some.labels.tolist(),
        "place, in pixels": split.cell,
    }
    brighter = classifier.coded(type(some)(np.where(some.pixels < 255, some.pixels + 1, 254), some.labels))
    harmless = np.flatnonzero(predictions(network, brighter) == predicted)
    split, brighter = split.labelled(predicted), brighter.labelled(predicted)
    try:
        found, scores, mask = _measured(network, split, brighter, harmless, explainer, (shuffled, draws))
    except Unsupported as error:
        return {"about": {**about, "refused": str(error)}}
    hidden = removal(network, split, scores, mask)
    curve = curve_of(explainer, hidden, LEVELS)
    about |= {"moved": found["moved"], "random": found["random"], "curve": json.loads(curve.model_dump_json())}
    arrays = {name: found[name] for name in _REPEATED} | {name: getattr(hidden, name) for name in _COSTS}
    return {"about": about, "arrays": arrays}


def _measured(
    network: Any, split: Any, edited: Any, harmless: Any, name: str, shuffles: tuple[int, int]
) -> tuple[dict[str, Any], Any, Any]:
    """What one method says, whether it says it again, and whether it depends on the weights."""
    from trueness.protocols.randomisation import explained, randomisation, redrawn
    from trueness.protocols.similarity import flat, largest_of, similarity

    method = IMAGE_EXPLAINERS[name]
    scores, mask = explained(network, split, method)
    other = redrawn(method)
    ceiling = np.ones(len(split)) if other is None else similarity(scores, explained(network, split, other)[0], mask)
    after = np.full(len(split), np.nan)
    if len(harmless):
        again, _ = explained(network, edited.only(harmless), other or method)
        after[harmless] = similarity(scores[harmless], again, mask[harmless])
    alone, scale = np.zeros(_SINGLE), largest_of(scores)
    for row in range(_SINGLE):
        single, _ = explained(network, split.only([row]), method)
        alone[row] = similarity(scores[row : row + 1], single, mask[row : row + 1], scale)[0]
    number, draws = min(shuffles[0], len(split)), shuffles[1]
    few = split.only(np.arange(number))
    known: dict[str, Any] = {"before": scores[:number], "ceiling": ceiling[:number]}
    table = randomisation(network, few, method, orders=["all at once"], seeds=range(draws), **known)
    change = (table["ceiling"] - table["similarity"]).to_numpy(dtype=np.float64).reshape(draws, number)
    repeats: dict[str, Any] = {"ceiling": ceiling, "edited": after, "alone": alone, "flat": flat(scores, mask)}
    repeats["random"] = method.facts.random
    return {"change": change, "moved": float(table["output change"].mean()), **repeats}, scores, mask


@task("audit-images/planted", version=2)
def planted_model(
    inputs: Mapping[str, Stored],
    *,
    model: Path,
    family: str | None,
    explainers: Sequence[str],
    seed: int,
    epochs: int,
    instances: int,
) -> dict[str, Any]:
    """A model of the same kind that must use an artefact, and by each method the AUROC of finding it."""
    from trueness.kinds.image.data.artefacts import ARTEFACTS
    from trueness.kinds.image.models.families import IMAGE_MODELS
    from trueness.kinds.image.models.training import train_images
    from trueness.models.recipes import RECIPES
    from trueness.protocols.agreement.explaining import explain_all
    from trueness.protocols.ground_truth.trial import measured, predictions, usage

    device = current_device()
    classifier, data = _opened(model, family, device), read_images(inputs["images"])
    if not {"train", "dev", "test"} <= set(data.splits):
        return {"about": {"missing": "there are no images to train on"}}
    pair = data.pair(*data.classes[:2])
    name = _ARTEFACTS[seed % len(_ARTEFACTS)]
    drawn = ARTEFACTS[name].by_visibility(np.random.default_rng([seed, *b"audit"]))
    drawn = drawn.at_level(drawn.levels[-1])
    network = IMAGE_MODELS[family or classifier.network.family].build(2, pair.size, seed).to(device)
    splits = image_tasks.planted(pair, drawn, 0.5, seed, device, network.mean.flatten().tolist())
    train_images(network, splits["train"], splits["dev"], replace(RECIPES["image"], epochs=epochs, batch_size=64), seed)
    test = splits["test"]
    labels = test.labels.cpu().numpy()
    facts = usage(int((predictions(network, test) == labels).sum()), len(test), 0.5)
    about = {"artefact": name, "accuracy": facts["accuracy"], "proven": bool(facts["proven"])}
    if not facts["proven"]:
        return {"about": about}
    few = test.only(np.arange(min(instances, len(test))))
    said = explain_all(network, few, {one: IMAGE_EXPLAINERS[one] for one in explainers}, refuse=False)
    height, width = pair.size
    region = drawn.region(height, width).numpy().reshape(1, -1).repeat(len(few), axis=0)
    gold = few.labels.cpu().numpy()
    table = measured(said, region, np.zeros_like(region), gold, gold)
    found = {
        str(one): rows.sort_values("instance")["AUROC"].to_numpy(dtype=np.float64)
        for one, rows in table.groupby("method", sort=False)
    }
    return {"about": about, "arrays": found}


@task("audit-images/verdict", version=6, light=True)
def verdict(
    inputs: Mapping[str, list[Stored]], *, explainers: Sequence[str], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Every method judged, in words about images."""
    (images,) = inputs["images"]
    detection, notes = _detected(inputs["planted"])
    facts: dict[str, Measurements] = {}
    curves: list[Curve] = []
    refused: dict[str, str] = {}
    for name, stored in zip(explainers, inputs["explained"], strict=True):
        told = stored.read("about")
        if "refused" in told:
            refused[name] = told["refused"]
            continue
        curves.append(Curve(**told["curve"]))
        arrays = stored.read("arrays")
        measured: dict[str, Any] = {one: np.asarray(arrays[one]) for one in (*_REPEATED, *_COSTS)}
        more: dict[str, Any] = {"detection": detection.get(name), "notes": {PLANTED: notes}}
        facts[name] = Measurements(**measured, moved=told["moved"], random=told["random"], **more)
    if not facts:
        raise UserError(f"None of the explainers works for this model: {'; '.join(refused.values())}")
    told = inputs["explained"][0].read("about")
    foils = [name for name in FOILS if name in facts]
    missing = "no model of this kind learned to use what was planted; more epochs may help, "
    missing += f"--set epochs={3 * about['epochs']}"
    if not inputs["planted"]:
        missing = "no model with a planted artefact was trained; --set planted=3 does"
    lines = lines_of(facts, foils, missing_planted=missing, trained=len(inputs["planted"]))
    data, there = images.read("about"), len(read_images(images).default_split())
    judged, ties = in_order(judge(lines, foils, there), facts)
    warnings = [f"{name} {why}" for name, one in facts.items() if name not in foils and (why := no_order(one))]
    if told["accuracy"] is not None:
        warnings += no_better(told["accuracy"], np.array(told["labels"]))
    left_out = [*(f"{name}: {why}" for name, why in refused.items()), *missing_images(about["shown"], there)]
    sizes = {"images": told["images"], "randomised": min(about["randomised"], told["images"]), "draws": about["draws"]}
    sizes |= {"planted": len(inputs["planted"]), "epochs": about["epochs"]}
    found = Audit(
        model=about["model"],
        data=data["name"],
        classes=tuple(told["classes"]),
        texts=told["images"],
        accuracy=told["accuracy"],
        explainers=tuple(judged),
        ties=tuple(ties),
        left_out=(*left_out, "companion: not trained for images"),
        warnings=tuple(warnings),
        notes=tuple(data["notes"]),
        curves=tuple(curves),
        settings={**sizes, "place, in pixels": told["place, in pixels"]},
        inputs="images",
    )
    plain = Audit.model_validate(fields_of_images(found.model_dump()))
    return {"audit": json.loads(plain.model_dump_json())}


def _detected(planted: Sequence[Stored]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(models, images) AUROC of each method over models that had to use their artefact, and what is said of them."""
    told = [stored.read("about") for stored in planted]
    if missing := next((one["missing"] for one in told if "missing" in one), ""):
        return {}, (missing,)
    found: dict[str, list[Any]] = {}
    for stored, one in zip(planted, told, strict=True):
        for name, values in (stored.read("arrays") if one["proven"] else {}).items():
            found.setdefault(name, []).append(np.asarray(values))
    accuracies = ", ".join(f"{one['artefact']} {one['accuracy']:.2f}" for one in told)
    used = sum(one["proven"] for one in told)
    notes = (f"{used} of {len(told)} models had to use the planted artefact (accuracy: {accuracies}).",)
    return {name: np.stack(rows) for name, rows in found.items()}, notes
