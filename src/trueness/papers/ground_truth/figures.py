"""The ranking of explainers by planted evidence, rationales, and words: Figures 10 to 13, 19 and 20."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.protocols.ground_truth.summary import PLANTED, pooled
from trueness.protocols.result import Result
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, Figure, all_at_once, in_order, one_at_a_time

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {0: "another word", 1: "planted evidence", -1: "a decoy"}


def figures(result: Result) -> Iterator[Figure]:
    """AUROC of every explainer with a dot for every model."""
    records = result.records
    if "AUROC" not in records:
        return
    means = records.groupby(["dataset", "model", "method", "seed"], as_index=False, sort=False)[["AUROC"]].mean()
    means["place"] = means["dataset"] + ", " + means["model"]
    ranking = result.tables["ranking"]
    order = {
        f"{row['dataset']}, {row['model']}, {row['method']}": number
        for number, row in enumerate(ranking.to_dict(orient="records"))
    }
    means["rank"] = [
        order.get(f"{row['dataset']}, {row['model']}, {row['method']}") for row in means.to_dict(orient="records")
    ]
    means = means.dropna(subset=["rank"])
    x = {"field": "AUROC", "type": "quantitative", "scale": {"domain": [0, 1]}, "title": "AUROC"}
    y = {"field": "method", "type": "nominal", "title": None, "sort": {"field": "rank"}}
    spec = one_at_a_time(
        means,
        "place",
        width=420,
        height={"step": 22},
        layer=[
            {"mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]}, "encoding": {"x": {"datum": 0.5}}},
            {
                "mark": {"type": "tick", "color": BLUE, "thickness": 3, "size": 16},
                "encoding": {"x": {**x, "aggregate": "mean"}, "y": y},
            },
            {
                "mark": {"type": "circle", "color": BLUE, "opacity": 0.5, "size": 40},
                "encoding": {"x": x, "y": y, "tooltip": [{"field": "seed"}, {"field": "AUROC", "format": ".3f"}]},
            },
        ],
    )
    caption = (
        "How well each explanation separates planted words from the others: a dot is a model, the bar their mean, the "
        f"dashed line chance. {len(in_order(means, 'place'))} combinations of planting and model; the menu chooses one."
    )
    yield Figure("ranking", "Which explainers find the evidence", caption, spec)
    yield from _bars(result)
    yield from _selections(result)


def _selections(result: Result) -> Iterator[Figure]:
    """Precision and recall of rationales against the rate of selection, beside the best that is possible."""
    import pandas as pd

    records = result.records
    if "selected" not in records:
        return
    means = pooled(records)
    means["kind"] = [model.split(",")[0] for model in means["model"]]
    dots = means.melt(["dataset", "model", "kind", "seed", "selected"], ["precision", "recall"], "measure", "value")
    lines = [row for dataset, some in records.groupby("dataset", sort=False) for row in _best(str(dataset), some)]
    table = pd.concat([dots, pd.DataFrame(lines)], ignore_index=True)
    x = {"field": "selected", "type": "quantitative", "title": "selected words", "axis": {"format": "%"}}
    scale = {"domain": [0, 1]}
    spec = all_at_once(
        table,
        facet={
            "row": {"field": "dataset", "type": "nominal", "title": None, "sort": in_order(table, "dataset")},
            "column": {"field": "measure", "type": "nominal", "title": None},
        },
        spec={
            "width": 260,
            "height": 200,
            "layer": [
                {
                    "transform": [{"filter": "isValid(datum.best)"}],
                    "mark": {"type": "line", "color": GREEN},
                    "encoding": {
                        "x": x,
                        "y": {"field": "best", "type": "quantitative", "scale": scale, "title": None},
                        "strokeDash": {
                            "field": "held",
                            "type": "nominal",
                            "title": "best possible",
                            "scale": {"domain": ["for the split", "text by text"], "range": [[1, 0], [4, 3]]},
                        },
                    },
                },
                {
                    "transform": [{"filter": "isValid(datum.value)"}],
                    "mark": {"type": "point", "filled": True, "size": 50, "opacity": 0.8},
                    "encoding": {
                        "x": x,
                        "y": {"field": "value", "type": "quantitative", "scale": scale, "title": None},
                        "color": {
                            "field": "kind",
                            "type": "nominal",
                            "title": None,
                            "scale": {
                                "domain": ["rationale-reinforce", "rationale-hardkuma"],  # as in the paper
                                "range": [BLUE, ORANGE],
                            },
                        },
                        "tooltip": [{"field": "model"}, {"field": "seed"}, {"field": "value", "format": ".3f"}],
                    },
                },
            ],
        },
    )
    caption = (
        "A dot is a rationale model. The green lines are the best that is possible, where all selected words are "
        "evidence or all evidence is selected: solid where the rate of selection holds for the whole test split, "
        "dashed where it holds for every text alone."
    )
    yield Figure("rationales", "Figures 12 and 13: precision and recall of rationales", caption, spec)


def _best(dataset: str, records: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Highest possible precision and recall at rates of selection: held for the split as a whole, or text by text."""
    texts = records[records["method"] == "rationale"].drop_duplicates("instance")
    words = texts["words"].to_numpy()
    marked = texts["evidence size"].to_numpy() * words
    if marked.sum() == 0:
        return
    for rate in [step / 100 for step in range(1, 26)]:
        chosen = rate * words
        for held, both in (
            ("for the split", min(chosen.sum(), marked.sum())),
            ("text by text", np.minimum(chosen, marked).sum()),
        ):
            for name, all_of in (("precision", chosen.sum()), ("recall", marked.sum())):
                yield {
                    **{"dataset": dataset, "measure": name, "selected": rate},
                    **{"held": held, "best": float(both / all_of)},
                }


def _bars(result: Result) -> Iterator[Figure]:
    """The weight of every word of a text, coloured by what was planted: Figures 10, 11, 19 and 20."""
    import pandas as pd

    texts = result.tables.get("strips")
    if texts is None:
        return
    ranking = result.tables["ranking"]
    rows = []
    for (dataset, model, instance), some in texts.groupby(["dataset", "model", "instance"], sort=False):
        words, scores = some["words"].iloc[0], dict(zip(some["method"], some["scores"], strict=True))
        here = ranking[(ranking["dataset"] == dataset) & (ranking["model"] == model)]["method"]
        first = [name for name in here if name in scores][:1]
        if "rationale" in scores or not first:
            continue
        kinds = [_KINDS[int(np.sign(mark))] for mark in scores[PLANTED]]
        for method in dict.fromkeys([*(["attention"] if "attention" in scores else []), *first]):
            rows += [
                {
                    **{"text": f"{dataset}, {model}, text {instance}", "explainer": method, "position": place},
                    **{"word": word, "share": share, "word is": kind},
                }
                for place, (word, share, kind) in enumerate(
                    zip(words, _shares(scores[method]), kinds, strict=True), start=1
                )
            ]
    if not rows:
        return
    table = pd.DataFrame(rows)
    spec = one_at_a_time(
        table,
        "text",
        facet={"row": {"field": "explainer", "type": "nominal", "title": None, "sort": in_order(table, "explainer")}},
        resolve={"scale": {"y": "independent"}},
        spec={
            "width": 720,
            "height": 110,
            "mark": {"type": "bar", "binSpacing": 0},
            "encoding": {
                "x": {
                    "field": "position",
                    "type": "quantitative",
                    "title": "word of the text",
                    "scale": {"zero": False, "nice": False},
                    "axis": {"grid": False},
                },
                "y": {"field": "share", "type": "quantitative", "title": "share", "axis": {"format": "%"}},
                "color": {
                    "field": "word is",
                    "type": "nominal",
                    "title": None,
                    "scale": {"domain": list(_KINDS.values()), "range": [GREEN, ORANGE, BLUE]},
                },
                "tooltip": [{"field": "word"}, {"field": "word is"}, {"field": "share", "format": ".1%"}],
            },
        },
    )
    caption = (
        "The share of all magnitude that each word of a text gets, from attention and from the explainer that ranks "
        "first; the menu chooses the text. Only the planted words tell the label; a decoy looks like one and tells "
        "nothing."
    )
    yield Figure("words", "Figures 10, 11, 19 and 20: the weight of every word", caption, spec)


def _shares(scores: Sequence[float]) -> list[float]:
    total = sum(map(abs, scores))
    return [abs(score) / total if total > 0 else 0.0 for score in scores]
