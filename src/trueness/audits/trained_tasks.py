"""The tasks of an audit that train models like the audited one: with planted evidence, and its relatives."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trueness.audits.reading import Labels, dataset_of, judged, probabilities, split_of, warned
from trueness.audits.subject import opened
from trueness.audits.trials import learned
from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.errors import Unsupported, UserError
from trueness.explainers.contract import TEXT_EXPLAINERS

if TYPE_CHECKING:
    from trueness.kinds.text.data.examples import TextExample
    from trueness.kinds.text.models.classifier import Classifier

Kin = Literal["companion", "twin", "stranger"]
COMPANION: Kin = "companion"
"""Learned to do what the audited model does while words were hidden at random: to it they are nothing new."""
TWIN: Kin = "twin"
"""Learned to do what the audited model does, from another seed."""
STRANGER: Kin = "stranger"
"""Learned labels dealt out at random, from weights in random order."""
_LONGER = {"default": "dry-run", "default-pair": "dry-run-pair"}
"""Recipes for those who do not learn by the usual one; fine-tuning for longer would break any budget."""
_SEEDS: Mapping[Kin, int] = {COMPANION: 0, TWIN: 1, STRANGER: 0}


@task("audit/planted", version=2)
def planted(inputs: Mapping[str, Stored], *, model: Path | str, family: str | None, name: str) -> dict[str, Any]:
    """The user's texts with evidence planted in them that a model of the same architecture must use."""
    from trueness.kinds.text.data.examples import TextExample
    from trueness.kinds.text.data.planting import PLANTINGS, bound, own_words, plant, reassignment
    from trueness.kinds.text.data.stored import pack

    classifier = opened(model, family, current_device())

    def number_of(word: str) -> int | None:
        coded = classifier.coder.code(TextExample((word,), 0))
        inside = coded.explained or [0 < place < len(coded.tokens) - 1 for place in range(len(coded.tokens))]
        numbers = [number for number, explained in zip(coded.tokens, inside, strict=True) if explained]
        return int(numbers[0]) if len(numbers) == 1 and classifier.known(TextExample((word,), 0))[0] else None

    texts = dataset_of(inputs["texts"], classifier, name)
    try:
        planting, texts = own_words(texts, number_of)
    except UserError:  # too few common words: made-up ones, which stand out more
        planting = PLANTINGS["token-with-decoy"](len(texts.classes))
    data = plant(texts, planting)
    about = {"bound": bound(reassignment(len(data.classes))), "words": planting.words}
    return {**pack(data, None), "bound": about}


@task("audit/labelled", version=1)
def labelled(
    inputs: Mapping[str, Stored], *, model: Path | str, family: str | None, name: str, labels: Labels
) -> dict[str, Any]:
    """The user's texts, each with the class that the audited model gives it, or with one drawn at random."""
    from trueness.kinds.text.data.stored import pack

    classifier = opened(model, family, current_device())
    return pack(dataset_of(inputs["texts"], classifier, name, labels), None)


@task("audit/relative", version=2)
def relative(
    inputs: Mapping[str, Stored],
    *,
    model: Path | str,
    family: str | None,
    kin: Kin,
    like: str,
    recipe: str | None,
    pretrained: Path | None,
    shape: Mapping[str, Any],
) -> dict[str, Any]:
    """A model of the same architecture: `Kin` says what it has learned.

    One that has to say what the audited model says, and has not learned it, is trained once more, for longer.
    """
    from trueness.kinds.text.models.families import TEXT_MODELS
    from trueness.kinds.text.tasks import read_dataset
    from trueness.protocols.randomisation import layers_of, randomised
    from trueness.protocols.roar.companion import masked_training

    kind, data = TEXT_MODELS[like], read_dataset(inputs["dataset"])
    how: dict[str, Any] = {"recipe": recipe, "device": current_device(), **shape}
    if kin == COMPANION:
        how["views"] = [masked_training(0)]
    with tempfile.TemporaryDirectory() as folder:
        if kin == STRANGER and pretrained is not None:  # it would remember what the audited model has learned
            classifier = opened(model, family, current_device())
            with randomised(layers_of(classifier.network), 0):
                pretrained = classifier.save(Path(folder) / "model")
        (trained,) = kind.train(data, [_SEEDS[kin]], pretrained=pretrained, **how)
        if kin != STRANGER and recipe in _LONGER and not _learned(trained, data["dev"]):
            (trained,) = kind.train(data, [_SEEDS[kin]], pretrained=pretrained, **{**how, "recipe": _LONGER[recipe]})
    return {**kind.pack({"0": trained}), **({} if kind.built_in else {"family": {"name": like}})}


def _learned(trained: Classifier, examples: Sequence[TextExample]) -> bool:
    """Whether it names the classes of texts that it was not trained on."""
    said = probabilities(trained, list(examples)).argmax(axis=1)
    return learned([one.label for one in examples], said)[0]


@task("audit/companion-removed", version=7)
def companion_removed(
    inputs: Mapping[str, Stored],
    *,
    model: Path | str,
    family: str | None,
    explainer: str,
    texts: int,
    levels: Sequence[float],
) -> dict[str, Any]:
    """What hiding words by one method's scores costs the companion, each explained by itself."""
    from trueness.kinds.text.tasks import read_model
    from trueness.protocols.faithfulness import removal
    from trueness.protocols.randomisation import explained as explain

    classifier = read_model(inputs["companion"], 0)
    examples = judged(inputs["texts"], opened(model, family, current_device()), texts)
    predicted = probabilities(classifier, examples).argmax(axis=1)
    labelled = [replace(one, label=int(label)) for one, label in zip(examples, predicted, strict=True)]
    split = split_of(classifier, labelled)
    try:
        with warned():
            scores, mask = explain(classifier.network, split, TEXT_EXPLAINERS[explainer])
    except Unsupported:
        return {}
    found = removal(classifier.network, split, scores, mask, levels=levels, shares=())
    # Of the texts that are explained, most of which it was trained on: there it has to say something.
    enough, right, guessed = learned([one.label for one in examples], predicted)
    told = {"enough": enough, "right": right, "guessed": guessed, "texts": len(examples)}
    return {"removal": {"cost": found.cost}, "learned": told}


@task("audit/compared", version=3)
def compared(
    inputs: Mapping[str, Stored], *, model: Path | str, family: str | None, explainer: str, texts: int
) -> dict[str, Any]:
    """How alike one method's explanations of the audited model and of a relative are, of the audited model's class."""
    import numpy as np

    from trueness.kinds.text.tasks import read_model
    from trueness.protocols.randomisation import explained as explain
    from trueness.protocols.randomisation import redrawn
    from trueness.protocols.similarity import similarity

    if not inputs["explained"].holds("scores"):
        return {}
    kept, ceiling = inputs["explained"].read("scores"), inputs["explained"].read("repeats")["ceiling"]
    number = min(texts, len(kept["scores"]), len(ceiling))
    examples = judged(inputs["texts"], opened(model, family, current_device()), number)
    other, method = read_model(inputs["relative"], 0), TEXT_EXPLAINERS[explainer]
    said, before = probabilities(other, examples), inputs["texts"].read("said")["probability"][:number]
    try:
        with warned():
            scores, mask = explain(other.network, split_of(other, examples), redrawn(method) or method)
    except Unsupported:
        return {}
    return {
        "compared": {
            "similarity": similarity(kept["scores"][:number, : mask.shape[1]].astype(np.float64), scores, mask),
            "ceiling": ceiling[:number],
            "moved": 0.5 * np.abs(said - before).sum(axis=1),
            "same": said.argmax(axis=1) == before.argmax(axis=1),
        }
    }
