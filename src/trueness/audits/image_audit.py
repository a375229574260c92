"""The audit of an image classifier: the trials, marks and rule of texts, on squares of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueness.audits.gathering import curve_of
from trueness.audits.image_words import fields_of_images
from trueness.audits.judging import FEWEST, in_order, judge
from trueness.audits.trials import PLANTED, Measurements, lines_of
from trueness.audits.verdict import Audit, Curve
from trueness.errors import Unsupported, UserError
from trueness.explainers.images import IMAGE_EXPLAINERS
from trueness.stats.undefined import Floats

USUAL = ("gradient", "smooth-gradient", "grad-cam", "integrated-gradients", "gradient-shap[n_samples=50]", "occlusion")
FOILS = ("random", "edges")
_ARTEFACTS = ("brightness", "noise", "hue")
"""What is planted, in turn, at its highest visibility."""
_SINGLE = 10
"""Images that are also explained alone."""


def audit_images(
    model: str | Path,
    data: str,
    explainers: Sequence[str] | None = None,
    *,
    images: int = 100,
    planted: int = 3,
    epochs: int = 20,
    device: str = "cpu",
    family: Any = None,
    say: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Which maps of an image classifier may be shown? One verdict for each, by the rule of `docs/audit.md`.

    `planted` models like it are trained on the same images with an artefact that they must use, up to `epochs`; `say`
    hears of each step.
    """
    from trueness.data.image_datasets import load_images
    from trueness.models.image_model import load_image_model
    from trueness.protocols.faithfulness import removal
    from trueness.protocols.ground_truth.trial import predictions
    from trueness.protocols.levels import LEVELS

    classifier = load_image_model(model, device, family=family)
    network = classifier.network
    loaded = load_images(data, network.size[0])
    shown = loaded.to_look_at()
    order = np.random.default_rng([0, *b"audit"]).permutation(len(shown))[:images]
    shown = shown.pick(order)
    if len(shown) < FEWEST:
        raise UserError(f"{loaded.name} has {len(shown)} test images: an audit needs {FEWEST} at least.")
    split = classifier.coded(shown)
    predicted = predictions(network, split)
    known = set(loaded.classes) == set(classifier.classes)
    names_ = np.array([classifier.classes.index(one) if known else -1 for one in loaded.classes])
    accuracy = float((names_[shown.labels] == predicted).mean()) if known else None
    split = split.labelled(predicted)
    edited = classifier.coded(type(shown)(np.where(shown.pixels < 255, shown.pixels + 1, 254), shown.labels))
    harmless = np.flatnonzero(predictions(network, edited) == predicted)
    edited = edited.labelled(predicted)
    names = [*dict.fromkeys([*(explainers or USUAL), *FOILS])]
    detection, notes = _planted(classifier, loaded, names, planted, epochs, min(images, 60), device, say)
    facts: dict[str, Measurements] = {}
    curves: list[Curve] = []
    refused: dict[str, str] = {}
    for name in names:
        say(f"explaining with {name}")
        try:
            found, scores, mask = _measured(network, split, edited, harmless, name)
        except Unsupported as error:
            refused[name] = str(error)
            continue
        hidden = removal(network, split, scores, mask)
        curves.append(curve_of(name, hidden, LEVELS))
        costs: dict[str, Any] = {"cost": hidden.cost, "soft_cost": hidden.soft_cost}
        facts[name] = Measurements(**costs, **found, detection=detection.get(name), notes={PLANTED: notes})
    if not facts:
        raise UserError(f"None of the explainers works for this model: {'; '.join(refused.values())}")
    foils = [name for name in FOILS if name in facts]
    lines = lines_of(facts, foils, missing_planted="no model of this kind learned to use what was planted")
    judged, ties = in_order(judge(lines, foils), facts)
    found_all = Audit(
        model=Path(model).name,
        data=loaded.name,
        classes=classifier.classes,
        texts=len(shown),
        accuracy=accuracy,
        explainers=tuple(judged),
        ties=tuple(ties),
        left_out=(*(f"{name}: {why}" for name, why in refused.items()), "companion: not trained for images"),
        notes=loaded.notes,
        curves=tuple(curves),
        settings={"images": len(shown), "planted": planted, "epochs": epochs, "place, in pixels": split.cell},
        inputs="images",
    )
    return Audit.model_validate(fields_of_images(found_all.model_dump()))


def _measured(network: Any, split: Any, edited: Any, harmless: Any, name: str) -> tuple[dict[str, Any], Floats, Any]:
    """What one method says, whether it says it again, and whether it depends on the weights."""
    from trueness.protocols.randomisation import explained, randomisation, redrawn
    from trueness.protocols.similarity import similarity

    method = IMAGE_EXPLAINERS[name]
    scores, mask = explained(network, split, method)
    other = redrawn(method)
    ceiling = np.ones(len(split)) if other is None else similarity(scores, explained(network, split, other)[0], mask)
    after = np.full(len(split), np.nan)
    if len(harmless):
        again, _ = explained(network, edited.only(harmless), method)
        after[harmless] = similarity(scores[harmless], again, mask[harmless])
    alone = [
        similarity(scores[row : row + 1], explained(network, split.only([row]), method)[0], mask[row : row + 1])[0]
        for row in range(_SINGLE)
    ]
    table = randomisation(network, split, method, orders=["all at once"], before=scores, ceiling=ceiling)
    change = (table["ceiling"] - table["similarity"]).to_numpy(dtype=np.float64)
    repeats = {"ceiling": ceiling, "edited": after, "alone": np.array(alone), "random": method.facts.random}
    return {"change": change, "moved": float(table["output change"].mean()), **repeats}, scores, mask


def _planted(
    classifier: Any,
    data: Any,
    names: Sequence[str],
    models: int,
    epochs: int,
    instances: int,
    device: str,
    say: Callable[[str], None],
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """(models, images) AUROC of each method, of models of the same kind that had to use an artefact."""
    from trueness.data.artefacts import ARTEFACTS
    from trueness.models.image_families import IMAGE_MODELS
    from trueness.models.image_training import ImageRecipe, train_images
    from trueness.papers.ground_truth_images.tasks import planted as with_artefact
    from trueness.protocols.agreement.explaining import explain_all
    from trueness.protocols.ground_truth.trial import measured, predictions, usage

    if not {"train", "dev", "test"} <= set(data.splits):
        return {}, ("there are no images to train on",)
    pair = data.pair(*data.classes[:2])
    found: dict[str, list[Floats]] = {}
    told = []
    for seed in range(models):
        name = _ARTEFACTS[seed % len(_ARTEFACTS)]
        say(f"training a model that must use {name}")
        drawn = ARTEFACTS[name].by_visibility(np.random.default_rng([seed, *b"audit"]))
        drawn = drawn.at_level(drawn.levels[-1])
        network = IMAGE_MODELS[classifier.network.family].build(2, pair.size, seed).to(device)
        splits = with_artefact(pair, drawn, 0.5, seed, device, network.mean.flatten().tolist())
        train_images(network, splits["train"], splits["dev"], ImageRecipe(epochs=epochs, batch_size=64), seed)
        test = splits["test"]
        labels = test.labels.cpu().numpy()
        facts = usage(int((predictions(network, test) == labels).sum()), len(test), 0.5)
        told.append(f"{name} {facts['accuracy']:.2f}")
        if not facts["proven"]:
            continue
        few = test.only(np.arange(min(instances, len(test))))
        said = explain_all(network, few, {one: IMAGE_EXPLAINERS[one] for one in names}, refuse=False)
        height, width = pair.size
        region = drawn.region(height, width).numpy().reshape(1, -1).repeat(len(few), axis=0)
        gold = few.labels.cpu().numpy()
        table = measured(said, region, np.zeros_like(region), gold, gold)
        for one, rows in table.groupby("method", sort=False):
            found.setdefault(str(one), []).append(rows.sort_values("instance")["AUROC"].to_numpy(dtype=np.float64))
    used = max(map(len, found.values()), default=0)
    notes = (f"{used} of {models} models had to use the planted artefact (accuracy: {', '.join(told)}).",)
    return {name: np.stack(rows) for name, rows in found.items()}, notes
