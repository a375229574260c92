"""Curves and sparsity of Recursive ROAR (Madsen et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from trueness.protocols.result import Result
from trueness.report import figure as draw
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure

_COLOURS = [BLUE, ORANGE, GREEN, VERMILION, "#CC79A7", "#56B4E9", "#F0E442", "#000000"]
_ORDERS = {
    "recursive": "Recursive ROAR",
    "plain": "plain ROAR (explained once)",
    "masked training": "masked training (no retraining)",
}
_LINE: dict[str, Any] = {"mark": "line", "point": {"size": 18}}


def figures(result: Result) -> Iterator[Figure]:
    """Figures 4 to 9."""
    for name, drawn in (("curves", _curves), ("sparsity", _sparsity)):
        table = result.tables[name]
        if len(table):
            yield from drawn(table.assign(place=table["dataset"] + ", " + table["model"]))


def _coloured(table: pd.DataFrame, **rest: Any) -> draw.Spec:
    """A colour for every method; chance is grey."""
    names = [method for method in draw.in_order(table, "method") if method != "random"]
    colours = {name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(names)}
    return draw.names_to("method", {"random": GREY, **colours}, **rest)


def _curves(curves: pd.DataFrame) -> Iterator[Figure]:
    tokens = bool((curves["unit"] == "tokens").all())
    by_chance = curves["method"] == "random"
    random = curves[by_chance & (curves["order"] == "plain")]
    followed = {order: curves[(curves["order"] == order) & ~by_chance] for order in ("recursive", "plain")}
    followed = {order: pd.concat([random.assign(order=order), some]) for order, some in followed.items() if len(some)}
    masked = curves[curves["order"] == "masked training"]
    if len(masked):
        followed["masked training"] = masked
    layers = _layers(curves, tokens)
    if "recursive" in followed:
        table = followed["recursive"].rename(columns={"place": "panel"})
        spec = draw.all_at_once(
            table,
            facet=draw.panels(table, "panel"),
            columns=2,
            spec={"width": 330, "height": 210, "layer": layers},
            resolve=draw.FREE_HEIGHTS,
            config=draw.style(header=400, columns=4),
        )
        caption = (
            "Test performance after retraining without what is masked: mean and 95 % interval over "
            f"{int(table['n'].max())} seeds. A curve below the grey one of random masks means that the explanation "
            "points at what the data needs; above or along it, that it does not."
        )
        name = "Figure 7: one token at a time" if tokens else "Figure 4: Recursive ROAR"
        yield Figure("curves", name, caption, spec)
    if len(followed) > 1:
        table = pd.concat([some.assign(how=_ORDERS[order]) for order, some in followed.items()])
        spec = draw.one_at_a_time(
            table,
            "place",
            facet={"column": draw.panels(table, "how")},
            spec={"width": 250, "height": 210, "layer": layers},
        )
        caption = (
            "The same methods under each order. Plain ROAR explains once, so that a copy of what is masked can take "
            "its place; masked training measures one model that was trained under masks, against its own random curve."
        )
        yield Figure("orders", "Figures 8 and 9: orders compared", caption, spec)


def _layers(curves: pd.DataFrame, tokens: bool) -> list[draw.Spec]:
    title = "masked tokens of every text" if tokens else "masked share of every text"
    axis = {"grid": False, **({} if tokens else draw.PERCENT)}
    y: dict[str, Any] = {"scale": {"zero": False}, "title": "test performance"}
    both = {"x": draw.numbers("amount", title=title, axis=axis), "color": _coloured(curves, legend=draw.OF_LINES)}
    shown = draw.tooltip("method", "amount", "mean:.3f", "low:.3f:95 % from", "high:.3f:to", "metric")
    band = {**both, "y": draw.numbers("low", **y), "y2": {"field": "high"}}
    line = {**both, "y": draw.numbers("mean", **y), "tooltip": shown}
    return [draw.layer("area", band, only="isValid(datum.low)", opacity=0.15), draw.layer(encoding=line, **_LINE)]


def _sparsity(sparsity: pd.DataFrame) -> Iterator[Figure]:
    colour = _coloured(sparsity)
    caption = (
        "How much of an explanation's magnitude its top tokens hold, mean over development texts and seeds, of the "
        "models that saw everything. The higher at the left, the sparser; grey is what random scores hold."
    )
    for unit, title, x_title, axis in (
        ("tokens", "Figure 5: what the top tokens hold", "top tokens of a text", {}),
        ("share", "Figure 6: what the top share holds", "top share of a text", draw.PERCENT),
    ):
        line = {
            "x": draw.numbers("amount", title=x_title, axis=axis),
            "y": draw.numbers("mean", between=(0, 1), title="share of all magnitude", axis=draw.PERCENT),
            "color": colour,
            "tooltip": draw.tooltip("method", "amount", "mean:.1%"),
        }
        some = sparsity[sparsity["unit"] == unit]
        spec = draw.one_at_a_time(some, "place", width=420, height=220, **draw.layer(encoding=line, **_LINE))
        yield Figure(f"sparsity-{unit}", title, caption, spec)
