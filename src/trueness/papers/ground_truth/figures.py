"""The ranking of explainers by planted evidence, rationales, and words: Figures 10 to 13, 19 and 20."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from trueness.protocols.ground_truth.summary import PLANTED, pooled
from trueness.protocols.result import Result
from trueness.report import figure as draw
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, Figure

_KINDS = {0: "another word", 1: "planted evidence", -1: "a decoy"}


def figures(result: Result) -> Iterator[Figure]:
    """AUROC of every explainer with a dot for every model; rationales; the words of some texts."""
    if "AUROC" in result.records:
        yield _ranking(result)
        yield from _words(result)
        yield from _selections(result)


def _ranking(result: Result) -> Figure:
    keys = ["dataset", "model", "method"]
    means = result.records.groupby([*keys, "seed"], as_index=False, sort=False)[["AUROC"]].mean()
    means["place"] = means["dataset"] + ", " + means["model"]
    ranking = result.tables["ranking"].to_dict(orient="records")
    ranks = {tuple(row[key] for key in keys): number for number, row in enumerate(ranking)}
    means["rank"] = [ranks.get(tuple(row)) for row in means[keys].to_numpy()]
    means = means.dropna(subset=["rank"])
    x = draw.numbers("AUROC", between=(0, 1), title="AUROC")
    y = draw.names("method", sort={"field": "rank"})
    dot = {"x": x, "y": y, "tooltip": draw.tooltip("seed", "AUROC:.3f")}
    spec = draw.one_at_a_time(
        means,
        "place",
        width=420,
        height={"step": 22},
        layer=[
            draw.layer("rule", {"x": {"datum": 0.5}}, color=GREY, strokeDash=[4, 3]),
            draw.layer("tick", {"x": {**x, "aggregate": "mean"}, "y": y}, color=BLUE, thickness=3, size=16),
            draw.layer("circle", dot, color=BLUE, opacity=0.5, size=40),
        ],
    )
    caption = (
        "How well each explanation separates planted words from the others: a dot is a model, the bar their mean, the "
        f"dashed line chance. {means['place'].nunique()} combinations of planting and model; the menu chooses one."
    )
    return Figure("ranking", "Which explainers find the evidence", caption, spec)


def _selections(result: Result) -> Iterator[Figure]:
    """Precision and recall of rationales against the rate of selection, beside the best that is possible."""
    records = result.records
    if "selected" not in records:
        return
    means = pooled(records)
    means["kind"] = [model.split(",")[0] for model in means["model"]]
    dots = means.melt(["dataset", "model", "kind", "seed", "selected"], ["precision", "recall"], "measure", "value")
    lines = [row for dataset, some in records.groupby("dataset", sort=False) for row in _best(str(dataset), some)]
    table = pd.concat([dots, pd.DataFrame(lines)], ignore_index=True)
    x = draw.numbers("selected", title="selected words", axis=draw.PERCENT)
    line = {
        "x": x,
        "y": draw.numbers("best", between=(0, 1), title=None),
        "strokeDash": draw.names_to("held", {"for the split": [1, 0], "text by text": [4, 3]}, title="best possible"),
    }
    dot = {
        "x": x,
        "y": draw.numbers("value", between=(0, 1), title=None),
        "color": draw.names_to("kind", {"rationale-reinforce": BLUE, "rationale-hardkuma": ORANGE}),  # as in the paper
        "tooltip": draw.tooltip("model", "seed", "value:.3f"),
    }
    layers = [
        draw.layer("line", line, only="isValid(datum.best)", color=GREEN),
        draw.layer("point", dot, only="isValid(datum.value)", filled=True, size=50, opacity=0.8),
    ]
    spec = draw.all_at_once(
        table,
        facet={"row": draw.panels(table, "dataset"), "column": draw.names("measure")},
        spec={"width": 260, "height": 200, "layer": layers},
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
        both = {"for the split": min(chosen.sum(), marked.sum()), "text by text": np.minimum(chosen, marked).sum()}
        for held, right in both.items():
            for name, all_of in (("precision", chosen.sum()), ("recall", marked.sum())):
                found = {"held": held, "best": float(right / all_of)}
                yield {"dataset": dataset, "measure": name, "selected": rate, **found}


def _words(result: Result) -> Iterator[Figure]:
    """The weight of every word of a text, coloured by what was planted: Figures 10, 11, 19 and 20."""
    rows = list(_weights(result))
    if not rows:
        return
    table = pd.DataFrame(rows)
    scale = {"zero": False, "nice": False}
    bar = {
        "x": draw.numbers("position", title="word of the text", scale=scale, axis={"grid": False}),
        "y": draw.numbers("share", title="share", axis=draw.PERCENT),
        "color": draw.names_to("word is", dict(zip(_KINDS.values(), (GREEN, ORANGE, BLUE), strict=True))),
        "tooltip": draw.tooltip("word", "word is", "share:.1%"),
    }
    spec = draw.one_at_a_time(
        table,
        "text",
        facet={"row": draw.panels(table, "explainer")},
        resolve=draw.FREE_HEIGHTS,
        spec={"width": 720, "height": 110, **draw.layer("bar", bar, binSpacing=0)},
    )
    caption = (
        "The share of all magnitude that each word of a text gets, from attention and from the explainer that ranks "
        "first; the menu chooses the text. Only the planted words tell the label; a decoy looks like one and tells "
        "nothing."
    )
    yield Figure("words", "Figures 10, 11, 19 and 20: the weight of every word", caption, spec, words=True)


def _weights(result: Result) -> Iterator[dict[str, Any]]:
    """Every word of the texts that were kept, for attention and for the explainer that ranks first."""
    texts, ranking = result.tables.get("strips"), result.tables["ranking"]
    if texts is None:
        return
    for (dataset, model, instance), some in texts.groupby(["dataset", "model", "instance"], sort=False):
        words, scores = some["words"].iloc[0], dict(zip(some["method"], some["scores"], strict=True))
        here = ranking[(ranking["dataset"] == dataset) & (ranking["model"] == model)]["method"]
        first = [name for name in here if name in scores][:1]
        if "rationale" in scores or not first:
            continue
        kinds = [_KINDS[int(np.sign(mark))] for mark in scores[PLANTED]]
        for method in dict.fromkeys([*(["attention"] if "attention" in scores else []), *first]):
            where = {"text": f"{dataset}, {model}, text {instance}", "explainer": method}
            total = sum(map(abs, scores[method])) or 1.0
            for place, (word, score, kind) in enumerate(zip(words, scores[method], kinds, strict=True), start=1):
                yield {**where, "position": place, "word": word, "share": abs(score) / total, "word is": kind}
