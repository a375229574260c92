"""What a function measured on one's own model: a result that can be drawn and written as a page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trueness.engine import disk, write_atomically
from trueness.errors import UserError
from trueness.protocols.result import Result, Score
from trueness.report import figure as draw
from trueness.report.figure import Figure
from trueness.report.matrix import matrix
from trueness.report.page import render
from trueness.studies import KINDS


@dataclass(frozen=True, repr=False)
class Measurement(Result):
    """A result with `plot()` and `report()`. In a notebook it shows its figures, warnings and scores."""

    title: str = ""
    kind: str = ""
    """The study kind that measures the same, and draws it; none: the scores are drawn."""
    intervals: str = "Student's over texts"

    @classmethod
    def of(cls, result: Result, title: str, kind: str = "", intervals: str = "Student's over texts") -> Measurement:
        """A result and what it is called."""
        parts = {name: getattr(result, name) for name in Result.__dataclass_fields__}
        return cls(**parts, title=title, kind=kind, intervals=intervals)

    @property
    def headlines(self) -> tuple[str, ...]:
        """The quantities to look at first; none: all."""
        return KINDS[self.kind].headlines if self.kind else ()

    def figures(self) -> list[Figure]:
        """All that can be drawn of it."""
        return list(KINDS[self.kind].figures(self)) if self.kind else [figure_of(self.scores, self.title)]

    def plot(self, out: str | Path | None = None) -> Figure:
        """The first figure, which a notebook shows; `out` is where to write it: .png, .svg or .pdf."""
        return first(self.figures(), out)

    def report(self, out: str | Path) -> Path:
        """Write one HTML page, complete in itself: figures, warnings, scores."""
        path = Path(out)
        if path.suffix not in (".html", ".htm"):
            raise UserError(f"The report is an HTML file: give a name that ends in .html, not {path}.")
        page = render(
            "measurement.html",
            ("report.css", "words.css"),
            title=self.title,
            result=self,
            matrix=matrix(self, self.headlines),
            figures=[(one, base64.b64encode(one.drawn("svg")).decode("ascii")) for one in self.figures()],
            intervals=self.intervals,
            vectors="",
            rows=[{"where": f"{score.dataset}, {score.model}", "score": score, "row": _ALONE} for score in self.scores],
        )
        with disk(f"the report {path}", full="free some space", refused="choose another place"):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, page.encode("utf-8", errors="replace"))
        return path

    def _repr_html_(self) -> str:
        pictures = "".join(one.drawn("svg").decode("utf-8") for one in self.figures())
        return pictures + super()._repr_html_()


_ALONE = {"compared_with": None, "outcome": None, "note": ""}
"""Nothing was published about one's own model."""


def first(figures: Sequence[Figure], out: str | Path | None) -> Figure:
    """The first of the figures, also as a file."""
    if not figures:
        raise UserError("There is nothing to draw: nothing could be measured.")
    if out is not None:
        figures[0].save(out)
    return figures[0]


def figure_of(scores: Sequence[Score], title: str) -> Figure:
    """Every score as a dot in its interval, one panel per quantity; a tick is what a random explanation gets."""
    import pandas as pd

    table = pd.DataFrame([score.model_dump() for score in scores])
    if not len(table):
        raise UserError("There is nothing to draw: nothing could be measured.")
    table["label"] = [
        ", ".join(text for text in (score.method, score.dataset if table["dataset"].nunique() > 1 else "") if text)
        for score in scores
    ]
    where = draw.names("label", sort=draw.in_order(table, "label"))
    told = draw.tooltip("label", "value:.3f", "low:.3f", "high:.3f", "n", "null:.3f:random explanation", "direction")
    across: draw.Spec = {"title": None, "scale": {"zero": False}}
    spec = draw.all_at_once(
        table,
        facet={"row": draw.panels(table, "quantity", header={"labelOrient": "top", "labelAnchor": "start"})},
        resolve={"scale": {"x": "independent"}},
        spec={
            "width": 420,
            "height": {"step": 20},
            "encoding": {"y": where},
            "layer": [
                draw.layer("rule", {"x": draw.numbers("low", **across), "x2": {"field": "high"}}, color=draw.BLUE),
                draw.layer("tick", {"x": draw.numbers("null", **across)}, color=draw.GREY, thickness=2, height=14),
                draw.layer(
                    "point", {"x": draw.numbers("value", **across), "tooltip": told}, filled=True, color=draw.BLUE
                ),
            ],
        },
    )
    caption = "A dot is the value, the line its 95 % interval, the grey tick what a random explanation gets."
    return Figure("scores", title, caption, spec)
