"""Which texts an audit's report shows, and what each method says of their words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.explainers.contract import TEXT_EXPLAINERS
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models.classifier import Classifier
from trueness.protocols.similarity import similarity
from trueness.stats.undefined import Floats

LONGEST = 30
"""Words of a text that is still shown, if there are shorter ones."""


def disagreement(kept: Mapping[str, Any], texts: int) -> Floats:
    """(texts,) one minus the mean similarity of all pairs of methods."""
    width = min((one["mask"].shape[1] for one in kept.values()), default=0)  # of fewer texts the longest is shorter
    part = (slice(texts), slice(width))
    scores = [(np.abs(one["scores"][part].astype("float64")), one["mask"][part]) for one in kept.values()]
    pairs = [similarity(a, b, mask) for (a, mask), (b, _) in itertools.combinations(scores, 2)]
    return np.nan_to_num(1 - np.mean(pairs, axis=0), nan=-1.0) if pairs else np.zeros(texts)


def choose(
    model: Classifier,
    examples: Sequence[TextExample],
    kept: Mapping[str, Any],
    said: Floats,
    labels: npt.NDArray[np.int64],
    foils: Sequence[str],
    shown: int,
) -> list[dict[str, Any]]:
    """Where methods disagree most and least, a sure and an unsure prediction, a wrong one, then any; none twice."""
    if not examples or not kept:
        return []
    apart = disagreement({name: one for name, one in kept.items() if name not in foils}, len(examples))
    sure = said.max(axis=1)
    wrong = (labels >= 0) & (labels != said.argmax(axis=1))
    lengths = np.array([len(example.tokens) for example in examples])
    readable = (lengths <= max(LONGEST, int(np.sort(lengths)[min(shown, len(lengths)) - 1]))) & (lengths >= 4)
    if not readable.any():
        readable[:] = True
    reasons: list[tuple[str, Floats]] = [
        ("the methods disagree most", apart),
        ("the methods agree most", -apart),
        ("the model is wrong, and sure of it", np.where(wrong, sure, -np.inf)),
        ("the model is least sure", -sure),
        *((("drawn at random", -np.arange(len(examples), dtype=np.float64)),) * shown),
    ]
    found: list[dict[str, Any]] = []
    taken: set[int] = set()
    for why, worth in reasons:
        order = [row for row in np.argsort(-worth, kind="stable").tolist() if readable[row] and row not in taken]
        if len(found) < shown and order and np.isfinite(worth[order[0]]):
            taken.add(order[0])
            found.append({"why": why, **_shown(model, examples[order[0]], order[0], kept, said, labels)})
    return found


def strips(
    model: Classifier, examples: Sequence[TextExample], kept: Mapping[str, Any], said: Floats, labels: Any
) -> Iterator[dict[str, Any]]:
    """Every text with every method's scores of its words, one row each: what the instance browser shows."""
    for row, example in enumerate(examples):
        about = {
            "instance": row,
            "words": list(example.tokens),
            "other": " ".join(example.tokens_b or ()),
            "predicted": model.classes[int(said[row].argmax())],
            "probability": float(said[row].max()),
            "gold": model.classes[int(labels[row])] if labels[row] >= 0 else None,
        }
        for name, one in kept.items():
            if row >= len(one["scores"]):  # a slow method is asked about fewer texts
                continue
            scores = [float(score) for score in model.word_scores(example, one["scores"][row].tolist())]
            yield {**about, "method": name, "signed": TEXT_EXPLAINERS[name].facts.signed, "scores": scores}


def _shown(
    model: Classifier, example: TextExample, row: int, kept: Mapping[str, Any], said: Floats, labels: Any
) -> dict[str, Any]:
    by_word = {name: model.word_scores(example, one["scores"][row].tolist()) for name, one in kept.items()}
    words = [
        {"text": token, "scores": {name: float(scores[place]) for name, scores in by_word.items()}}
        for place, token in enumerate(example.tokens)
    ]
    predicted = int(said[row].argmax())
    return {
        "predicted": model.classes[predicted],
        "probability": float(said[row, predicted]),
        "label": model.classes[int(labels[row])] if labels[row] >= 0 else None,
        "words": words,
        "signed": [name for name in kept if TEXT_EXPLAINERS[name].facts.signed],
    }
