"""What an audit has to know of prompts: the harmless edit, what is tried first, what must fail, how prompts look."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from trueness.kinds.contract import Content, Words
from trueness.kinds.prompt.data.answers import words_of
from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples
from trueness.plugins import is_function
from trueness.stats.undefined import Floats

WORDS = Words("answer", "answers", "passage", "passages", "the passages are put into another order")
FOILS = ("random", "overlap-question", "overlap-answer", "position", "retriever-order")
"""What sees no model: all must fail."""
_STOPS = (".", "!", "?")
_FEW = {"hidden_shares": [0.2, 0.5], "alone_examples": 30, "shuffled_examples": 40, "shuffles": 3}
SIZES: Mapping[str, Any] = {"examples": 100, "repeat_examples": 60, "edit_examples": 60, **_FEW}
"""Language models take seconds for what other models take a thousandth of."""
CALLED_SIZES: Mapping[str, Any] = {**SIZES, "examples": 80, "repeat_examples": 30, "edit_examples": 60}
"""Of a function, whose calls may cost money."""


def usual(model: Path | str, family: Any = None) -> list[str]:  # noqa: ARG001  # the same for all
    """Attention and gradients where the model has them, methods that hide passages, and what the answer cites."""
    if is_function(model):
        return ["citations", "leave-one-out"]
    return ["attention", "gradient", "input-x-gradient", "leave-one-out", "context-cite", "citations"]


def sizes(model: Path | str) -> Mapping[str, Any]:
    """How much of everything an audit does, unless more is asked for."""
    return CALLED_SIZES if is_function(model) else SIZES


def edit(examples: Sequence[PromptExample]) -> tuple[PromptExamples, list[int]]:
    """Passages in another order; where there are none, the text with a full stop at its end, or without it."""
    return PromptExamples(map(edited, examples)), [_same(one) for one in examples]


def edited(example: PromptExample) -> PromptExample:
    """The same passages in an order that follows from the question."""
    count = len(example.contexts)
    if count > 1:
        seed = int.from_bytes(blake2b(example.question.encode(), digest_size=7).digest())
        order = np.random.default_rng(seed).permutation(count).tolist()
        return reordered(example, order if order != list(range(count)) else order[::-1])
    text = example.question
    return replace(example, question=text[:-1] if text.endswith(_STOPS) and text[:-1].strip() else f"{text}.")


def reordered(example: PromptExample, order: Sequence[int]) -> PromptExample:
    """The passages in that order, with all that is known of each; people know them by the numbers they had."""
    numbers = example.numbers or range(len(order))
    place = {before: now for now, before in enumerate(order)}
    cited = example.citations
    return replace(
        example,
        contexts=tuple(example.contexts[number] for number in order),
        numbers=tuple(numbers[number] for number in order),
        order=None if example.order is None else tuple(example.order[number] for number in order),
        citations=None if cited is None else tuple(place[number] for number in cited),
    )


def _same(example: PromptExample) -> int:
    """How many units both have: all passages, or all words but the last."""
    if len(example.contexts) > 1:
        return sys.maxsize
    return max(len(example.question.split()) - 1, 1) if not example.contexts else 1


def oddities(model: Any, examples: Sequence[PromptExample]) -> dict[str, int]:
    """Prompts that are cut off or have nothing to explain, and answers that no passage has."""
    coded = model.coded(examples).coded
    found = {
        "are longer than the model reads: the end of the passages was cut off": sum(one.left_out > 0 for one in coded),
        "have a single passage, which no other can outrank": sum(len(one.contexts) == 1 for one in examples),
    }
    if not model.labels:
        found["have no passage: the words of the question are explained"] = sum(not one.contexts for one in examples)
        found["have words that are in none of their passages"] = sum(map(_from_elsewhere, examples))
    return found


def _from_elsewhere(example: PromptExample) -> bool:
    """Whether no word of the answer that matters is in a passage."""
    there, said = set(words_of(" ".join((*example.contexts, example.question)))), words_of(example.answer or "")
    telling = [word for word in said if len(word) > 3] or said
    return bool(example.contexts) and there.isdisjoint(telling)


class PromptView:
    """A prompt is shown as its passages in the order that people know, with the question and the answer beside them."""

    def contents(self, model: Any, examples: Sequence[PromptExample]) -> list[Content]:
        """One unit for each passage, or word where there are no passages."""
        coded = model.coded(examples).coded
        return [
            Content(tuple(one.names[unit] for unit in _as_known(one)), beside=_beside(one.example)) for one in coded
        ]

    def scores(self, model: Any, examples: Sequence[PromptExample], row: int, scores: Floats) -> list[float]:
        """One score for each of them."""
        (coded,) = model.coded(PromptExamples([examples[row]])).coded
        return [float(scores[unit]) for unit in _as_known(coded)]


def _as_known(coded: Any) -> list[int]:
    """The numbers of the units in the order in which people know their passages."""
    numbers = coded.example.numbers
    units = range(len(coded.names))
    return list(units) if numbers is None else sorted(units, key=lambda unit: (numbers[coded.passages[unit]], unit))


def _beside(example: PromptExample) -> str:
    return f"{example.question} → {example.answer}" if example.answer else ""


VIEW = PromptView()
