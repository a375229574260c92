"""Scores over the tokens of a text: as HTML, and as coloured text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

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


def colours(scores: Sequence[float]) -> list[tuple[int, int, int]]:
    """A background per score: white at 0, full colour at the largest magnitude of this text."""
    largest = max((abs(score) for score in scores), default=0.0)
    found = []
    for score in scores:
        share = abs(score) / largest if largest > 0 else 0.0
        full = _FOR if score >= 0 else _AGAINST
        red, green, blue = (round(255 + share * (channel - 255)) for channel in full)
        found.append((red, green, blue))
    return found


def dark(colour: tuple[int, int, int]) -> bool:
    """Whether white text is easier to read on it than black."""
    red, green, blue = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128


def heatmap(explanation: Explanation) -> str:
    """A paragraph with every token on its colour; the score is its title."""
    spans = []
    for token, score, colour in zip(explanation.tokens, explanation.scores, colours(explanation.scores), strict=True):
        ink = "#fff" if dark(colour) else "#000"
        style = f"background:rgb{colour};color:{ink};padding:2px 3px;border-radius:3px".replace(" ", "")
        spans.append(f'<span style="{style}" title="{score:+.4f}">{escape(token)}</span>')
    return f"<p><small>{escape(explanation.heading)}</small><br>{' '.join(spans)}</p>"


def heatmap_page(explanations: Sequence[Explanation]) -> str:
    """A page of its own."""
    body = "\n".join(heatmap(explanation) for explanation in explanations)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Explanations – trueness</title>\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<style>body{font:16px/2 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}</style></head>\n"
        "<body><h1>Explanations</h1>\n<p>Blue speaks for the target, orange against it; the strongest token of a row "
        "has the full colour. Scores without a sign, such as attention, say how much a token mattered, not for which "
        f"class. An explanation is a claim about the model, not a fact.</p>\n{body}\n</body></html>\n"
    )
