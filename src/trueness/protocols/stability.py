"""Does an explanation repeat itself: in other company, with another draw, after an edit that changes nothing?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueness.explainers.contract import Explainer
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models.classifier import Classifier
from trueness.protocols.randomisation import explained
from trueness.protocols.similarity import largest_of, similarity
from trueness.stats.undefined import Bools, Floats

HARMLESS = 0.02
"""An edit that moves the probability of the predicted class no more than this is harmless."""
_STOPS = (".", "!", "?")


def edited(example: TextExample) -> TextExample:
    """The same text with a full stop at its end, or without the one it has; marks of evidence are not kept."""
    *rest, last = example.tokens
    if last in _STOPS and rest:
        tokens = tuple(rest)
    elif last.endswith(_STOPS) and last[:-1]:
        tokens = (*rest, last[:-1])
    else:
        tokens = (*example.tokens, ".")
    return replace(example, tokens=tokens, evidence=None, decoys=None)


def alone(
    model: Classifier, examples: Sequence[TextExample], explainer: Explainer, scores: Floats, mask: Bools
) -> Floats:
    """(texts,) how alike the explanation of a text alone and among others are: 1 for a method that keeps its word."""
    found, scale = np.zeros(len(examples)), largest_of(scores)
    for row, example in enumerate(examples):
        single, inside = explained(model.network, EncodedSplit([example], model.coder, model.device), explainer)
        width = inside.shape[1]
        found[row] = similarity(scores[row : row + 1, :width], single, inside & mask[row : row + 1, :width], scale)[0]
    return found


def after_edit(
    model: Classifier,
    examples: Sequence[TextExample],
    changed: Sequence[TextExample],
    explainer: Explainer,
    scores: Floats,
) -> Floats:
    """(texts,) how alike explanations before and after an edit are, over the words that both texts have.

    `scores` (texts, tokens) are those before it; not a number where fewer than two words are left.
    """
    other, _ = explained(model.network, EncodedSplit(changed, model.coder, model.device), explainer)
    found, scale = np.full(len(examples), np.nan), largest_of(scores)
    for row, (before, after) in enumerate(zip(examples, changed, strict=True)):
        words = min(len(before.tokens), len(after.tokens)) - (
            before.tokens[-1] != after.tokens[-1] and len(before.tokens) == len(after.tokens)
        )
        if words >= 2:
            one = np.array([model.word_scores(before, scores[row].tolist())[:words]])
            two = np.array([model.word_scores(after, other[row].tolist())[:words]])
            found[row] = similarity(one, two, np.ones((1, words), dtype=bool), scale)[0]
    return found
