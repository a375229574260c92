"""The tasks of an audit that train models like the audited one: with planted evidence, and with words hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueness.audits.reading import dataset_of, judged, probabilities, split_of
from trueness.audits.subject import opened
from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.errors import Unsupported, UserError
from trueness.explainers import TEXT_EXPLAINERS


@task("audit/planted", version=1)
def planted(inputs: Mapping[str, Stored], *, model: Path | str, family: str | None, name: str) -> dict[str, Any]:
    """The user's texts with evidence planted in them that a model of the same architecture must use."""
    from trueness.data.examples import TextExample
    from trueness.data.planting import PLANTINGS, bound, own_words, plant, reassignment
    from trueness.studies.text_tasks import dataset_payloads

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
    return {**dataset_payloads(data, None), "bound": about}


@task("audit/companion", version=1)
def companion(
    inputs: Mapping[str, Stored],
    *,
    model: Path | str,
    family: str | None,
    name: str,
    like: str,
    recipe: str | None,
    pretrained: Path | None,
    shape: Mapping[str, Any],
) -> dict[str, Any]:
    """A model of the same architecture, trained on texts with words hidden at random: to it they are nothing new."""
    from trueness.models import TEXT_MODELS
    from trueness.protocols.roar.companion import masked_training

    classifier = opened(model, family, current_device())
    table = inputs["texts"].read("texts")
    data = dataset_of(inputs["texts"], classifier, name, [int(label) for label in table["label"]])
    kind = TEXT_MODELS[like]
    how: dict[str, Any] = {"recipe": recipe, "pretrained": pretrained, "views": [masked_training(0)], **shape}
    (trained,) = kind.train(data, [0], device=current_device(), **how)
    return {**kind.pack({"0": trained}), **({} if kind.built_in else {"family": {"name": like}})}


@task("audit/companion-removed", version=2)
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
    from trueness.protocols.faithfulness import removal
    from trueness.protocols.randomisation import explained as explain
    from trueness.studies.model_tasks import read_model

    classifier = read_model(inputs["companion"], 0)
    examples = judged(inputs["texts"], opened(model, family, current_device()), texts)
    predicted = probabilities(classifier, examples).argmax(axis=1)
    labelled = [replace(one, label=int(label)) for one, label in zip(examples, predicted, strict=True)]
    split = split_of(classifier, labelled)
    try:
        scores, mask = explain(classifier.network, split, TEXT_EXPLAINERS[explainer])
    except Unsupported:
        return {}
    found = removal(classifier.network, split, scores, mask, levels=levels, shares=())
    return {"removal": {"cost": found.cost}}
