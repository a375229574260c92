"""Example texts as a grid: the words of a line beside each other, one row per explainer, coloured by their scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trueness.audits.drawing import known, number
from trueness.audits.verdict import Audit, ExampleText

_LINE = 116
"""Characters of an example's text that stand side by side, at most."""
_LINES = 4
"""Lines of an example that are shown at once."""


def laid_out(text: ExampleText, audit: Audit) -> dict[str, Any]:
    """An example in lines of whole words, for each line one row per explainer."""
    by_name = {one.explainer: one for one in audit.explainers}
    given = dict.fromkeys(name for word in text.words for name in word.scores)
    rows = [name for name in by_name if name in given] + [name for name in given if name not in by_name]
    strongest = {
        name: max((_strength(text, name, word.scores.get(name)) for word in text.words), default=0.0) for name in rows
    }
    cells = [
        {
            "word": word.text,
            "of": {name: _coloured(text, name, word.scores.get(name), strongest[name]) for name in rows},
        }
        for word in text.words
    ]
    lines = _lines(cells)
    return {
        "text": text,
        "rows": [
            {
                "name": name,
                "judged": by_name.get(name),
                "signed": name in text.signed,
                "strongest": _score(strongest[name], strongest[name]),
            }
            for name in rows
        ],
        "lines": lines[:_LINES],
        "more": lines[_LINES:],
        "words_more": sum(map(len, lines[_LINES:])),
    }


def _lines(cells: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The words in order, in lines of about the same length."""
    sizes = [len(cell["word"]) + 2 for cell in cells]
    full = sum(sizes) / max(1, math.ceil(sum(sizes) / _LINE))
    lines: list[list[dict[str, Any]]] = []
    before = 0
    for cell, size in zip(cells, sizes, strict=True):
        # A word stands in the line in which its middle lies.
        line = int((before + size / 2) / full)
        while len(lines) <= line:
            lines.append([])
        lines[line].append(cell)
        before += size
    return [line for line in lines if line]


def _strength(text: ExampleText, name: str, score: float | None) -> float:
    """How strongly a word is coloured: by magnitude where signs mean something, else from 0 upwards."""
    if score is None or not known(score):
        return 0.0
    return abs(score) if name in text.signed else max(score, 0.0)


def _coloured(text: ExampleText, name: str, score: float | None, strongest: float) -> dict[str, str]:
    """Classes and number of a word: level 1 to 10 of the row's strongest, and what the colour means."""
    if score is None or not known(score):
        return {"kind": "", "score": "no number"}
    level = round(10 * _strength(text, name, score) / strongest) if strongest else 0
    kind = "plain" if name not in text.signed else "for" if score >= 0 else "against"
    shown = _score(score, strongest)
    sign = "+" if name in text.signed and score > 0 and shown.strip("0.") else ""
    return {"kind": f"{kind} l{level}" if level else "", "score": sign + shown}


def _score(value: float, strongest: float) -> str:
    """With two digits that count in the row's strongest."""
    return number(value, min(6, max(0, 1 - math.floor(math.log10(strongest)))) if strongest else 2)
