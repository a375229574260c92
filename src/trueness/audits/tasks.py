"""The tasks of an audit: texts are drawn and read once, explained once by each method, and shared by all trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.audits.subject import opened
from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.errors import Unsupported, UserError

if TYPE_CHECKING:
    import pandas as pd

    from trueness.data.batches import EncodedSplit
    from trueness.data.examples import TextExample
    from trueness.explainers import Explainer
    from trueness.models.classifier import Classifier


@task("audit/texts", version=1)
def texts(
    inputs: Mapping[str, Any],  # noqa: ARG001  # every task takes its inputs; this one has none
    *,
    name: str | None,
    source: Path | None,
    columns: Mapping[str, str],
    model: Path | str,
    family: str | None,
    texts: int,
    pool: int,
    seed: int,
) -> dict[str, Any]:
    """The texts of an audit, drawn at random, with what the model says of them and of them edited."""
    import numpy as np
    import pandas as pd

    from trueness.data.labels import match_labels
    from trueness.data.texts import read_texts
    from trueness.protocols.stability import HARMLESS, edited

    classifier = opened(model, family, current_device())
    given = read_texts(name or source, **columns)
    order = np.random.default_rng([seed, *b"audit"]).permutation(len(given.texts))
    drawn = [given.texts[number] for number in order[: max(texts, pool)]]
    matching = match_labels([one.label for one in given.texts], classifier.classes)
    notes = [*given.notes, *([matching.note] if matching.note else [])]
    labels = [-1 if one.label is None else matching.classes[one.label] for one in drawn]
    examples = _read(classifier, [one.text for one in drawn], [one.text_b for one in drawn])
    before = _probabilities(classifier, examples[:texts])
    after = _probabilities(classifier, [edited(example) for example in examples[:texts]])
    predicted = before.argmax(axis=1)
    rows = np.arange(len(predicted))
    moved = np.abs(after[rows, predicted] - before[rows, predicted])
    harmless = (moved <= HARMLESS) & (after.argmax(axis=1) == predicted)
    cut = sum(
        bool(classifier.unusual(example)) and "cut off" in classifier.unusual(example) for example in examples[:texts]
    )
    if cut:
        notes.append(f"{cut} of {len(predicted)} texts are longer than the model reads: their end was cut off")
    known = np.array(labels[:texts]) >= 0
    accuracy = float((predicted == np.array(labels[:texts]))[known].mean()) if known.any() else None
    table = pd.DataFrame(
        {
            "text": [one.text for one in drawn],
            "text_b": [one.text_b for one in drawn],
            "label": labels,
            "judged": np.arange(len(drawn)) < texts,
        }
    )
    about = {
        "classes": list(classifier.classes),
        "notes": notes,
        "accuracy": accuracy,
        "labelled": int(known.sum()),
        "rows": len(given.texts),
    }
    said = {"probability": before.astype(np.float32), "harmless": harmless}
    return {"texts": table, "about": about, "said": said}


def _read(classifier: Classifier, some: Sequence[str], others: Sequence[str | None]) -> list[TextExample]:
    pairs = classifier.network.pairs
    second = [str(other) for other in others] if others and others[0] is not None and pairs is not False else None
    return classifier.read(some, second)


def _probabilities(classifier: Classifier, examples: Sequence[TextExample]) -> Any:
    import numpy as np

    from trueness.data.batches import EncodedSplit
    from trueness.models.network import inspecting

    found = np.zeros((len(examples), len(classifier.classes)))
    with inspecting(classifier.network):
        for rows, batch in EncodedSplit(examples, classifier.coder, classifier.device).in_order(1 << 13):
            found[rows] = classifier.network(batch).logits.double().softmax(dim=-1).cpu().numpy()
    if not np.isfinite(found).all():
        raise UserError("The model's outputs are not finite: its weights are too large, or damaged.")
    return found


def judged(stored: Stored, classifier: Classifier, number: int) -> list[TextExample]:
    """The first texts of an audit; each is labelled with the class that the model predicts."""
    table = stored.read("texts").iloc[:number]
    predicted = stored.read("said")["probability"][:number].argmax(axis=1)
    others = [other if isinstance(other, str) else None for other in table["text_b"]]
    examples = _read(classifier, list(table["text"]), others)
    return [replace(one, label=int(label)) for one, label in zip(examples, predicted, strict=True)]


def _split(classifier: Classifier, examples: Sequence[TextExample]) -> EncodedSplit:
    from trueness.data.batches import EncodedSplit

    return EncodedSplit(examples, classifier.coder, classifier.device)


def _method(explainer: str) -> Explainer:
    from trueness.explainers import TEXT_EXPLAINERS

    return TEXT_EXPLAINERS[explainer]


@task("audit/explained", version=1)
def explained(
    inputs: Mapping[str, Stored],
    *,
    model: Path | str,
    family: str | None,
    explainer: str,
    texts: int,
    again: int,
    edits: int,
    single: int,
) -> dict[str, Any]:
    """What one method says of the texts, and whether it says it again: drawn anew, edited, alone."""
    import numpy as np

    from trueness.protocols import randomisation as measure
    from trueness.protocols.similarity import similarity
    from trueness.protocols.stability import after_edit, alone, edited

    classifier, method = opened(model, family, current_device()), _method(explainer)
    examples = judged(inputs["texts"], classifier, texts)
    try:
        scores, mask = measure.explained(classifier.network, _split(classifier, examples), method)
    except Unsupported as error:
        return {"refused": {"reason": str(error)}}
    ceiling = np.ones(len(examples))
    other = measure.redrawn(method)
    if other is not None:
        few = _split(classifier, examples[:again])
        second, inside = measure.explained(classifier.network, few, other)
        ceiling = similarity(scores[:again, : inside.shape[1]], second, inside)
    harmless = np.flatnonzero(inputs["texts"].read("said")["harmless"][: len(ceiling)])[:edits]
    same = np.full(len(ceiling), np.nan)
    if len(harmless):
        some = [examples[row] for row in harmless]
        same[harmless] = after_edit(classifier, some, [edited(one) for one in some], method, scores[harmless])
    return {
        "scores": {"scores": scores.astype(np.float32), "mask": mask},
        "repeats": {
            "ceiling": ceiling,
            "edited": same,
            "alone": alone(classifier, examples[:single], method, scores, mask),
        },
    }


@task("audit/randomised", version=1)
def randomised(
    inputs: Mapping[str, Stored],
    *,
    model: Path | str,
    family: str | None,
    explainer: str,
    texts: int,
    seeds: Sequence[int],
    layerwise: int,
    smooth: int,
) -> dict[str, Any]:
    """What one method says when the model's weights are random: all at once, layer by layer, smoothed."""
    import pandas as pd

    from trueness.protocols.randomisation import randomisation

    classifier, method = opened(model, family, current_device()), _method(explainer)
    if not inputs["explained"].holds("scores") or not classifier.network.differentiable:
        return {}
    kept, ceiling = inputs["explained"].read("scores")["scores"], inputs["explained"].read("repeats")["ceiling"]
    examples = judged(inputs["texts"], classifier, min(texts, len(kept), len(ceiling)))
    at_once = randomisation(
        classifier.network,
        _split(classifier, examples),
        method,
        orders=["all at once"],
        seeds=seeds,
        before=kept[: len(examples)].astype("float64"),
        ceiling=ceiling[: len(examples)],
    )
    frames = [at_once.assign(smooth=0)]
    if layerwise:
        few = _split(classifier, examples[:layerwise])
        frames.append(randomisation(classifier.network, few, method, orders=["top-down", "bottom-up"]).assign(smooth=0))
        if smooth:
            done = randomisation(classifier.network, few, method, orders=["all at once"], smooth=smooth)
            frames.append(done.assign(smooth=smooth))
    return {"records": _small(pd.concat(frames, ignore_index=True))}


def _small(table: pd.DataFrame) -> pd.DataFrame:
    from trueness.studies.text_tasks import small

    return small(table)


@task("audit/removed", version=1)
def removed(
    inputs: Mapping[str, Stored], *, model: Path | str, family: str | None, levels: Sequence[float]
) -> dict[str, Any]:
    """What hiding words by one method's scores costs the model."""
    from trueness.protocols.faithfulness import removal

    if not inputs["explained"].holds("scores"):
        return {}
    classifier = opened(model, family, current_device())
    kept = inputs["explained"].read("scores")
    examples = judged(inputs["texts"], classifier, len(kept["scores"]))
    scores = kept["scores"].astype("float64")
    found = removal(classifier.network, _split(classifier, examples), scores, kept["mask"], levels=levels)
    return {"removal": asdict(found)}


@task("audit/attention", version=1)
def attention(
    inputs: Mapping[str, Stored], *, model: Path | str, family: str | None, explainer: str, texts: int
) -> dict[str, Any]:
    """Of a method that shows attention alone: whether the output needs it."""
    from trueness.models.attentive import AttentiveClassifier
    from trueness.models.transformer import Transformer
    from trueness.protocols.attention.need import (
        change_when_uniform,
        layers_shown,
        needs_attention,
        shows_attention,
    )

    classifier, method = opened(model, family, current_device()), _method(explainer)
    examples = judged(inputs["texts"], classifier, texts)
    network = classifier.network
    if not shows_attention(method):
        return {}
    if isinstance(network, Transformer):
        split = _split(classifier, examples)
        layers = layers_shown(method, network)
        number = int(network.model.config.num_hidden_layers)
        each = {f"layer_{layer + 1}": change_when_uniform(network, split, [layer]) for layer in range(number)}
        return {"need": {"uniform": change_when_uniform(network, split, layers)}, "layers": each}
    if isinstance(network, AttentiveClassifier) and network.attends == "one":
        found = needs_attention(classifier, examples)
        exact = found.pop("exact")
        return {"need": found, "about": {"exact": exact}}
    return {}


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

    texts = _dataset(inputs["texts"], classifier, name)
    try:
        planting, texts = own_words(texts, number_of)
    except UserError:  # too few common words: made-up ones, which stand out more
        planting = PLANTINGS["token-with-decoy"](len(texts.classes))
    data = plant(texts, planting)
    about = {"bound": bound(reassignment(len(data.classes))), "words": planting.words}
    return {**dataset_payloads(data, None), "bound": about}


def _dataset(stored: Stored, classifier: Classifier, name: str, labels: Sequence[int] | None = None) -> Any:
    """All texts of an audit as a dataset with splits."""
    from trueness.data import TextDataset, Vocabulary
    from trueness.data.planting import with_splits

    table = stored.read("texts")
    others = [other if isinstance(other, str) else None for other in table["text_b"]]
    examples = _read(classifier, list(table["text"]), others)
    given = [0] * len(examples) if labels is None else labels
    labelled = [replace(one, label=max(int(label), 0)) for one, label in zip(examples, given, strict=True)]
    first = TextDataset(name, classifier.classes, {"all": labelled}, Vocabulary.of(labelled), classifier.preparation)
    return with_splits(first)


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
    data = _dataset(inputs["texts"], classifier, name, [int(label) for label in table["label"]])
    kind = TEXT_MODELS[like]
    how: dict[str, Any] = {"recipe": recipe, "pretrained": pretrained, "views": [masked_training(0)], **shape}
    (trained,) = kind.train(data, [0], device=current_device(), **how)
    return {**kind.pack({"0": trained}), **({} if kind.built_in else {"family": {"name": like}})}


@task("audit/companion-removed", version=1)
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
    predicted = _probabilities(classifier, examples).argmax(axis=1)
    labelled = [replace(one, label=int(label)) for one, label in zip(examples, predicted, strict=True)]
    split = _split(classifier, labelled)
    try:
        scores, mask = explain(classifier.network, split, _method(explainer))
    except Unsupported:
        return {}
    found = removal(classifier.network, split, scores, mask, levels=levels, shares=())
    return {"removal": {"cost": found.cost}}


@task("audit/bounded", version=1)
def bounded(
    inputs: Mapping[str, Any], *, model: Path | str, family: str | None, explainers: Sequence[str], texts: int
) -> dict[str, Any]:
    """Of some short texts: where comprehensiveness lies between that of the worst and of the best order of words."""
    import numpy as np

    from trueness.protocols.roar.bounds import Drops, attainable, normalised

    classifier = opened(model, family, current_device())
    examples = judged(inputs["texts"], classifier, len(inputs["texts"].read("said")["probability"]))
    split = _split(classifier, examples)
    kept = {
        name: stored.read("scores")
        for name, stored in zip(explainers, inputs["explained"], strict=True)
        if stored.holds("scores")
    }
    most = min((len(one["scores"]) for one in kept.values()), default=0)
    rows = [row for row in np.argsort(split.sizes[:most], kind="stable").tolist() if split.sizes[row] >= 6][:texts]
    found: dict[str, list[float]] = {name: [] for name in kept}
    exact = 0
    for row in rows:
        drops = Drops(classifier.network, split.batch([row]), "gold")
        ends = attainable(drops)
        exact += ends.exact
        for name, one in kept.items():
            scores = one["scores"][row][one["mask"][row]].astype("float64")
            found[name].append(normalised(drops, scores, ends, signed=_method(name).facts.signed)[0])
    return {
        "about": {"explainers": list(kept), "exact": exact},
        "bounded": {str(i): np.array(v) for i, v in enumerate(found.values())},
    }


@task("audit/examples", version=1)
def examples(
    inputs: Mapping[str, Any],
    *,
    model: Path | str,
    family: str | None,
    explainers: Sequence[str],
    foils: Sequence[str],
    shown: int,
) -> dict[str, Any]:
    """Some real texts as a person reads them, with every method's scores: where methods disagree most, and others."""
    from trueness.audits.example_texts import choose

    classifier = opened(model, family, current_device())
    kept = {
        name: stored.read("scores")
        for name, stored in zip(explainers, inputs["explained"], strict=True)
        if stored.holds("scores")
    }
    most = min((len(one["scores"]) for one in kept.values()), default=0)
    said = inputs["texts"].read("said")["probability"][:most]
    labels = inputs["texts"].read("texts")["label"].to_numpy()[:most]
    some = judged(inputs["texts"], classifier, most)
    return {"examples": choose(classifier, some, kept, said, labels, foils, shown)}


@task("audit/probe", version=1)
def probe(
    inputs: Mapping[str, Stored], *, model: Path | str, family: str | None, explainers: Sequence[str], texts: int
) -> dict[str, Any]:
    """How long this machine takes: seconds to open the model, and per text to look, to learn, and by each method."""
    from time import perf_counter

    import numpy as np

    from trueness.protocols.randomisation import layers_of

    begin = perf_counter()
    classifier = opened(model, family, current_device())
    costs: dict[str, Any] = {"open": perf_counter() - begin, "refused": {}, "explainers": {}}
    network = classifier.network
    some = judged(inputs["texts"], classifier, 4 * texts)
    lengths = np.array([len(one.tokens) for one in some])
    # As long as texts are in the mean: cost grows faster than length, so that the middle would be too cheap.
    order = np.argsort(np.abs(lengths - np.sqrt((lengths.astype(float) ** 2).mean())), kind="stable")
    split = _split(classifier, [some[row] for row in order[:texts]])
    costs["layers"] = len(layers_of(network)) if network.differentiable else 0

    def seconds(work: Any) -> float:
        work()  # what only the first time takes is no measure
        begin = perf_counter()
        work()
        return (perf_counter() - begin) / len(split)

    def learn() -> None:
        import torch

        for _, batch in split.to_explain():
            with torch.enable_grad():
                network(batch).logits.sum().backward()
        network.zero_grad(set_to_none=True)

    costs["look"] = seconds(lambda: _probabilities(classifier, [some[row] for row in order[:texts]]))
    costs["learn"] = 1.2 * seconds(learn) if network.differentiable else 0.0
    for name in explainers:
        try:
            costs["explainers"][str(name)] = seconds(lambda: _explained(classifier, split, name))  # noqa: B023
        except Unsupported as error:
            costs["refused"][str(name)] = str(error)
    return {"costs": costs}


def _explained(classifier: Classifier, split: EncodedSplit, name: str) -> Any:
    from trueness.protocols.randomisation import explained as explain

    return explain(classifier.network, split, _method(name))
