"""The pair matrix of agreement as a clustered figure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import leaves_list, linkage

from trueness.protocols.agreement.measures import TAU
from trueness.protocols.result import Result
from trueness.report import figure as draw
from trueness.report.figure import Figure


def figures(result: Result) -> Iterator[Figure]:
    """The matrix of all pairs, one dataset and model at a time."""
    rows: list[dict[str, Any]] = []
    columns = ["dataset", "model", "variant"]
    told = [name for name in columns if result.records[name].nunique() > 1] or columns[:1]
    for _, some in result.records.groupby(columns, sort=False):
        place = some.iloc[0][told]
        couples = zip(some["first"], some["second"], strict=True)
        means = some[TAU].groupby([frozenset(couple) for couple in couples]).mean()
        tau: dict[Any, float] = {pair: float(value) for pair, value in means.dropna().items()}
        ordered = order_by_likeness(list(dict.fromkeys([*some["first"], *some["second"]])), tau)
        for (down, one), (across, other) in itertools.product(enumerate(ordered), repeat=2):
            cell = {"one": one, "other": other, "down": down, "across": across}
            value = 1.0 if one == other else tau.get(frozenset((one, other)))
            rows.append({"place": ", ".join(map(str, place)), **cell, "tau": value})
    table = pd.DataFrame(rows)
    size = 34 * int(table.groupby("place")["one"].nunique().max())
    scale = {"scheme": "blueorange", "domain": [-1, 1], "reverse": True}
    ink = {"condition": {"test": "datum.tau > 0.6", "value": "white"}, "value": "black"}
    spec = draw.one_at_a_time(
        table,
        "place",
        width=size,
        height=size,
        encoding={
            "x": draw.names("other", sort={"field": "across"}, axis={"labelAngle": -40}),
            "y": draw.names("one", sort={"field": "down"}),
        },
        layer=[
            {"mark": "rect", "encoding": {"color": draw.numbers("tau", title="mean tau", scale=scale)}},
            draw.layer("text", {"text": draw.numbers("tau", format=".2f"), "color": ink}, fontSize=10),
        ],
    )
    caption = (
        "Mean Kendall's tau of every pair of methods, ordered so that methods that agree stand together (average "
        "linkage). 0 is what unrelated rankings get. That methods agree does not make them true to the model."
    )
    yield Figure("agreement", "Agreement of all pairs of methods", caption, spec)


def order_by_likeness(methods: list[str], tau: dict[frozenset[str], float]) -> list[str]:
    """Methods in the order of a hierarchical clustering by mean tau, so that those that agree stand together."""
    if len(methods) < 3:
        return methods
    apart = np.array([1 - tau.get(frozenset(pair), 0.0) for pair in itertools.combinations(methods, 2)])
    return [methods[place] for place in leaves_list(linkage(apart, "average", optimal_ordering=True))]
