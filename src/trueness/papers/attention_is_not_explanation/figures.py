"""Figures of a study of attention, in the layout of Jain and Wallace 2019."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from trueness.protocols.result import Result
from trueness.report import figure as draw
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure

_GRADIENT, _LOO = "attention, gradient@jw2019", "attention, leave-one-out@jw2019"
_REFERENCE = "gradient@jw2019, leave-one-out@jw2019"
# The paper's orange for the positive class and purple for the negative one, as shades that remain distinct.
_CLASSES = {"0": BLUE, "1": ORANGE, "2": GREEN, "all": GREY}


def figures(result: Result) -> list[Figure]:
    """Figures 2 to 8 of the paper, the curve over epsilon, and what attention gains over uniform weights.

    A figure for which the study has nothing is left out.
    """
    return [figure for figure in _figures(result) if figure.spec["data"]["values"]]


def _figures(result: Result) -> Iterator[Figure]:
    yield Figure(
        "figure-2",
        "Figure 2: Kendall tau of attention and gradients",
        "Share of test instances, all seeds together, by predicted class. 0 means no relation, 1 the same ranking.",
        _histogram(result, "tau of attention and gradient", f"tau: {_GRADIENT}", between=(-1, 1)),
    )
    yield Figure(
        "figure-2-leave-one-out",
        "Figure 2 with leave-one-out",
        "As Figure 2, for leave-one-out: the paper shows these in its online supplement.",
        _histogram(result, "tau of attention and leave-one-out", f"tau: {_LOO}", between=(-1, 1)),
    )
    yield _differences(result, 3, _LOO, "leave-one-out")
    yield _differences(result, 4, _GRADIENT, "gradients")
    yield _encoders(result)
    yield Figure(
        "figure-6",
        "Figure 6: change of output when attention is permuted",
        "Median over random permutations against the largest attention weight. Left: nothing changes although a single "
        "token has much attention (top). Each row of cells sums to 1.",
        _density(result, "median change of output (total variation)", "permutation", between=(0, 1)),
    )
    yield Figure(
        "figure-7",
        "Figure 7: largest divergence within epsilon, exact or the best found",
        "Divergence of adversarial attention from the observed one; ln 2 = 0.693 is the most there is. "
        "Exact for two classes and single texts; otherwise the best one found: the strongest may diverge more, at "
        "most by the upper bound in the curve over epsilon.",
        _histogram(result, "Jensen-Shannon divergence", "exact", "best found"),
    )
    yield Figure(
        "figure-7-search",
        "Figure 7: largest divergence within epsilon, the published search",
        "What the authors' code finds and counts (change of output up to 0.05).",
        _histogram(result, "Jensen-Shannon divergence", "search@jw2019"),
    )
    yield Figure(
        "figure-8",
        "Figure 8: largest divergence against the largest attention weight",
        "If peaked attention were hard to contradict, the upper rows would lie further left. Each row of cells sums "
        "to 1. Exact for two classes and single texts; otherwise the best one found.",
        _density(result, "Jensen-Shannon divergence of the adversary", "exact", "best found"),
    )
    yield _curve(result)
    yield _gain(result)


def _by_dataset(table: pd.DataFrame, drawn: draw.Spec, **rest: Any) -> draw.Spec:
    """Small multiples, one per dataset."""
    spec = {**drawn, "width": 220, "height": 130}
    return draw.one_at_a_time(table, facet=draw.panels(table, "dataset"), columns=3, spec=spec, **rest)


def _chosen(table: pd.DataFrame, quantities: tuple[str, ...]) -> pd.DataFrame:
    return table[table["quantity"].isin(quantities)].drop(columns="quantity")


def _histogram(result: Result, axis: str, *quantities: str, between: tuple[float, float] = (0, 0.7)) -> draw.Spec:
    table = _chosen(result.tables["histograms"], quantities)
    classes = {name: colour for name, colour in _CLASSES.items() if (table["class"] == name).any()}
    encoding = {
        "x": draw.numbers("low", title=axis, bin={"binned": True}, between=between),
        "x2": {"field": "high"},
        "y": draw.numbers("share", title="share of instances", stack=None),
        "color": draw.names_to("class", classes, title="predicted class"),
        "tooltip": draw.tooltip("class", "low", "high", "share:.3f"),
    }
    return _by_dataset(table, draw.layer("bar", encoding, opacity=0.55, binSpacing=0), resolve=draw.FREE_HEIGHTS)


def _mean_tau(result: Result, pair: str) -> pd.Series:
    table = result.tables["correlations"]
    chosen = table[(table["pair"] == pair) & table["mean"].notna()]
    return chosen.set_index(["dataset", "model", "class", "seed"])["mean"].astype(float)


def _differences(result: Result, number: int, over: str, of: str) -> Figure:
    gap = (_mean_tau(result, _REFERENCE) - _mean_tau(result, over)).dropna().rename("difference")
    caption = (
        f"Difference of mean tau: gradients with leave-one-out, minus attention with {of}. A dot is a seed, a bar "
        "their mean. Right of 0 the two reference measures agree more with one another than attention does."
    )
    title = f"Figure {number}: gradients with leave-one-out, minus attention with {of}"
    return Figure(f"figure-{number}", title, caption, _bars(gap.reset_index(), "difference of mean tau"))


def _encoders(result: Result) -> Figure:
    tau = _mean_tau(result, _LOO).rename("tau").reset_index()
    encoder, tau["attention"] = (tau["model"].str.split("-").str[part] for part in (0, 1))
    keys = ["dataset", "class", "seed", "attention"]
    average, lstm = (tau[encoder == name].set_index(keys)["tau"] for name in ("average", "bilstm"))
    table = (average - lstm).dropna().rename("difference").reset_index()
    table["model"] = "average minus BiLSTM, " + table["attention"]
    caption = (
        "Difference of mean tau of attention and leave-one-out between the average encoder and the BiLSTM. Right of 0 "
        "attention agrees more with leave-one-out where tokens do not see one another."
    )
    return Figure("figure-5", "Figure 5: average encoder minus BiLSTM", caption, _bars(table, "difference of mean tau"))


def _bars(table: pd.DataFrame, axis: str) -> draw.Spec:
    table = table.assign(place=table["dataset"] + ", " + table["class"].replace({"all": "all classes"}))
    table = table[(table["class"] != "all") | ~table["dataset"].isin(table[table["class"] != "all"]["dataset"])]
    x, y = draw.numbers("difference", title=axis), draw.names("place", sort=None)
    dot = {"x": x, "y": y, "tooltip": draw.tooltip("seed", "difference:.3f")}
    return draw.one_at_a_time(
        table,
        width=520,
        height={"step": 20},
        layer=[
            draw.layer("bar", {"x": {**x, "aggregate": "mean"}, "y": y}, color=BLUE, opacity=0.45, height=11),
            draw.layer("circle", dot, color=VERMILION, size=24, opacity=0.9),
            {"data": {"values": [{"difference": 0}]}, **draw.layer("rule", {"x": x})},
        ],
    )


def _density(result: Result, axis: str, *quantities: str, between: tuple[float, float] = (0, 0.7)) -> draw.Spec:
    table = _chosen(result.tables["densities"], quantities)
    encoding = {
        "x": draw.numbers("low", title=axis, bin={"binned": True}, between=between),
        "x2": {"field": "high"},
        "y": draw.numbers("attention_low", title="largest attention weight", bin={"binned": True}, between=(0, 1)),
        "y2": {"field": "attention_high"},
        "color": draw.numbers("share", title="share of the row", scale={"scheme": "blues", "type": "sqrt"}),
        "tooltip": draw.tooltip("attention_low", "low", "count"),
    }
    return _by_dataset(table, draw.layer("rect", encoding))


def _curve(result: Result) -> Figure:
    y: dict[str, Any] = {"title": "divergence", "between": (0, 0.7)}
    both = {
        "x": draw.numbers("epsilon", title="allowed change of output (epsilon)"),
        "color": draw.names("dataset", sort=None, legend={"symbolOpacity": 1}),
    }
    band = {**both, "y": draw.numbers("lower_quartile", **y), "y2": {"field": "upper_quartile"}}
    shown = draw.tooltip("dataset", "epsilon", "mean:.3f", "upper_bound:.3f", "quantity")
    line = {**both, "y": draw.numbers("mean", **y), "tooltip": shown}
    layers = [draw.layer("area", band, opacity=0.1), draw.layer("line", line, point=True)]
    caption = (
        "Mean divergence of the adversary over the change of output it may cause, with the middle half of "
        "the instances: exact for two classes and single texts, otherwise the best found (its upper bound is in the "
        "tooltip)."
    )
    spec = draw.one_at_a_time(result.tables["epsilons"], width=520, height=260, layer=layers)
    return Figure("epsilon", "The adversary over epsilon", caption, spec)


def _gain(result: Result) -> Figure:
    metrics = result.tables["metrics"]
    metrics = metrics.assign(encoder=metrics["model"].str.split("-").str[0])
    keys, uniform = ["dataset", "encoder", "seed"], metrics["model"].str.endswith("-uniform")
    joined = metrics[~uniform].join(metrics[uniform].set_index(keys)["value"].rename("uniform"), on=keys)
    table = joined.assign(difference=joined["value"] - joined["uniform"], **{"class": "all"}).dropna()
    caption = (
        "Test performance (macro-F1 for two classes, accuracy for more) of learned minus uniform attention; a dot is a "
        "seed. Where nothing is gained, attention is not needed and tests of it as an explanation are void."
    )
    spec = _bars(table.drop(columns=["metric", "encoder"]), "gain over uniform attention")
    return Figure("uniform", "What attention gains over uniform weights", caption, spec)
