"""Scores over the words of a text or the features of a row, coloured: in a notebook, and as a page of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from trueness.protocols.result import Result
from trueness.report.page import render
from trueness.report.word_grid import LEVELS, Scored, laid_out

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


@dataclass(frozen=True, repr=False)
class AdversarialAttention(Result):
    """Texts with their observed and the most divergent adversarial attention found; in a notebook: side by side."""

    epsilon: float = 0.01
    """How much the output may change, as total variation."""

    def _repr_html_(self) -> str:
        rows = self.records.to_dict(orient="records")
        return (
            "".join(
                f"<p><small>{escape(describe_pair(row))}</small><br>{drawn_words(row['words'], pair(row))}</p>"
                for row in rows
            )
            + super()._repr_html_()
        )


def pair(row: Mapping[Any, Any]) -> list[Scored]:
    """Both attentions as rows of coloured words."""
    return [Scored("observed", row["attention"], signed=False), Scored("adversarial", row["adversarial"], signed=False)]


def describe_pair(row: Mapping[Any, Any]) -> str:
    """What an adversarial attention does, in words."""
    share = f"{row['weight']:.0%} on {row['first']!r}, the rest on {row['second']!r}"
    where = (
        "on many words"
        if row["first"] is None
        else f"all on {row['first']!r}"
        if row["weight"] == 1 or row["first_position"] == row["second_position"]
        else share
    )
    known = "" if row["exact"] else f", the best found (at most {row['upper']:.3f})"
    text = (
        f"predicted {row['predicted']}, probability {row['probability']:.3f}; adversarial attention {where}: "
        f"probability {row['probability_after']:.3f}, divergence {row['divergence']:.3f} of at most 0.693{known}; "
        f"{row['deciding']} of {len(row['words'])} words could carry the decision alone"
    )
    if len(row["unknown"]):
        text += f"; unknown to the model: {', '.join(row['unknown'])}"
    return text + (f"; {row['note']}" if row["note"] else "")


def adversary_page(result: AdversarialAttention) -> str:
    """A page of its own: observed above adversarial attention."""
    return page_of(
        "Observed and adversarial attention",
        f"Both attentions lead the model to the same output, up to epsilon = {result.epsilon:g} (total variation of "
        "the probabilities). Attention has no sign: a stronger grey is more attention.",
        [
            (
                " ".join(row["words"]),
                [*([row["other"]] if row["other"] else []), f"{describe_pair(row)}."],
                laid_out(row["words"], pair(row)),
                "",
            )
            for row in result.records.to_dict(orient="records")
        ],
        [False, True],
        "A heat map of the first row alone would suggest that its words decided.",
    )


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
