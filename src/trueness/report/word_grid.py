"""A text as a grid: the words of a line beside each other, one row per explanation, coloured by its scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trueness.report.table import known, written

_LINE = 116
"""Characters of a text that stand side by side, at most."""
_LINES = 4
"""Lines of a text that are shown at once."""
LEVELS = 10
"""Shades of a colour."""


@dataclass(frozen=True)
class Scored:
    """One explanation of a text."""

    name: str
    scores: Sequence[float | None]
    """One per word."""
    signed: bool
    """Whether a score below 0 speaks against the class; else only what is above 0 is coloured."""

    @property
    def strongest(self) -> float:
        """What has the full colour."""
        return max(map(self._strength, self.scores), default=0.0)

    def _strength(self, score: float | None) -> float:
        if score is None or not known(score):
            return 0.0
        return abs(score) if self.signed else max(score, 0.0)

    def shades(self) -> list[tuple[str, int]]:
        """Of every word what its colour means (for, against, plain) and how strong it is, up to LEVELS."""
        strongest = self.strongest
        found = []
        for score in self.scores:
            level = round(LEVELS * self._strength(score) / strongest) if strongest else 0
            kind = "plain" if not self.signed else "for" if score is None or score >= 0 else "against"
            found.append((kind, level))
        return found

    def texts(self, figures: int = 2) -> list[str]:
        """Of every word its score, with so many digits that count in the strongest."""
        strongest = self.strongest
        digits = min(6, max(0, figures - 1 - math.floor(math.log10(strongest)))) if strongest else figures
        found = []
        for score in self.scores:
            if score is None or not known(score):
                found.append("no number")
                continue
            shown = written(score, digits)
            found.append(f"+{shown}" if self.signed and score > 0 and shown.strip("0.") else shown)
        return found


def laid_out(words: Sequence[str], rows: Sequence[Scored], **about: Sequence[Any]) -> dict[str, Any]:
    """The text in lines of whole words, for each line one row per explanation; `about` says more of each row."""
    cells: list[dict[str, Any]] = [{"word": word, "of": {}} for word in words]
    for row in rows:
        for cell, (kind, level), text in zip(cells, row.shades(), row.texts(), strict=True):
            cell["of"][row.name] = {"kind": f"{kind} l{level}" if level else "", "score": text}
    lines = _lines(cells)
    more: list[dict[str, Any]] = [dict(zip(about, values, strict=True)) for values in zip(*about.values(), strict=True)]
    return {
        "rows": [
            {"name": row.name, "signed": row.signed, "strongest": _strongest(row), "foil": False, **extra}
            for row, extra in zip(rows, more or [{} for _ in rows], strict=True)
        ],
        "lines": lines[:_LINES],
        "more": lines[_LINES:],
        "words_more": sum(map(len, lines[_LINES:])),
    }


def _strongest(row: Scored) -> str:
    return Scored(row.name, [row.strongest], signed=False).texts()[0]


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
