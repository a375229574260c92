"""Scores over the words of a text or the features of a row, coloured: in a notebook, and as a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from trueness.report.page import render
from trueness.report.word_grid import LEVELS, Scored

COLOURS = {"for": (108, 178, 240), "against": (245, 163, 82), "plain": (179, 177, 171)}
"""Red, green and blue of what a colour means, as in words.css: distinct to colour-blind readers."""


def drawn_words(words: Sequence[str], rows: Sequence[Scored]) -> str:
    """For a notebook: every row's words on their colours; the score is the title of its word."""
    lines = []
    for row in rows:
        spans = []
        for word, (kind, level), score in zip(words, row.shades(), row.texts(), strict=True):
            red, green, blue = COLOURS[kind]
            ink = ";color:#111" if level >= LEVELS / 2 else ""  # also on a dark page
            style = f"background:rgba({red},{green},{blue},{level / LEVELS}){ink};padding:1px 3px;border-radius:3px"
            spans.append(f'<span style="{style}" title="{score}">{escape(word)}</span>' if level else escape(word))
        name = f"{escape(row.name)}: " if len(rows) > 1 else ""
        lines.append(name + " ".join(spans))
    return "<br>".join(lines)


def drawn_bars(names: Sequence[str], rows: Sequence[Scored]) -> str:
    """For a notebook: a table with a line for each name, and of each row a bar as long as its score is strong."""
    shades, texts = [row.shades() for row in rows], [row.texts() for row in rows]
    lines = []
    for place, name in enumerate(names):
        cells = [f"<td>{escape(name)}</td>"]
        for shade, text in zip(shades, texts, strict=True):
            kind, level = shade[place]
            red, green, blue = COLOURS[kind]
            bar = f"display:inline-block;height:.7em;width:{level * 10}px;background:rgb({red},{green},{blue})"
            cells.append(f'<td style="text-align:left"><span style="{bar}"></span> {text[place]}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{escape(row.name)}</th>" for row in rows)
    return f"<table><tr><th></th>{heads}</tr>{''.join(lines)}</table>"


_HEADING = 90
"""Characters of a text that head it."""


def page_of(
    title: str,
    question: str,
    examples: Sequence[tuple[str, list[str], Any, str]],
    signed: Sequence[bool],
    caution: str,
) -> str:
    """Of each example a heading, sentences, and a grid of words or other HTML; whether rows are signed, or are not."""
    return render(
        "texts.html",
        ("report.css", "words.css", "instances.css"),
        title=title,
        question=question,
        caution=caution,
        kinds=signed,
        texts=[
            {
                "heading": text if len(text) <= _HEADING else f"{text[:_HEADING]} …",
                "about": about,
                "grid": grid,
                "drawn": drawn,
            }
            for text, about, grid, drawn in examples
        ],
    )
