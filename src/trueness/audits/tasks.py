"""The tasks of an audit: texts are drawn and read once, explained once by each method, and shared by all trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trueness.audits.reading import judged, probabilities, read, split_of, warned
from trueness.audits.subject import opened
from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.errors import Unsupported
from trueness.explainers.contract import TEXT_EXPLAINERS
from trueness.studies.placed import small


@task("audit/texts", version=4)
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

    from trueness.data.labels import OR_NONE, match_labels
    from trueness.kinds.text.data.texts import read_texts
    from trueness.protocols.stability import HARMLESS, edited

    classifier = opened(model, family, current_device())
    given = read_texts(name or source, **columns)
    order = np.random.default_rng([seed, *b"audit"]).permutation(len(given.texts))
    drawn = [given.texts[number] for number in order[: max(texts, pool)]]
    matching = match_labels([one.label for one in given.texts], classifier.classes, OR_NONE)
    notes = [*given.notes, *([matching.note] if matching.note else [])]
    labels = [-1 if one.label is None else matching.classes[one.label] for one in drawn]
    examples = read(classifier, [one.text for one in drawn], [one.text_b for one in drawn])
    before = probabilities(classifier, examples[:texts])
    after = probabilities(classifier, [edited(example) for example in examples[:texts]])
    predicted = before.argmax(axis=1)
    rows = np.arange(len(predicted))
    moved = np.abs(after[rows, predicted] - before[rows, predicted])
    harmless = (moved <= HARMLESS) & (after.argmax(axis=1) == predicted)
    cut = sum(
        bool(classifier.unusual(example)) and "cut off" in classifier.unusual(example) for example in examples[:texts]
    )
    if cut:
        notes.append(f"{cut} of {len(predicted)} texts are longer than the model reads: their end was cut off")
    strange = sum(not any(classifier.known(example)) for example in examples[:texts])
    if strange:
        notes.append(f"in {strange} of {len(predicted)} texts the model knows no word")
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
        "warnings": [note.rstrip(".") for note in getattr(classifier, "notes", ())],
    }
    said = {"probability": before.astype(np.float32), "harmless": harmless}
    return {"texts": table, "about": about, "said": said}


@task("audit/explained", version=7)
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
    from trueness.protocols.similarity import largest_of, similarity
    from trueness.protocols.stability import after_edit, alone, edited

    classifier, method = opened(model, family, current_device()), TEXT_EXPLAINERS[explainer]
    examples = judged(inputs["texts"], classifier, texts)
    with warned() as told:
        try:
            scores, mask = measure.explained(classifier.network, split_of(classifier, examples), method)
        except Unsupported as error:
            return {"refused": {"reason": str(error)}}
        ceiling = np.ones(len(examples))
        other = measure.redrawn(method)
        if other is not None:
            few = split_of(classifier, examples[:again])
            second, inside = measure.explained(classifier.network, few, other)
            ceiling = similarity(scores[:again, : inside.shape[1]], second, inside, largest_of(scores))
        harmless = np.flatnonzero(inputs["texts"].read("said")["harmless"][: len(ceiling)])[:edits]
        same = np.full(len(ceiling), np.nan)
        if len(harmless):
            some = [examples[row] for row in harmless]
            changed, drawn = [edited(one) for one in some], other or method
            same[harmless] = after_edit(classifier, some, changed, drawn, scores[harmless])
        by_itself = alone(classifier, examples[:single], method, scores, mask)
    return {
        "scores": {"scores": scores.astype(np.float32), "mask": mask},
        "repeats": {"ceiling": ceiling, "edited": same, "alone": by_itself},
        "told": {"warnings": told},
    }


@task("audit/randomised", version=5)
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

    classifier, method = opened(model, family, current_device()), TEXT_EXPLAINERS[explainer]
    if not inputs["explained"].holds("scores") or not classifier.network.differentiable:
        return {}
    kept, ceiling = inputs["explained"].read("scores")["scores"], inputs["explained"].read("repeats")["ceiling"]
    examples = judged(inputs["texts"], classifier, min(texts, len(kept), len(ceiling)))
    known = {"before": kept[: len(examples)].astype("float64"), "ceiling": ceiling[: len(examples)]}
    split, network = split_of(classifier, examples), classifier.network
    with warned():  # told of the explanations themselves
        at_once = randomisation(network, split, method, orders=["all at once"], seeds=seeds, **known)
        frames = [at_once.assign(smooth=0)]
        if layerwise:
            few = split_of(classifier, examples[:layerwise])
            frames.append(randomisation(network, few, method, orders=["top-down", "bottom-up"]).assign(smooth=0))
            if smooth:
                done = randomisation(network, few, method, orders=["all at once"], smooth=smooth)
                frames.append(done.assign(smooth=smooth))
    return {"records": small(pd.concat(frames, ignore_index=True))}


@task("audit/removed", version=2)
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
    found = removal(classifier.network, split_of(classifier, examples), scores, kept["mask"], levels=levels)
    return {"removal": asdict(found)}


@task("audit/attention", version=2)
def attention(
    inputs: Mapping[str, Stored], *, model: Path | str, family: str | None, explainer: str, texts: int
) -> dict[str, Any]:
    """Of a method that shows attention alone: whether the output needs it."""
    from trueness.kinds.text.attention.need import (
        change_when_uniform,
        layers_shown,
        needs_attention,
        shows_attention,
    )
    from trueness.kinds.text.models.attentive import AttentiveClassifier
    from trueness.kinds.text.models.transformer import Transformer

    classifier, method = opened(model, family, current_device()), TEXT_EXPLAINERS[explainer]
    examples = judged(inputs["texts"], classifier, texts)
    network = classifier.network
    if not shows_attention(method):
        return {}
    if isinstance(network, Transformer):
        split = split_of(classifier, examples)
        layers = layers_shown(method, network)
        number = int(network.model.config.num_hidden_layers)
        each = {f"layer_{layer + 1}": change_when_uniform(network, split, [layer]) for layer in range(number)}
        return {"need": {"uniform": change_when_uniform(network, split, layers)}, "layers": each}
    if isinstance(network, AttentiveClassifier) and network.attends == "one":
        found = needs_attention(classifier, examples)
        exact = found.pop("exact")
        return {"need": found, "about": {"exact": exact}}
    return {}


@task("audit/bounded", version=2)
def bounded(
    inputs: Mapping[str, Any], *, model: Path | str, family: str | None, explainers: Sequence[str], texts: int
) -> dict[str, Any]:
    """Of some short texts: where comprehensiveness lies between that of the worst and of the best order of words."""
    import numpy as np

    from trueness.protocols.roar.bounds import Drops, attainable, normalised

    classifier = opened(model, family, current_device())
    examples = judged(inputs["texts"], classifier, len(inputs["texts"].read("said")["probability"]))
    split = split_of(classifier, examples)
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
            found[name].append(normalised(drops, scores, ends, signed=TEXT_EXPLAINERS[name].facts.signed)[0])
    return {
        "about": {"explainers": list(kept), "exact": exact},
        "bounded": {str(i): np.array(v) for i, v in enumerate(found.values())},
    }


@task("audit/examples", version=2)
def examples(
    inputs: Mapping[str, Any],
    *,
    model: Path | str,
    family: str | None,
    explainers: Sequence[str],
    foils: Sequence[str],
    shown: int,
) -> dict[str, Any]:
    """The texts as a person reads them, with every method's scores of their words, and which to show first."""
    import pandas as pd

    from trueness.audits.example_texts import choose, strips

    classifier = opened(model, family, current_device())
    kept = {
        name: stored.read("scores")
        for name, stored in zip(explainers, inputs["explained"], strict=True)
        if stored.holds("scores")
    }
    most = min((len(one["scores"]) for one in kept.values()), default=0)
    said = inputs["texts"].read("said")["probability"]
    labels = inputs["texts"].read("texts")["label"].to_numpy()
    every = judged(inputs["texts"], classifier, max((len(one["scores"]) for one in kept.values()), default=0))
    return {
        "examples": choose(classifier, every[:most], kept, said[:most], labels[:most], foils, shown),
        "strips": pd.DataFrame(strips(classifier, every, kept, said, labels)),
    }
