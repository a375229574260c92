"""The figure of the synthetic validation of Recursive ROAR."""

from __future__ import annotations

from trueness.protocols.result import Result
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure, values


def figures(result: Result) -> list[Figure]:
    """Removal curves (Figure 3 of Madsen et al. 2022)."""
    methods = {
        "ground-truth": ("ground-truth order", GREY, [1, 0]),
        "recursive-roar": ("Recursive ROAR", BLUE, [1, 0]),
        "roar": ("plain ROAR", VERMILION, [6, 3]),
        "random": ("random order", ORANGE, [2, 2]),
        "worst-case": ("worst-case order", GREEN, [8, 2, 2, 2]),
    }
    curves = result.tables["curves"].copy()
    curves["order"] = [methods[method][0] for method in curves["method"]]
    curves["drawn"] = [list(methods).index(method) for method in curves["method"]]
    curves = curves.sort_values(["drawn", "step"])
    n = int(curves["n"].max())
    several = curves["model"].nunique() > 1
    curves["panel"] = [
        f"{row.reading} ({row.dataset}{f', {row.model}' if several else ''})" for row in curves.itertuples()
    ]
    labels = [label for label, *_ in methods.values()]
    colours = {"domain": labels, "range": [colour for _, colour, _ in methods.values()]}
    dashes = {"domain": labels, "range": [dash for *_, dash in methods.values()]}
    legend = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1}
    colour = {"field": "order", "type": "nominal", "scale": colours, "title": None, "legend": legend}
    thick = {"test": "datum.method === 'ground-truth'", "value": 8}
    x = {
        "field": "step",
        "type": "quantitative",
        "title": "features removed (step)",
        "axis": {"tickMinStep": 1, "grid": False},
    }
    y = {
        "type": "quantitative",
        "scale": {"domain": [0.4, 1.02], "zero": False},
        "title": "test accuracy after retraining",
    }
    tooltip = [
        {"field": "order"},
        {"field": "step"},
        {"field": "mean", "format": ".4f", "title": "mean accuracy"},
        {"field": "low", "format": ".4f", "title": "95 % from"},
        {"field": "high", "format": ".4f", "title": "to"},
        {"field": "n", "title": "draws"},
    ]
    chance = {
        "data": {"values": [{"chance": 0.5}]},
        "mark": {"type": "rule", "color": "#444444", "strokeDash": [1, 3]},
        "encoding": {"y": {**y, "field": "chance"}},
    }
    band = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "area", "opacity": 0.18, "clip": True},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
    }
    line = {
        "mark": {"type": "line", "clip": True},
        "encoding": {
            "x": x,
            "y": {**y, "field": "mean"},
            "color": colour,
            "strokeDash": {"field": "order", "type": "nominal", "scale": dashes, "title": None, "legend": legend},
            "strokeWidth": {"condition": thick, "value": 2.2},
            "opacity": {"condition": {**thick, "value": 0.45}, "value": 1},
            "detail": {"field": "drawn"},
            "tooltip": tooltip,
        },
    }
    published_first = sorted(curves["panel"].unique(), key=lambda panel: "@" not in panel)
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": values(curves)},
        "facet": {"field": "panel", "type": "nominal", "title": None, "sort": published_first},
        "columns": 2,
        "spec": {"width": 400, "height": 270, "layer": [chance, band, line]},
        "config": {
            "background": "white",
            "view": {"stroke": "#DDDDDD"},
            "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
            "legend": {"labelFontSize": 12, "orient": "bottom", "columns": 5, "symbolSize": 300, "labelLimit": 300},
            "header": {"labelFontSize": 12, "labelFontWeight": "bold", "labelLimit": 500},
        },
    }
    caption = (
        f"Test accuracy of a model retrained without the features removed so far: mean and 95 % BCa interval over {n} "
        "draws of the problem. Lower is better: an order that removes the informative features first is at chance "
        "(dotted) as soon as they are gone. The wide grey line is the ground-truth order; a Recursive ROAR identical "
        "to it runs inside."
    )
    return [Figure("roar-synthetic", "Removal curves (Figure 3 of Madsen et al. 2022)", caption, spec)]
