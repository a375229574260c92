"""Scores over the tokens of a text: as HTML, and as coloured text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from trueness.protocols.result import Result

if TYPE_CHECKING:
    import pandas as pd

Colour = tuple[int, ...]
"""Red, green and blue, up to 255 each."""
# Blue speaks for the target, orange against it: distinct to colour-blind readers.
_FOR, _AGAINST = (0, 114, 178), (230, 159, 0)


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

    def to_pandas(self) -> pd.DataFrame:
        """One row per token."""
        import pandas as pd

        return pd.DataFrame({"token": self.tokens, "score": self.scores, "known": self.known})

    def to_json(self) -> dict[str, object]:
        """All of it, as plain JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self.__dict__.items()}

    @property
    def heading(self) -> str:
        """What is shown, in words."""
        return (
            f"{self.explainer}, target {self.target} (predicted {self.predicted}, probability {self.probability:.3f})"
            f"{'; ' if self.note else ''}{self.note}"
        )

    def _repr_html_(self) -> str:
        return heatmap(self)


def colours(scores: Sequence[float]) -> list[Colour]:
    """A background per score: white at 0, full colour at the largest magnitude of this text."""
    largest = max(map(abs, scores), default=0.0) or 1.0
    return [
        tuple(round(255 + abs(score) / largest * (channel - 255)) for channel in (_FOR if score >= 0 else _AGAINST))
        for score in scores
    ]


def dark(colour: Colour) -> bool:
    """Whether white text is easier to read on it than black."""
    red, green, blue = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128


def coloured(tokens: Sequence[str], scores: Sequence[float]) -> str:
    """The tokens on their colours, as HTML; the score is the title of its token."""
    spans = []
    for token, score, colour in zip(tokens, scores, colours(scores), strict=True):
        if colour == (255, 255, 255):
            spans.append(escape(token))
            continue
        ink = ";color:#fff" if dark(colour) else ""
        style = f"background:rgb{colour}{ink}".replace(" ", "")
        spans.append(f'<span style="{style}" title="{score:+.4f}">{escape(token)}</span>')
    return " ".join(spans)


def heatmap(explanation: Explanation) -> str:
    """A paragraph with every token on its colour."""
    return (
        f'<p class="heat"><small>{escape(explanation.heading)}</small><br>'
        f"{coloured(explanation.tokens, explanation.scores)}</p>"
    )


@dataclass(frozen=True)
class AdversarialAttention(Result):
    """Texts with their observed and the most divergent adversarial attention found; in a notebook: side by side."""

    def _repr_html_(self) -> str:
        return "".join(map(heatmap_pair, self.records.to_dict(orient="records"))) + super()._repr_html_()


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


def heatmap_pair(row: Mapping[Any, Any]) -> str:
    """Observed and adversarial attention of one text, one above the other."""
    other = f"<br><small>{escape(row['other'])}</small>" if row["other"] else ""
    return (
        f'<p class="heat"><small>{escape(describe_pair(row))}</small>{other}<br>'
        f"observed: {coloured(row['words'], row['attention'])}<br>"
        f"adversarial: {coloured(row['words'], row['adversarial'])}</p>"
    )


def heatmap_page(explanations: Sequence[Explanation]) -> str:
    """A page of its own."""
    return _page(
        "Explanations",
        "Blue speaks for the target, orange against it; the strongest token of a row has the full colour. Scores "
        "without a sign, such as attention, say how much a token mattered, not for which class. An explanation is a "
        "claim about the model, not a fact.",
        map(heatmap, explanations),
    )


def adversary_page(result: AdversarialAttention) -> str:
    """A page of its own."""
    return _page(
        "Observed and adversarial attention",
        "Both attentions lead the model to the same output, up to epsilon. The strongest token of a row has the full "
        "colour. A heat map of the first alone would suggest that its words decided.",
        map(heatmap_pair, result.records.to_dict(orient="records")),
    )


def _page(title: str, explanation: str, paragraphs: Iterable[str]) -> str:
    body = "\n".join(paragraphs)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title} – trueness</title>\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<style>body{font:16px/2 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\n"
        ".heat span{padding:2px 3px;border-radius:3px}</style></head>\n"
        f"<body><h1>{title}</h1>\n<p>{explanation}</p>\n{body}\n</body></html>\n"
    )
