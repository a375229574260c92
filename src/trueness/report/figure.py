"""Figures as Vega-Lite specifications: the same one is interactive in the report and a PNG, SVG or PDF beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# Okabe and Ito's colours, which remain distinct to colour-blind readers.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#999999"


@dataclass(frozen=True)
class Figure:
    """A drawing with what it takes to read it."""

    name: str
    title: str
    caption: str
    spec: dict[str, Any]


def values(frame: Any) -> list[dict[str, Any]]:
    """Rows as plain JSON; what is missing is null."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [dict(row) for row in plain.to_dict(orient="records")]


def in_order(table: pd.DataFrame, field: str) -> list[str]:
    """The values of a column in order of appearance: facets are sorted by name unless told."""
    return list(dict.fromkeys(table[field]))


def one_at_a_time(table: pd.DataFrame, field: str = "model", **rest: Any) -> dict[str, Any]:
    """A figure of one model (or whatever `field` names) at a time: a menu chooses it, a picture shows the first."""
    names = _names(table[field])
    menu = {"input": "select", "options": names, "name": f"{field} "}
    return all_at_once(
        table,
        title={"text": {"expr": f"'{field}: ' + chosen"}, "anchor": "start", "fontSize": 12},
        params=[{"name": "chosen", "value": names[0], "bind": menu}],
        transform=[{"filter": f"datum.{field} === chosen"}],
        **rest,
    )


def all_at_once(table: pd.DataFrame, **rest: Any) -> dict[str, Any]:
    """A figure of everything."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": values(table)},
        "config": {
            "background": "white",
            "view": {"stroke": "#DDDDDD"},
            "axis": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
            "legend": {"labelFontSize": 11, "titleFontSize": 11, "orient": "bottom", "labelLimit": 300},
            "header": {"labelFontSize": 11, "labelFontWeight": "bold", "labelLimit": 300},
        },
        **rest,
    }


def _names(column: pd.Series) -> list[str]:
    """In order of appearance, the papers' own models first."""
    found = list(dict.fromkeys(column))
    return sorted(found, key=lambda name: (name != "bilstm-additive", name != "average-additive")) or [""]
