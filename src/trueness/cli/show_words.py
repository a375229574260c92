"""Explained examples on a terminal, coloured by scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trueness.boundary import printable
from trueness.cli.console import open_console
from trueness.cli.listing import print_rows
from trueness.papers.attention_is_not_explanation.adversary import AdversarialAttention, describe_pair, pair
from trueness.report.explanation import Explanation, Explanations, by_example
from trueness.report.heatmap import COLOURS
from trueness.report.word_grid import LEVELS, Scored

_BLOCKS = 16
"""Rows and columns of an image on a terminal."""
_MOST_WORDS = 40
"""Of a long text the table has the scores of so many, the strongest."""


def explanations(found: Explanations) -> None:
    """Each example once per explainer, coloured by its scores and aligned, then the scores beside each other."""
    console = open_console()
    for some in by_example(found):
        console.print(some[0].prediction, style="bold")
        if some[0].pixels is None:
            _rows(console, some[0].tokens, [one.row for one in some], some[0].known or None)
        else:
            for one in some:
                console.print(one.explainer)
                console.print(_coarse(one))
    console.print("Blue speaks for the target, orange against it; grey has no sign.")


def _coarse(one: Explanation) -> Text:
    """The scores of an image, summed over its parts, as coloured blocks."""
    scores = np.asarray(one.scores)
    height, width = (min(_BLOCKS, length) for length in scores.shape)
    of_rows = np.add.reduceat(scores, np.linspace(0, scores.shape[0], height, endpoint=False).astype(int), axis=0)
    parts = np.add.reduceat(of_rows, np.linspace(0, scores.shape[1], width, endpoint=False).astype(int), axis=1)
    text = Text()
    shades = Scored(one.explainer, tuple(parts.ravel().tolist()), one.signed).shades()
    for place, (kind, level) in enumerate(shades, start=1):
        told = f"{'-' if kind == 'against' else ' '}{min(level, 9)}" if level else " ."  # also where no colour is shown
        text.append(told, style=_style(kind, level))
        text.append("" if place % width else "\n")
    return text


def adversaries(found: AdversarialAttention) -> None:
    """Each text twice, coloured by its observed and by its adversarial attention."""
    console = open_console()
    for row in found.records.to_dict(orient="records"):
        console.print(describe_pair(row), style="bold")
        _rows(console, row["words"], pair(row))
    for warning in found.warnings:
        console.print(f"Warning: {warning.where}: {warning.message}.")


def _rows(console: Console, words: Sequence[str], rows: Sequence[Scored], known: Sequence[bool] | None = None) -> None:
    """The words once per row, coloured, then a table of scores; of a long text only of its strongest words."""
    width = max(len(row.name) for row in rows) + 2
    for row in rows:
        line = Text()
        for word, (kind, level) in zip(words, row.shades(), strict=True):
            line.append(printable(word), style=_style(kind, level) if level else "")
            line.append(" ")
        # As a table, so that the words of every row begin at the same place, also in the next line.
        grid = Table.grid(padding=0)
        grid.add_column(width=width, overflow="fold")
        grid.add_column()
        grid.add_row(Text(row.name), line)
        console.print(grid)
    shades = [row.shades() for row in rows]
    order = sorted(range(len(words)), key=lambda place: -max(one[place][1] for one in shades))
    chosen = sorted(order[:_MOST_WORDS])
    texts = [row.texts(figures=3) for row in rows]
    cells = (
        (
            words[place] if known is None or known[place] else f"{words[place]} (unknown word)",
            *(one[place] for one in texts),
        )
        for place in chosen
    )
    print_rows(console, ("word" if known else "", *(row.name for row in rows)), cells, right=[row.name for row in rows])
    if len(chosen) < len(words):
        console.print(f"The {len(chosen)} strongest of {len(words):,}; --json prints all.")
    console.print()


def _style(kind: str, level: int) -> str:
    red, green, blue = (round(255 + level / LEVELS * (channel - 255)) for channel in COLOURS[kind])
    return f"black on rgb({red},{green},{blue})"
