"""The figure of the synthetic validation of Recursive ROAR."""

from __future__ import annotations

from typing import Any

from trueness.protocols.result import Result
from trueness.report import figure as draw
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure

_METHODS = {
    "ground-truth": ("ground-truth order", GREY, [1, 0]),
    "recursive-roar": ("Recursive ROAR", BLUE, [1, 0]),
    "roar": ("plain ROAR", VERMILION, [6, 3]),
    "random": ("random order", ORANGE, [2, 2]),
    "worst-case": ("worst-case order", GREEN, [8, 2, 2, 2]),
}


def figures(result: Result) -> list[Figure]:
    """Removal curves (Figure 3 of Madsen et al. 2022)."""
    curves = result.tables["curves"].copy()
    curves["order"] = [_METHODS[method][0] for method in curves["method"]]
    curves["drawn"] = [list(_METHODS).index(method) for method in curves["method"]]
    curves = curves.sort_values(["drawn", "step"])
    several = curves["model"].nunique() > 1
    curves["panel"] = [
        f"{row.reading} ({row.dataset}{f', {row.model}' if several else ''})" for row in curves.itertuples()
    ]
    colours, dashes = ({label: look[at] for label, *look in _METHODS.values()} for at in (0, 1))
    y: dict[str, Any] = {"scale": {"domain": [0.4, 1.02], "zero": False}, "title": "test accuracy after retraining"}
    both = {
        "x": draw.numbers("step", title="features removed (step)", axis={"tickMinStep": 1, "grid": False}),
        "color": draw.names_to("order", colours, legend=draw.OF_LINES),
    }
    thick = {"test": "datum.method === 'ground-truth'", "value": 8}
    line = {
        **both,
        "y": draw.numbers("mean", **y),
        "strokeDash": draw.names_to("order", dashes, legend=draw.OF_LINES),
        "strokeWidth": {"condition": thick, "value": 2.2},
        "opacity": {"condition": {**thick, "value": 0.45}, "value": 1},
        "detail": {"field": "drawn"},
        "tooltip": draw.tooltip(
            "order", "step", "mean:.4f:mean accuracy", "low:.4f:95 % from", "high:.4f:to", "n::draws"
        ),
    }
    band = {**both, "y": draw.numbers("low", **y), "y2": {"field": "high"}}
    chance = draw.layer("rule", {"y": draw.numbers("chance", **y)}, color="#444444", strokeDash=[1, 3])
    layers = [
        {"data": {"values": [{"chance": 0.5}]}, **chance},
        draw.layer("area", band, only="isValid(datum.low)", opacity=0.18, clip=True),
        draw.layer("line", line, clip=True),
    ]
    published_first = sorted(curves["panel"].unique(), key=lambda panel: "@" not in panel)
    spec = draw.all_at_once(
        curves,
        facet=draw.names("panel", sort=published_first),
        columns=2,
        spec={"width": 400, "height": 270, "layer": layers},
        config=draw.style(12, 500, columns=5, symbolSize=300),
    )
    caption = (
        "Test accuracy of a model retrained without the features removed so far: mean and 95 % interval over "
        f"{int(curves['n'].max())} draws of the problem. Lower is better: an order that removes the informative "
        "features first is at chance (dotted) as soon as they are gone. The wide grey line is the ground-truth order; "
        "a Recursive ROAR identical to it runs inside."
    )
    return [Figure("roar-synthetic", "Removal curves (Figure 3 of Madsen et al. 2022)", caption, spec)]
