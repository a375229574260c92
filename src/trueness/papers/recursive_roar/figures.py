"""Curves and sparsity of Recursive ROAR (Madsen et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trueness.protocols.result import Result
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure, in_order, one_at_a_time, values

if TYPE_CHECKING:
    import pandas as pd

_COLOURS = [BLUE, ORANGE, GREEN, VERMILION, "#CC79A7", "#56B4E9", "#F0E442", "#000000"]
_ORDERS = {
    "recursive": "Recursive ROAR",
    "plain": "plain ROAR (explained once)",
    "masked training": "masked training (no retraining)",
}


def figures(result: Result) -> Iterator[Figure]:
    """Figures 4 to 9."""
    curves = result.tables["curves"]
    if len(curves):
        yield from _curves(curves)
    yield from _sparsity(result.tables["sparsity"])


def _methods(table: pd.DataFrame) -> dict[str, str]:
    """A colour for every method; chance is grey."""
    names = [method for method in in_order(table, "method") if method != "random"]
    return {"random": GREY, **{name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(names)}}


def _curves(curves: pd.DataFrame) -> Iterator[Figure]:
    tokens = bool((curves["unit"] == "tokens").all())
    colours = _methods(curves)
    random = curves[(curves["method"] == "random") & (curves["order"] == "plain")]
    followed = {
        order: _joined(
            [random.assign(order=order), curves[(curves["order"] == order) & (curves["method"] != "random")]]
        )
        for order in ("recursive", "plain")
        if ((curves["order"] == order) & (curves["method"] != "random")).any()
    }
    masked = curves[curves["order"] == "masked training"]
    if len(masked):
        followed["masked training"] = masked
    layer = _layer(colours, tokens)
    if "recursive" in followed:
        table = followed["recursive"].assign(
            panel=followed["recursive"]["dataset"] + ", " + followed["recursive"]["model"]
        )
        spec = {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "data": {"values": values(table)},
            "facet": {"field": "panel", "type": "nominal", "title": None, "sort": in_order(table, "panel")},
            "columns": 2,
            "spec": {"width": 330, "height": 210, "layer": layer},
            "resolve": {"scale": {"y": "independent"}},
            "config": _config(),
        }
        n = int(table["n"].max())
        caption = (
            f"Test performance after retraining without what is masked: mean and 95 % interval over {n} seeds. A curve "
            "below the grey one of random masks means that the explanation points at what the data needs; above or "
            "along it, that it does not."
        )
        name = "Figure 7: one token at a time" if tokens else "Figure 4: Recursive ROAR"
        yield Figure("curves", name, caption, spec)
    if len(followed) > 1:
        table = _joined([some.assign(how=_ORDERS[order]) for order, some in followed.items()])
        table["place"] = table["dataset"] + ", " + table["model"]
        names = [_ORDERS[order] for order in followed]
        spec = one_at_a_time(
            table,
            "place",
            facet={"column": {"field": "how", "type": "nominal", "title": None, "sort": names}},
            spec={"width": 250, "height": 210, "layer": layer},
        )
        caption = (
            "The same methods under each order. Plain ROAR explains once, so that a copy of what is masked can take "
            "its place; masked training measures one model that was trained under masks, against its own random curve."
        )
        yield Figure("orders", "Figures 8 and 9: orders compared", caption, spec)


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One after the other."""
    import pandas as pd

    return pd.concat(frames, ignore_index=True)


def _config() -> dict[str, Any]:
    return {
        "background": "white",
        "view": {"stroke": "#DDDDDD"},
        "axis": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
        "legend": {"labelFontSize": 11, "orient": "bottom", "columns": 4, "labelLimit": 300},
        "header": {"labelFontSize": 11, "labelFontWeight": "bold", "labelLimit": 400},
    }


def _layer(colours: dict[str, str], tokens: bool) -> list[dict[str, Any]]:
    axis: dict[str, Any] = {"grid": False} if tokens else {"grid": False, "format": "%"}
    x = {
        "field": "amount",
        "type": "quantitative",
        "title": "masked tokens of every text" if tokens else "masked share of every text",
        "axis": axis,
    }
    y = {"type": "quantitative", "scale": {"zero": False}, "title": "test performance"}
    colour = {
        "field": "method",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(colours), "range": list(colours.values())},
        "legend": {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1},
    }
    tooltip = [
        {"field": "method"},
        {"field": "amount"},
        {"field": "mean", "format": ".3f"},
        {"field": "low", "format": ".3f", "title": "95 % from"},
        {"field": "high", "format": ".3f", "title": "to"},
        {"field": "metric"},
    ]
    return [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "area", "opacity": 0.15},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "line", "point": {"size": 18}},
            "encoding": {"x": x, "y": {**y, "field": "mean"}, "color": colour, "tooltip": tooltip},
        },
    ]


def _sparsity(sparsity: pd.DataFrame) -> Iterator[Figure]:
    if not len(sparsity):
        return
    table = sparsity.copy()
    colours = _methods(table)
    table["place"] = table["dataset"] + ", " + table["model"]
    for unit, name, title, x_title, axis in (
        ("tokens", "sparsity-tokens", "Figure 5: what the top tokens hold", "top tokens of a text", {}),
        ("share", "sparsity-share", "Figure 6: what the top share holds", "top share of a text", {"format": "%"}),
    ):
        some = table[table["unit"] == unit]
        spec = one_at_a_time(
            some,
            "place",
            width=420,
            height=220,
            mark={"type": "line", "point": {"size": 18}},
            encoding={
                "x": {"field": "amount", "type": "quantitative", "title": x_title, "axis": axis},
                "y": {
                    "field": "mean",
                    "type": "quantitative",
                    "scale": {"domain": [0, 1]},
                    "title": "share of all magnitude",
                    "axis": {"format": "%"},
                },
                "color": {
                    "field": "method",
                    "type": "nominal",
                    "title": None,
                    "scale": {"domain": list(colours), "range": list(colours.values())},
                },
                "tooltip": [{"field": "method"}, {"field": "amount"}, {"field": "mean", "format": ".1%"}],
            },
        )
        caption = (
            "How much of an explanation's magnitude its top tokens hold, mean over development texts and seeds, of the "
            "models that saw everything. The higher at the left, the sparser; grey is what random scores hold."
        )
        yield Figure(name, title, caption, spec)
