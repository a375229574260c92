"""The pair matrix of agreement as a clustered figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trueness.papers.agreement.tables import order_by_likeness
from trueness.protocols.agreement.measures import TAU
from trueness.protocols.result import Result
from trueness.report.figure import Figure, one_at_a_time


def figures(result: Result) -> Iterator[Figure]:
    """The matrix of all pairs, one dataset and model at a time."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for (dataset, model, variant), some in result.records.groupby(["dataset", "model", "variant"], sort=False):
        place = f"{dataset}, {model}, {variant}"
        couples = zip(some["first"], some["second"], strict=True)
        means = some[TAU].groupby([frozenset(couple) for couple in couples]).mean()
        tau = {pair: float(value) for pair, value in means.dropna().items()}
        names = list(dict.fromkeys([*some["first"], *some["second"]]))
        ordered = order_by_likeness(names, lambda one, other, tau=tau: tau.get(frozenset((one, other)), 0.0))
        for down, one in enumerate(ordered):
            for across, other in enumerate(ordered):
                value = 1.0 if one == other else tau.get(frozenset((one, other)))
                rows.append({"place": place, "one": one, "other": other, "down": down, "across": across, "tau": value})
    table = pd.DataFrame(rows)
    size = 34 * int(table.groupby("place")["one"].nunique().max())
    axis = {"type": "nominal", "title": None}
    spec = one_at_a_time(
        table,
        "place",
        width=size,
        height=size,
        encoding={
            "x": {"field": "other", **axis, "sort": {"field": "across"}, "axis": {"labelAngle": -40}},
            "y": {"field": "one", **axis, "sort": {"field": "down"}},
        },
        layer=[
            {
                "mark": "rect",
                "encoding": {
                    "color": {
                        "field": "tau",
                        "type": "quantitative",
                        "title": "mean tau",
                        "scale": {"scheme": "blueorange", "domain": [-1, 1], "reverse": True},
                    }
                },
            },
            {
                "mark": {"type": "text", "fontSize": 10},
                "encoding": {
                    "text": {"field": "tau", "type": "quantitative", "format": ".2f"},
                    "color": {"condition": {"test": "datum.tau > 0.6", "value": "white"}, "value": "black"},
                },
            },
        ],
    )
    caption = (
        "Mean Kendall's tau of every pair of methods, ordered so that methods that agree stand together (average "
        "linkage). 0 is what unrelated rankings get. That methods agree does not make them true to the model."
    )
    yield Figure("agreement", "Agreement of all pairs of methods", caption, spec)
