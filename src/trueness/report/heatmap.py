"""Scores over the words of a text: in a notebook, and as a page of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from trueness.protocols.result import Result
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


@dataclass(frozen=True, repr=False)
class AdversarialAttention(Result):
    """Texts with their observed and the most divergent adversarial attention found; in a notebook: side by side."""

    epsilon: float = 0.01
    """How much the output may change, as total variation."""

    def _repr_html_(self) -> str:
        rows = self.records.to_dict(orient="records")
        return "".join(heatmap(describe_pair(row), row["words"], pair(row)) for row in rows) + super()._repr_html_()


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


def heatmap_page(explanations: Sequence[Explanation]) -> str:
    """A page of its own: one grid per text and target, one row per explainer."""
    texts: dict[tuple[Any, ...], list[Explanation]] = {}
    for one in explanations:
        texts.setdefault((one.tokens, one.target, one.note), []).append(one)
    return _page(
        "What the methods say",
        "Which words made the model decide, as each method says? Every row shows the same words.",
        [
            (" ".join(some[0].tokens), [f"{some[0].prediction}."], some[0].tokens, [one.row for one in some])
            for some in texts.values()
        ],
        "An explanation is a claim about the model, not a fact: trueness audit puts it on trial.",
    )


def adversary_page(result: AdversarialAttention) -> str:
    """A page of its own: observed above adversarial attention."""
    return _page(
        "Observed and adversarial attention",
        f"Both attentions lead the model to the same output, up to epsilon = {result.epsilon:g} (total variation of "
        "the probabilities). Attention has no sign: a stronger grey is more attention.",
        [
            (
                " ".join(row["words"]),
                [*([row["other"]] if row["other"] else []), f"{describe_pair(row)}."],
                row["words"],
                pair(row),
            )
            for row in result.records.to_dict(orient="records")
        ],
        "A heat map of the first row alone would suggest that its words decided.",
    )


_HEADING = 90
"""Characters of a text that head it."""


def _page(
    title: str,
    question: str,
    texts: Sequence[tuple[str, list[str], Sequence[str], Sequence[Scored]]],
    caution: str,
) -> str:
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
