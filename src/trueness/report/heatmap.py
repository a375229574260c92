"""Scores over the words of a text: in a notebook, and as a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from trueness.report.page import render
from trueness.report.word_grid import LEVELS, Scored, laid_out

if TYPE_CHECKING:
    import pandas as pd

COLOURS = {"for": (108, 178, 240), "against": (245, 163, 82), "plain": (179, 177, 171)}
"""Red, green and blue of what a colour means, as in words.css: distinct to colour-blind readers."""


@dataclass(frozen=True)
class Explanation:
    """One text, what the model made of it, and one score per token."""

    explainer: str
    tokens: tuple[str, ...]
    scores: tuple[float, ...]
    predicted: str
    probability: float
    target: str
    known: tuple[bool, ...]
    """Whether the model knows the word; unknown words share one vector."""
    note: str = ""
    """A reason to trust it less."""
    signed: bool = True
    """Whether a score below 0 speaks against the target."""
    precision: str = "default"
    """How exactly it was computed."""

    def to_pandas(self) -> pd.DataFrame:
        """One row per token."""
        import pandas as pd

        return pd.DataFrame({"token": self.tokens, "score": self.scores, "known": self.known})

    def to_json(self) -> dict[str, object]:
        """All of it, as plain JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self.__dict__.items()}

    @property
    def prediction(self) -> str:
        """What the model made of the text, in words."""
        how = "" if self.precision == "default" else f"; precision {self.precision}"
        return (
            f"target {self.target} (predicted {self.predicted}, probability {self.probability:.3f})"
            f"{how}{'; ' if self.note else ''}{self.note}"
        )

    @property
    def row(self) -> Scored:
        """As a row of coloured words."""
        return Scored(self.explainer, self.scores, self.signed)

    def _repr_html_(self) -> str:
        return heatmap(f"{self.explainer}, {self.prediction}", self.tokens, [self.row])


def heatmap(heading: str, tokens: Sequence[str], rows: Sequence[Scored]) -> str:
    """For a notebook: a heading, then every row's words on their colours; the score is the title of its word."""
    lines = [f"<small>{escape(heading)}</small>"]
    for row in rows:
        spans = []
        for token, (kind, level), score in zip(tokens, row.shades(), row.texts(), strict=True):
            red, green, blue = COLOURS[kind]
            ink = ";color:#111" if level >= LEVELS / 2 else ""  # also on a dark page
            style = f"background:rgba({red},{green},{blue},{level / LEVELS}){ink};padding:1px 3px;border-radius:3px"
            spans.append(f'<span style="{style}" title="{score}">{escape(token)}</span>' if level else escape(token))
        name = f"{escape(row.name)}: " if len(rows) > 1 else ""
        lines.append(name + " ".join(spans))
    return f"<p>{'<br>'.join(lines)}</p>"


def heatmap_page(explanations: Sequence[Explanation]) -> str:
    """A page of its own: one grid per text and target, one row per explainer."""
    texts: dict[tuple[Any, ...], list[Explanation]] = {}
    for one in explanations:
        texts.setdefault((one.tokens, one.target, one.note), []).append(one)
    return texts_page(
        "What the methods say",
        "Which words made the model decide, as each method says? Every row shows the same words.",
        [
            (" ".join(some[0].tokens), [f"{some[0].prediction}."], some[0].tokens, [one.row for one in some])
            for some in texts.values()
        ],
        "An explanation is a claim about the model, not a fact: trueness audit puts it on trial.",
    )


_HEADING = 90
"""Characters of a text that head it."""


def texts_page(
    title: str,
    question: str,
    texts: Sequence[tuple[str, list[str], Sequence[str], Sequence[Scored]]],
    caution: str,
) -> str:
    """A page of texts, each with its heading, what is said of it, its words, and rows of scores."""
    return render(
        "texts.html",
        ("report.css", "words.css", "instances.css"),
        title=title,
        question=question,
        caution=caution,
        kinds=[any(row.signed is signed for *_, rows in texts for row in rows) for signed in (True, False)],
        texts=[
            {
                "heading": text if len(text) <= _HEADING else f"{text[:_HEADING]} …",
                "about": about,
                "grid": laid_out(words, rows),
            }
            for text, about, words, rows in texts
        ],
    )
