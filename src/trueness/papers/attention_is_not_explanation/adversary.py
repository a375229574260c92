"""Observed attention beside the most divergent one that leads to the same output: in a notebook, and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from trueness.protocols.result import Result
from trueness.report.heatmap import drawn_words, page_of
from trueness.report.word_grid import Scored, laid_out


@dataclass(frozen=True, repr=False)
class AdversarialAttention(Result):
    """Texts with their observed and the most divergent adversarial attention found; in a notebook: side by side."""

    epsilon: float = 0.01
    """How much the output may change, as total variation."""

    def _repr_html_(self) -> str:
        rows = self.records.to_dict(orient="records")
        shown = (
            f"<p><small>{escape(describe_pair(row))}</small><br>{drawn_words(row['words'], pair(row))}</p>"
            for row in rows
        )
        return "".join(shown) + super()._repr_html_()


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
