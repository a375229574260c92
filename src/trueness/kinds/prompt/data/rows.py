"""One row of a table as a question with its passages: names of fields as people and services write them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trueness.kinds.prompt.data.prompts import PromptExample

QUESTIONS = ("question", "query", "user_input", "prompt")
CONTEXTS = ("contexts", "context", "passages", "documents", "retrieved_contexts", "sources")
ANSWERS = ("answer", "response", "generated_answer", "output")
CITATIONS = ("citations", "cited", "citation")
ALTERNATIVES = ("alternatives", "alternative", "other_answers")
_TEXTS = ("text", "content", "page_content", "passage", "snippet", "body")
"""What a passage is called where it is an object."""
_TITLE = "title"
_CITED = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
NOT_THERE = "citations name passages that are not there: they were left out"
EMPTY = "empty passages were left out"


def is_question(names: Iterable[Any]) -> bool:
    """Whether some fields are of a question with passages or with an answer."""
    have = {str(name) for name in names}
    return not have.isdisjoint(QUESTIONS) and not have.isdisjoint((*CONTEXTS, *ANSWERS))


def example_of(row: Mapping[str, Any], counts: Counter[str]) -> PromptExample | str:
    """A row as an example, or what is wrong with it; passages and citations that are left out are counted."""
    question = _first(row, QUESTIONS)
    if not isinstance(question, str) or not question.strip():
        return "there is no question"
    given = _listed(_first(row, CONTEXTS))
    if given is None or None in map(_passage_text, given):
        return "the passages are no list of texts"
    texts = [_passage_text(one) for one in given]
    kept = [number for number, text in enumerate(texts) if text and text.strip()]
    counts[EMPTY] += len(texts) - len(kept)
    answer = _first(row, ANSWERS)
    if answer is not None and not (isinstance(answer, str) and answer.strip()):
        return "the answer is empty" if isinstance(answer, str) else "the answer is no text"
    cited = _cited(_first(row, CITATIONS), answer, given, kept, counts)
    if isinstance(cited, str):
        return cited
    others = _listed(_first(row, ALTERNATIVES)) or []
    return PromptExample(
        question.strip(),
        tuple(str(texts[number]) for number in kept),
        answer,
        cited,
        tuple(str(one) for one in others if str(one).strip()),
        order=_order(row, given, kept),
    )


def cited_in(answer: str) -> tuple[int, ...]:
    """The numbers from 0 of the passages that an answer names in square brackets, counted from 1 as in its prompt."""
    found = [int(number) - 1 for group in _CITED.findall(answer) for number in group.split(",")]
    return tuple(dict.fromkeys(number for number in found if number >= 0))


def _first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    """What stands in the first of these fields that a row has; a gap is None."""
    for name in names:
        value = row.get(name)
        if value is not None and not (isinstance(value, float) and math.isnan(value)):
            return value.tolist() if hasattr(value, "tolist") else value
    return None


def _listed(value: Any) -> list[Any] | None:
    """A list, one text, or a list that was written as JSON in a cell; None for anything else."""
    if value is None:
        return []
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                found = json.loads(value)
            except (ValueError, RecursionError):
                found = None
            if isinstance(found, list):
                return found
        return [value] if value.strip() else []
    return list(value) if isinstance(value, list | tuple) else None


def _passage_text(one: Any) -> str | None:
    if isinstance(one, str):
        return one
    if not isinstance(one, Mapping):
        return None
    text = next((one[name] for name in _TEXTS if isinstance(one.get(name), str)), None)
    title = one.get(_TITLE)
    return f"{title}: {text}" if text and isinstance(title, str) and title.strip() else text


def _cited(
    value: Any, answer: str | None, given: Sequence[Any], kept: Sequence[int], counts: Counter[str]
) -> tuple[int, ...] | str | None:
    """Numbers of kept passages; citations are numbers from 0, texts or ids of passages, or marks in the answer."""
    if value is None:
        found = () if answer is None else cited_in(answer)
        if not found:
            return None
    else:
        listed = [value] if isinstance(value, int) else _listed(value)
        if listed is None:
            return "the citations are no list of numbers"
        names = {_id(one): number for number, one in enumerate(given)}
        found = tuple(
            one if isinstance(one, int) and not isinstance(one, bool) else names.get(str(one), -1) for one in listed
        )
    there = {number: place for place, number in enumerate(kept)}
    counts[NOT_THERE] += sum(number not in there for number in found)
    return tuple(dict.fromkeys(there[number] for number in found if number in there))


def _id(one: Any) -> str:
    return str(one.get("id", _passage_text(one))) if isinstance(one, Mapping) else str(one)


def _order(row: Mapping[str, Any], given: Sequence[Any], kept: Sequence[int]) -> tuple[int, ...] | None:
    """Ranks by the retriever's scores, where every passage has one: the largest is the best."""
    scores = _listed(row.get("scores")) or [one.get("score") for one in given if isinstance(one, Mapping)]
    if len(scores) != len(given) or not scores or not all(isinstance(one, int | float) for one in scores):
        return None
    best = sorted(kept, key=lambda number: -scores[number])
    return tuple(best.index(number) for number in kept)
