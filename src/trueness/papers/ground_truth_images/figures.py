"""Figures 5 to 8 and 15 to 18 of Zhou et al. 2022, and images with their maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from trueness.protocols.result import Result
from trueness.report import figure as draw
from trueness.report.figure import BLUE, GREEN, ORANGE, VERMILION, Figure

_CLASSES = {"with the artefact": BLUE, "without it": ORANGE}
_SIDE = 100
_OVER = {"labelExpr": "split(datum.label, '@')", "labelFontSize": 9, "title": None}
"""Names over columns of panels: a paper's variant on a second line."""


def _short(methods: pd.Series) -> list[str]:
    """Without their settings, which would not fit over a panel."""
    return [str(name).partition("[")[0] for name in methods]


def figures(result: Result) -> Iterator[Figure]:
    """One figure for each question that was asked, all maps and artefacts; then examples."""
    records = result.records
    if len(records) and "question" in records:
        records = records.assign(
            image=["with the artefact" if label == 1 else "without it" for label in records["label"]]
        )
        records["method"] = _short(records["method"])
        records["place"] = records["dataset"] + ", " + records["model"]
        asked = set(records["question"])
        if "region" in asked:
            yield _regions(records[(records["question"] == "region") & (records["test accuracy"] > 0.95)])
        for question in ("accuracy", "visibility", "correlation"):
            if question in asked:
                yield _lines(records[records["question"] == question], question)
    panels = result.tables.get("panels")
    if panels is not None and len(panels):
        yield _panels(panels)


def _grid(table: pd.DataFrame, *layers: Any) -> dict[str, Any]:
    """A row for each artefact and a column for each map, of one dataset and model at a time."""
    return draw.one_at_a_time(
        table,
        "place",
        facet={"row": draw.panels(table, "artefact"), "column": draw.panels(table, "method", header=_OVER)},
        spec={"width": _SIDE, "height": _SIDE, "layer": list(layers)},
    )


def _kept(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return table[["place", "artefact", "method", "image", "seed", *columns]].round(4)


_SHARE = draw.numbers("attribution share", between=(0, 1), title="Attr%", axis=draw.PERCENT)


def _regions(records: pd.DataFrame) -> Figure:
    table = _kept(records, "region", "attribution share", "test accuracy")
    x = draw.numbers("region", between=(0, 1), title="region", axis=draw.PERCENT)
    dot = {
        "x": x,
        "y": _SHARE,
        "color": draw.names_to("image", _CLASSES),
        "shape": draw.names_to("image", {"with the artefact": "circle", "without it": "cross"}),
        "tooltip": draw.tooltip("seed", "region:.1%", "attribution share:.1%", "test accuracy:.3f"),
    }
    ends = [{"a": 0, "b": 0}, {"a": 1, "b": 1}]
    line = {"x": draw.numbers("a"), "y": draw.numbers("b")}
    diagonal = {"data": {"values": ends}, **draw.layer("line", line, color=VERMILION, strokeWidth=1)}
    best = draw.layer("rule", {"y": {"datum": 1}}, color=GREEN)
    caption = (
        "A dot is a run: the share of a map's magnitude inside the effective region (Attr%) against the region's share "
        "of the image. On the green line all of it is inside, on the red one no more than at random. The menu chooses "
        "the model."
    )
    title = "Figures 5 and 15: Attr% against the size of the region"
    return Figure(
        "region", title, caption, _grid(table, diagonal, best, draw.layer("point", dot, filled=True, size=22))
    )


def _lines(records: pd.DataFrame, question: str) -> Figure:
    columns = {
        "accuracy": ("test accuracy", "test accuracy", "Figures 6 and 16: Attr% against test accuracy"),
        "visibility": ("level", "visibility", "Figures 7 and 17: Attr% against visibility"),
        "correlation": ("kept", "labels kept, r", "Figures 8 and 18: Attr% against label correlation"),
    }
    column, title, heading = columns[question]
    pairs = {True: "similar", False: "distinct"}
    table = _kept(
        records.assign(pair=[pairs[bool(one)] for one in records["similar"]]), column, "attribution share", "pair"
    )
    line = {
        "x": draw.numbers(column, title=title, scale={"zero": False}),
        "y": _SHARE,
        "color": draw.names_to("image", _CLASSES),
        "detail": [draw.names("seed"), draw.names("pair")],
        "strokeDash": draw.names_to("pair", {"similar": [1, 0], "distinct": [4, 3]}, title="pair of classes"),
        "tooltip": draw.tooltip("seed", f"{column}:.3f", "attribution share:.1%"),
    }
    layers = [draw.layer("line", line, opacity=0.7, point={"size": 14})]
    said = "A line is a run, or a group of runs."
    if question == "correlation":
        band = {
            "x": draw.numbers("r"),
            "y": draw.numbers("least"),
            "y2": {"datum": 1},
        }
        ends = [{"r": 0.5, "least": 1.0}, {"r": 1.0, "least": 0.5}]
        layers.insert(0, {"data": {"values": ends}, **draw.layer("area", band, color=GREEN, opacity=0.15)})
        said += " The green area holds the shares that the Shapley axioms allow a perfect model: at least 1.5 - r."
    return Figure(question, heading, f"{said} The menu chooses the model.", _grid(table, *layers))


def _panels(panels: pd.DataFrame) -> Figure:
    shown = set(panels["picture"])
    # What is also asked with fewer samples, for the later questions, is shown once.
    again = panels["picture"].str.contains("[", regex=False) & panels["picture"].str.partition("[")[0].isin(shown)
    panels = panels[~again]
    table = panels.assign(
        place=panels["dataset"] + ", " + panels["model"],
        example=panels["artefact"] + ", " + panels["example"].str.replace(r" (the artefact|it)$", "", regex=True),
        picture=_short(panels["picture"]),
        text=[
            name if pd.isna(share) else f"{share:.0%}"
            for name, share in zip(panels["picture"], panels["share"], strict=True)
        ],
    )[["place", "example", "picture", "text", "png"]]
    picture = {"url": {"field": "png", "type": "nominal"}}
    under = {"text": {"field": "text", "type": "nominal"}, "y": {"value": _SIDE + 8}}
    spec = draw.one_at_a_time(
        table,
        "place",
        facet={
            "row": draw.panels(table, "example", header={"labelAngle": 0, "labelAlign": "left", "title": None}),
            "column": draw.panels(table, "picture", header=_OVER),
        },
        spec={
            "width": _SIDE,
            "height": _SIDE + 14,
            "layer": [
                {
                    "mark": {"type": "image", "width": _SIDE, "height": _SIDE, "x": _SIDE / 2, "y": _SIDE / 2},
                    "encoding": picture,
                },
                draw.layer("text", under, fontSize=10, x=_SIDE / 2),
            ],
        },
    )
    caption = (
        "Images with and without the artefact, the region in grey, and the maps: under each map its Attr%, under the "
        "region its share of the image. Only what lies in the region could tell the label."
    )
    return Figure("examples", "Images, regions and maps", caption, spec)
