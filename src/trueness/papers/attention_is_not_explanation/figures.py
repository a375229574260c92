"""Figures of a study of attention, in the layout of Jain and Wallace 2019."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trueness.protocols.result import Result
from trueness.report.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure, in_order, one_at_a_time

if TYPE_CHECKING:
    import pandas as pd

_GRADIENT, _LOO = "attention, gradient@jw2019", "attention, leave-one-out@jw2019"
_REFERENCE = "gradient@jw2019, leave-one-out@jw2019"
# The paper's orange for the positive class and purple for the negative one, as shades that remain distinct.
_CLASSES = {"0": BLUE, "1": ORANGE, "2": GREEN, "all": GREY}
_COLUMNS = 3


def figures(result: Result) -> list[Figure]:
    """Figures 2 to 8 of the paper, the curve over epsilon, and what attention gains over uniform weights.

    A figure for which the study has nothing is left out.
    """
    return [figure for figure in _figures(result) if figure.spec["data"]["values"]]


def _figures(result: Result) -> Iterator[Figure]:
    yield _histogram(
        result,
        "figure-2",
        f"tau: {_GRADIENT}",
        "Figure 2: Kendall tau of attention and gradients",
        "tau of attention and gradient",
        "Share of test instances, all seeds together, by predicted class. 0 means no relation, 1 the same ranking.",
    )
    yield _histogram(
        result,
        "figure-2-leave-one-out",
        f"tau: {_LOO}",
        "Figure 2 with leave-one-out",
        "tau of attention and leave-one-out",
        "As Figure 2, for leave-one-out: the paper shows these in its online supplement.",
    )
    for name, over, of in (("figure-3", _LOO, "leave-one-out"), ("figure-4", _GRADIENT, "gradients")):
        yield _differences(result, name, over, of)
    yield _encoders(result)
    yield _density(
        result,
        "figure-6",
        ("permutation",),
        "Figure 6: change of output when attention is permuted",
        "median change of output (total variation)",
        "Median over random permutations against the largest attention weight. Left: nothing changes although a single "
        "token has much attention (top).",
    )
    for method, name in (("exact", "figure-7"), ("search@jw2019", "figure-7-search")):
        yield _histogram(
            result,
            name,
            method,
            "Figure 7: largest divergence within epsilon"
            + (", the strongest adversary" if method == "exact" else ", the published search"),
            "Jensen-Shannon divergence",
            "Divergence of the strongest adversarial attention from the observed one; ln 2 = 0.693 is the most there "
            "is. Exact for two classes and single texts; otherwise the best one found."
            if method == "exact"
            else "What the authors' code finds and counts (change of output up to 0.05).",
        )
    yield _density(
        result,
        "figure-8",
        ("exact", "best found"),
        "Figure 8: largest divergence against the largest attention weight",
        "Jensen-Shannon divergence of the strongest adversary",
        "If peaked attention were hard to contradict, the upper rows would lie further left.",
    )
    yield _curve(result)
    yield _gain(result)


def _by_dataset(table: pd.DataFrame, mark: dict[str, Any], encoding: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """Small multiples, one per dataset."""
    return one_at_a_time(
        table,
        facet={"field": "dataset", "type": "nominal", "title": None, "sort": in_order(table, "dataset")},
        columns=_COLUMNS,
        spec={"mark": mark, "encoding": encoding, "width": 220, "height": 130},
        **rest,
    )


def _histogram(result: Result, name: str, quantity: str, title: str, axis: str, caption: str) -> Figure:
    table = result.tables["histograms"]
    wanted = [quantity, "best found"] if quantity == "exact" else [quantity]
    table = table[table["quantity"].isin(wanted)].drop(columns="quantity")
    classes = [name for name in _CLASSES if (table["class"] == name).any()]
    scale = {"domain": classes, "range": [_CLASSES[name] for name in classes]}
    limits = {"domain": [-1, 1] if quantity.startswith("tau") else [0, 0.7]}
    encoding = {
        "x": {"field": "low", "type": "quantitative", "title": axis, "bin": {"binned": True}, "scale": limits},
        "x2": {"field": "high"},
        "y": {"field": "share", "type": "quantitative", "title": "share of instances", "stack": None},
        "color": {"field": "class", "type": "nominal", "title": "predicted class", "scale": scale},
        "tooltip": [{"field": "class"}, {"field": "low"}, {"field": "high"}, {"field": "share", "format": ".3f"}],
    }
    mark = {"type": "bar", "opacity": 0.55, "binSpacing": 0}
    spec = _by_dataset(table, mark, encoding, resolve={"scale": {"y": "independent"}})
    return Figure(name, title, caption, spec)


def _mean_tau(result: Result, pair: str) -> pd.DataFrame:
    table = result.tables["correlations"]
    chosen = table[(table["pair"] == pair) & table["mean"].notna()]
    return chosen.set_index(["dataset", "model", "class", "seed"])["mean"].astype(float).to_frame("tau")


def _differences(result: Result, name: str, over: str, of: str) -> Figure:
    gap = (_mean_tau(result, _REFERENCE)["tau"] - _mean_tau(result, over)["tau"]).dropna().rename("difference")
    table = gap.reset_index()
    title = f"Figure {name[-1]}: gradients with leave-one-out, minus attention with {of}"
    caption = (
        f"Difference of mean tau: gradients with leave-one-out, minus attention with {of}. A dot is a seed, a bar "
        "their mean. Right of 0 the two reference measures agree more with one another than attention does."
    )
    return Figure(name, title, caption, _bars(table, "difference of mean tau"))


def _encoders(result: Result) -> Figure:
    tau = _mean_tau(result, _LOO).reset_index()
    encoder = tau["model"].str.split("-").str[0]
    attention = tau["model"].str.split("-").str[1]
    keys = ["dataset", "class", "seed", "attention"]
    tau = tau.assign(attention=attention)
    average = tau[encoder == "average"].set_index(keys)["tau"]
    lstm = tau[encoder == "bilstm"].set_index(keys)["tau"]
    table = (average - lstm).dropna().rename("difference").reset_index()
    table["model"] = "average minus BiLSTM, " + table["attention"]
    caption = (
        "Difference of mean tau of attention and leave-one-out between the average encoder and the BiLSTM. Right of 0 "
        "attention agrees more with leave-one-out where tokens do not see one another."
    )
    return Figure("figure-5", "Figure 5: average encoder minus BiLSTM", caption, _bars(table, "difference of mean tau"))


def _bars(table: pd.DataFrame, axis: str) -> dict[str, Any]:
    y = {"field": "place", "type": "nominal", "title": None, "sort": None}
    table = table.assign(place=table["dataset"] + ", " + table["class"].replace({"all": "all classes"}))
    table = table[(table["class"] != "all") | ~table["dataset"].isin(table[table["class"] != "all"]["dataset"])]
    x = {"field": "difference", "type": "quantitative", "title": axis}
    return one_at_a_time(
        table,
        width=520,
        height={"step": 20},
        layer=[
            {
                "mark": {"type": "bar", "color": BLUE, "opacity": 0.45, "height": 11},
                "encoding": {"x": {**x, "aggregate": "mean"}, "y": y},
            },
            {
                "mark": {"type": "circle", "color": VERMILION, "size": 24, "opacity": 0.9},
                "encoding": {"x": x, "y": y, "tooltip": [{"field": "seed"}, {"field": "difference", "format": ".3f"}]},
            },
            {
                "data": {"values": [{"difference": 0}]},
                "mark": {"type": "rule"},
                "encoding": {"x": {"field": "difference", "type": "quantitative", "title": axis}},
            },
        ],
    )


def _density(result: Result, name: str, quantities: tuple[str, ...], title: str, axis: str, caption: str) -> Figure:
    table = result.tables["densities"]
    table = table[table["quantity"].isin(quantities)].drop(columns="quantity")
    limits = {"domain": [0, 1] if "permutation" in quantities else [0, 0.7]}
    encoding = {
        "x": {"field": "low", "type": "quantitative", "title": axis, "bin": {"binned": True}, "scale": limits},
        "x2": {"field": "high"},
        "y": {
            "field": "attention_low",
            "type": "quantitative",
            "title": "largest attention weight",
            "bin": {"binned": True},
            "scale": {"domain": [0, 1]},
        },
        "y2": {"field": "attention_high"},
        "color": {
            "field": "share",
            "type": "quantitative",
            "title": "share of the row",
            "scale": {"scheme": "blues", "type": "sqrt"},
        },
        "tooltip": [{"field": "attention_low"}, {"field": "low"}, {"field": "count"}],
    }
    spec = _by_dataset(table, {"type": "rect"}, encoding)
    return Figure(name, title, f"{caption} Each row of cells sums to 1.", spec)


def _curve(result: Result) -> Figure:
    table = result.tables["epsilons"]
    y = {"type": "quantitative", "title": "divergence", "scale": {"domain": [0, 0.7]}}
    x = {"field": "epsilon", "type": "quantitative", "title": "allowed change of output (epsilon)"}
    colour = {"field": "dataset", "type": "nominal", "title": None, "sort": None, "legend": {"symbolOpacity": 1}}
    spec = one_at_a_time(
        table,
        width=520,
        height=260,
        layer=[
            {
                "mark": {"type": "area", "opacity": 0.1},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "lower_quartile"},
                    "y2": {"field": "upper_quartile"},
                    "color": colour,
                },
            },
            {
                "mark": {"type": "line", "point": True},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "mean"},
                    "color": colour,
                    "tooltip": [
                        {"field": "dataset"},
                        {"field": "epsilon"},
                        {"field": "mean", "format": ".3f"},
                        {"field": "upper_bound", "format": ".3f"},
                        {"field": "quantity"},
                    ],
                },
            },
        ],
    )
    caption = (
        "Mean divergence of the strongest adversary over the change of output it may cause, with the middle half of "
        "the instances: exact for two classes and single texts, otherwise the best found (its upper bound is in the "
        "tooltip)."
    )
    return Figure("epsilon", "The strongest adversary over epsilon", caption, spec)


def _gain(result: Result) -> Figure:
    metrics = result.tables["metrics"]
    encoder = metrics["model"].str.split("-").str[0]
    uniform = metrics[metrics["model"].str.endswith("-uniform")].assign(encoder=encoder)
    reference = uniform.set_index(["dataset", "encoder", "seed"])["value"]
    learned = metrics[~metrics["model"].str.endswith("-uniform")].assign(encoder=encoder)
    joined = learned.join(reference.rename("uniform"), on=["dataset", "encoder", "seed"])
    table = joined.assign(difference=joined["value"] - joined["uniform"], **{"class": "all"}).dropna()
    caption = (
        "Test performance (macro-F1 for two classes, accuracy for more) of learned minus uniform attention; a dot is a "
        "seed. Where nothing is gained, attention is not needed and tests of it as an explanation are void."
    )
    spec = _bars(table.drop(columns=["metric", "encoder"]), "gain over uniform attention")
    return Figure("uniform", "What attention gains over uniform weights", caption, spec)
