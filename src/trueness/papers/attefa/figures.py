"""Figures 1 and 2 of AtteFa (2022), with a dot for every run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.protocols.attefa.cell import MAIN, PUBLISHED, RETRAINED, TwinCell, cells_of, weight_in_words
from trueness.protocols.result import Result
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure, in_order, one_at_a_time

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = 3
_GRID = 41


def figures(result: Result) -> Iterator[Figure]:
    """Both figures."""
    yield _violins(result)
    yield _plane(result)


def _violins(result: Result) -> Figure:
    import pandas as pd

    dots = _dots(result)
    outlines = [
        {**dict(zip(("score", "dataset", "model"), key, strict=True)), **point}
        for key, group in dots.groupby(["score", "dataset", "model"], sort=False)
        for point in _outline(group["value"].to_numpy())
    ]
    table = pd.concat([dots, pd.DataFrame(outlines)], ignore_index=True)
    y = {"field": "value", "type": "quantitative", "scale": {"domain": [0, 1]}, "title": None}
    width = {"type": "quantitative", "axis": None, "scale": {"domain": [-1.1, 1.1]}}
    spec = one_at_a_time(
        table,
        "score",
        facet={
            "row": {"field": "model", "type": "nominal", "title": None, "sort": in_order(dots, "model")},
            "column": {
                "field": "dataset",
                "type": "nominal",
                "title": None,
                "sort": in_order(dots, "dataset"),
                "header": {"labelExpr": "split(datum.label, '@')[0]", "labelFontSize": 10},
            },
        },
        spec={
            "width": 60,
            "height": 150,
            "layer": [
                {
                    "transform": [{"filter": "isValid(datum.left)"}],
                    "mark": {"type": "area", "color": BLUE, "opacity": 0.3, "orient": "horizontal"},
                    "encoding": {"x": {"field": "left", **width}, "x2": {"field": "right"}, "y": y},
                },
                {
                    "transform": [{"filter": "isValid(datum.seed)"}],
                    "mark": {"type": "circle", "size": 26, "opacity": 0.8},
                    "encoding": {
                        "x": {"field": "place", **width},
                        "y": y,
                        "color": {
                            "field": "state",
                            "type": "nominal",
                            "title": None,
                            "scale": {"domain": ["classifies", "collapsed"], "range": [BLUE, VERMILION]},
                        },
                        "tooltip": [{"field": "seed"}, {"field": "value", "format": ".3f"}, {"field": "state"}],
                    },
                },
            ],
        },
    )
    caption = (
        "A dot is a seed. 0: a twin predicts the same while attending elsewhere; 1: it changes predictions as much as "
        "attention. AtteFa as published: one twin a dot; a collapsed twin predicts one class, and its score says "
        "nothing about attention. AtteFa*: the twins of all weights with that seed, relative to a constant predictor."
    )
    return Figure("figure-1", "Figure 1: AtteFa by dataset and encoder", caption, spec)


def _dots(result: Result) -> pd.DataFrame:
    """One row per score and seed."""
    import pandas as pd

    scores: dict[str, Callable[[TwinCell], pd.Series]] = {
        "AtteFa, as published": lambda cell: cell.attefa(PUBLISHED),
        "AtteFa*": TwinCell.star,
    }
    rows = [
        {
            "score": name,
            "dataset": cell.dataset,
            "model": cell.model,
            "seed": int(str(seed)),
            "value": value,
            "place": ((number % 5) - 2) / 8,
            "state": "collapsed" if name != "AtteFa*" and seed in fallen else "classifies",
        }
        for name, score in scores.items()
        for cell in cells_of(result)
        for fallen in [set(cell.collapsed(cell.of(PUBLISHED, MAIN))["seed"])]
        for number, (seed, value) in enumerate(score(cell).items())
    ]
    return pd.DataFrame(rows, columns=["score", "dataset", "model", "seed", "value", "place", "state"])


def _outline(values: Any) -> list[dict[str, float]]:
    """A violin: how dense the values are, mirrored, its widest place 1 wide on each side."""
    spread = max(float(np.std(values)) * len(values) ** -0.2, 0.012)
    grid = np.linspace(max(values.min() - 2 * spread, 0.0), min(values.max() + 2 * spread, 1.0), _GRID)
    density = np.exp(-(((grid[:, None] - values) / spread) ** 2) / 2).sum(axis=1)
    density /= density.max()
    return [
        {"value": float(at), "left": -float(wide), "right": float(wide)} for at, wide in zip(grid, density, strict=True)
    ]


def _plane(result: Result) -> Figure:
    import pandas as pd

    runs, bases = result.tables["runs"], result.tables["bases"]
    kind = runs["method"].map({PUBLISHED: "twin, as published", RETRAINED: "same training, other seed"})
    weight = runs["weight"].map(weight_in_words)
    table = runs.assign(kind=kind.fillna("twin"), weight=weight.where(runs["method"] != RETRAINED))
    columns = ["dataset", "model", "kind", "weight", "seed", "change", "divergence", "performance"]
    lines = bases[["dataset", "model"]].assign(kind="best constant", change=bases["constant"])
    kinds = {
        "twin, as published": ORANGE,
        "twin": BLUE,
        "same training, other seed": GREEN,
    }
    x = {
        "field": "divergence",
        "type": "quantitative",
        "title": "divergence of attention",
        "scale": {"domain": [0, 0.7]},
    }
    y = {"field": "change", "type": "quantitative", "title": "change of prediction"}
    spec = one_at_a_time(
        pd.concat([table[columns], lines], ignore_index=True),
        facet={"field": "dataset", "type": "nominal", "title": None, "sort": in_order(runs, "dataset")},
        columns=_COLUMNS,
        spec={
            "width": 220,
            "height": 150,
            "layer": [
                {
                    "transform": [{"filter": "datum.kind === 'best constant'"}],
                    "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
                    "encoding": {"y": y},
                },
                {
                    "transform": [{"filter": "datum.kind !== 'best constant'"}],
                    "mark": {"type": "point", "filled": True, "size": 36, "opacity": 0.75},
                    "encoding": {
                        "x": x,
                        "y": y,
                        "color": {
                            "field": "kind",
                            "type": "nominal",
                            "title": None,
                            "scale": {"domain": list(kinds), "range": list(kinds.values())},
                        },
                        "tooltip": [
                            {"field": "kind"},
                            {"field": "weight"},
                            {"field": "seed"},
                            {"field": "change", "format": ".3f"},
                            {"field": "divergence", "format": ".3f"},
                            {"field": "performance", "format": ".3f"},
                        ],
                    },
                },
            ],
        },
    )
    caption = (
        "A dot is a model, measured against the base model on the test split. Right: it attends elsewhere; up: it "
        "predicts differently (total variation). Green is what another seed does by chance; the dashed line is the "
        "best constant prediction: twins near it have given the task up."
    )
    return Figure("figure-2", "Figure 2: what it costs to attend elsewhere", caption, spec)
