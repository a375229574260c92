"""Figures as Vega-Lite specifications: the same one is interactive in the report and a PNG, SVG or PDF beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.engine import disk, write_atomically
from trueness.errors import UserError, install

if TYPE_CHECKING:
    import pandas as pd

Spec = dict[str, Any]
# Okabe and Ito's colours, which remain distinct to colour-blind readers.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#999999"
OF_LINES = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1}
"""A legend of lines rather than of dots."""
PERCENT = {"format": "%"}
"""An axis of shares."""
FREE_HEIGHTS = {"scale": {"y": "independent"}}
"""Every panel has a vertical axis of its own."""


_FORMS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Figure:
    """A drawing with what it takes to read it."""

    name: str
    title: str
    caption: str = field(repr=False)
    spec: Spec = field(repr=False)
    words: bool = False
    """Whether it shows words of the data."""

    def drawn(self, form: str) -> bytes:
        """As png, svg or pdf."""
        convert = converter()
        if form == "png":
            return bytes(convert.vegalite_to_png(self.spec, scale=2))
        if form == "pdf":
            return bytes(convert.vegalite_to_pdf(self.spec))
        return str(convert.vegalite_to_svg(self.spec)).encode("utf-8")

    def save(self, path: str | Path) -> Path:
        """Write it as its name ends: .png, .svg or .pdf."""
        target = Path(path)
        if target.suffix not in _FORMS:
            raise UserError(f"A figure is written as {', '.join(_FORMS)}, not as {target.name}.")
        with disk(f"the figure {target}", full="free some space", refused="choose another place"):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, self.drawn(target.suffix[1:]))
        return target

    def _repr_svg_(self) -> str:
        return self.drawn("svg").decode("utf-8")


def converter() -> Any:
    """What turns specifications into pictures."""
    try:
        import vl_convert
    except ImportError as error:
        raise UserError(f"Reports need the report extra: {install('report')}.") from error
    return vl_convert


def values(frame: Any) -> list[dict[str, Any]]:
    """Rows as plain JSON; what is missing is null."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [dict(row) for row in plain.to_dict(orient="records")]


def in_order(table: pd.DataFrame, field: str) -> list[str]:
    """The values of a column in order of appearance: facets are sorted by name unless told."""
    return list(dict.fromkeys(table[field]))


def numbers(field: str, *, between: tuple[float, float] | None = None, **rest: Any) -> Spec:
    """A channel of numbers, on a scale between two of them."""
    scale = {} if between is None else {"scale": {"domain": list(between)}}
    return {"field": field, "type": "quantitative", **scale, **rest}


def names(field: str, **rest: Any) -> Spec:
    """A channel of names, without a title."""
    return {"field": field, "type": "nominal", "title": None, **rest}


def names_to(field: str, looks: Mapping[str, Any], **rest: Any) -> Spec:
    """A channel of names, each with its colour or dash."""
    return names(field, scale={"domain": list(looks), "range": list(looks.values())}, **rest)


def panels(table: pd.DataFrame, field: str, **rest: Any) -> Spec:
    """One panel for each value of a column, in order of appearance."""
    return names(field, sort=in_order(table, field), **rest)


def tooltip(*fields: str) -> list[dict[str, str]]:
    """What a dot says of itself; each field as `field`, `field:format` or `field:format:title`."""
    return [
        {name: part for name, part in zip(("field", "format", "title"), text.split(":"), strict=False) if part}
        for text in fields
    ]


def layer(mark: str, encoding: Spec, *, only: str | None = None, **look: Any) -> Spec:
    """Marks of one kind, of the rows for which the expression `only` is true."""
    kept = {} if only is None else {"transform": [{"filter": only}]}
    return {**kept, "mark": {"type": mark, **look}, "encoding": encoding}


def one_at_a_time(table: pd.DataFrame, field: str = "model", **rest: Any) -> Spec:
    """A figure of one model (or whatever `field` names) at a time: a menu chooses it, a picture shows the first."""
    # The papers' own models come first.
    found = sorted(in_order(table, field), key=lambda name: (name != "bilstm-additive", name != "average-additive"))
    options = found or [""]
    menu = {"input": "select", "options": options, "name": f"{field} "}
    return all_at_once(
        table,
        title={"text": {"expr": f"'{field}: ' + chosen"}, "anchor": "start", "fontSize": 12},
        params=[{"name": "chosen", "value": options[0], "bind": menu}],
        transform=[{"filter": f"datum.{field} === chosen"}],
        **rest,
    )


def all_at_once(table: pd.DataFrame, **rest: Any) -> Spec:
    """A figure of everything."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": values(table)},
        "config": style(titleFontSize=11),
        **rest,
    }


def style(size: int = 11, header: int = 300, **legend: Any) -> Spec:
    """Letters of a size, headers of panels up to a width, and what the legend has of its own."""
    axis = {"labelFontSize": size, "titleFontSize": size, "titleFontWeight": "normal"}
    return {
        "background": "white",
        "font": "Arial, Liberation Sans, Helvetica, sans-serif",  # as wide on a page as where it was laid out
        "padding": {"left": 36, "right": 12, "top": 12, "bottom": 12},
        "view": {"stroke": "#DDDDDD"},
        "axis": {**axis, "labelLimit": 300},
        "axisQuantitative": {"labelOverlap": "greedy", "labelSeparation": 14},
        "legend": {"labelFontSize": size, "orient": "bottom", "labelLimit": 300, **legend},
        "header": {"labelFontSize": size, "labelFontWeight": "bold", "labelLimit": header},
    }
