"""Figures 1 and 2 of AtteFa (2022), with a dot for every run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from trueness.protocols.attefa.cell import MAIN, PUBLISHED, RETRAINED, cells_of, weight_in_words
from trueness.protocols.result import Result
from trueness.report import figure as draw
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure

_GRID = 41


def figures(result: Result) -> Iterator[Figure]:
    """Scores of twins where there are any, and the plane."""
    dots = _dots(result)
    if len(dots):
        yield _violins(dots)
    yield _plane(result)


def _violins(dots: pd.DataFrame) -> Figure:
    outlines = [_outline(group) for _, group in dots.groupby(["score", "dataset", "model"], sort=False)]
    y = draw.numbers("value", between=(0, 1), title=None)
    width: dict[str, Any] = {"axis": None, "between": (-1.1, 1.1)}
    violin = {"x": draw.numbers("left", **width), "x2": {"field": "right"}, "y": y}
    dot = {
        "x": draw.numbers("place", **width),
        "y": y,
        "color": draw.names_to("state", {"classifies": BLUE, "collapsed": VERMILION}),
        "tooltip": draw.tooltip("seed", "value:.3f", "state"),
    }
    header = {"labelExpr": "split(datum.label, '@')[0]", "labelFontSize": 10}
    spec = draw.one_at_a_time(
        pd.concat([dots, *outlines], ignore_index=True),
        "score",
        facet={"row": draw.panels(dots, "model"), "column": draw.panels(dots, "dataset", header=header)},
        spec={
            "width": 60,
            "height": 150,
            "layer": [
                draw.layer("area", violin, only="isValid(datum.left)", color=BLUE, opacity=0.3, orient="horizontal"),
                draw.layer("circle", dot, only="isValid(datum.seed)", size=26, opacity=0.8),
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
    rows = []
    for name in ("AtteFa, as published", "AtteFa*"):
        for cell in cells_of(result):
            star = name == "AtteFa*"
            fallen = () if star else set(cell.collapsed(cell.of(PUBLISHED, MAIN))["seed"])
            for number, (seed, value) in enumerate((cell.star() if star else cell.attefa_of_twins(PUBLISHED)).items()):
                state = "collapsed" if seed in fallen else "classifies"
                rows.append((name, cell.dataset, cell.model, int(str(seed)), value, ((number % 5) - 2) / 8, state))
    return pd.DataFrame(rows, columns=["score", "dataset", "model", "seed", "value", "place", "state"])


def _outline(dots: pd.DataFrame) -> pd.DataFrame:
    """A violin: how dense the values are, mirrored, its widest place 1 wide on each side."""
    values = dots["value"].to_numpy()
    spread = max(float(np.std(values)) * len(values) ** -0.2, 0.012)
    grid = np.linspace(max(values.min() - 2 * spread, 0.0), min(values.max() + 2 * spread, 1.0), _GRID)
    density = np.exp(-(((grid[:, None] - values) / spread) ** 2) / 2).sum(axis=1)
    density /= density.max()
    same = {name: dots[name].iloc[0] for name in ("score", "dataset", "model")}
    return pd.DataFrame({**same, "value": grid, "left": -density, "right": density})


def _plane(result: Result) -> Figure:
    runs, bases = result.tables["runs"], result.tables["bases"]
    kind = runs["method"].map({PUBLISHED: "twin, as published", RETRAINED: "same training, other seed"})
    weight = runs["weight"].map(weight_in_words)
    table = runs.assign(kind=kind.fillna("twin"), weight=weight.where(runs["method"] != RETRAINED))
    columns = ["dataset", "model", "kind", "weight", "seed", "change", "divergence", "performance"]
    lines = bases[["dataset", "model"]].assign(kind="best constant", change=bases["constant"])
    y = draw.numbers("change", title="change of prediction")
    dot = {
        "x": draw.numbers("divergence", title="divergence of attention", between=(0, 0.7)),
        "y": y,
        "color": draw.names_to(
            "kind", {"twin, as published": ORANGE, "twin": BLUE, "same training, other seed": GREEN}
        ),
        "tooltip": draw.tooltip("kind", "weight", "seed", "change:.3f", "divergence:.3f", "performance:.3f"),
    }
    best = "datum.kind {} 'best constant'".format
    spec = draw.one_at_a_time(
        pd.concat([table[columns], lines], ignore_index=True),
        facet=draw.panels(runs, "dataset"),
        columns=3,
        spec={
            "width": 220,
            "height": 150,
            "layer": [
                draw.layer("rule", {"y": y}, only=best("==="), color=GREY, strokeDash=[4, 3]),
                draw.layer("point", dot, only=best("!=="), filled=True, size=36, opacity=0.75),
            ],
        },
    )
    caption = (
        "A dot is a model, measured against the base model on the test split. Right: it attends elsewhere; up: it "
        "predicts differently (total variation). Green is what another seed does by chance; the dashed line is the "
        "best constant prediction: twins near it have given the task up."
    )
    return Figure("figure-2", "Figure 2: what it costs to attend elsewhere", caption, spec)
