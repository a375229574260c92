"""The ranking of explainers by planted evidence, as a table and a figure."""

from __future__ import annotations

from collections.abc import Iterator

from trueness.protocols.ground_truth.summary import pooled
from trueness.protocols.result import Result
from trueness.report.compare import published_values
from trueness.report.figure import BLUE, GREY, ORANGE, Figure, in_order, one_at_a_time
from trueness.report.table import Table


def ground_truth_tables(result: Result) -> list[Table]:
    """The ranking, and whether the models had to use the evidence."""
    ranking, usage = result.tables["ranking"], result.tables["usage"]
    rows = []
    for (dataset, model), some in ranking.groupby(["dataset", "model"], sort=False) if len(ranking) else []:
        for place, row in enumerate(some.to_dict(orient="records"), start=1):
            rows.append(
                (
                    str(dataset),
                    str(model),
                    str(place),
                    str(row["method"]),
                    f"{row['AUROC']:.3f}",
                    f"{row['low']:.3f}",
                    f"{row['attribution share']:.1%} of {row['evidence size']:.1%}",
                    f"{row['top token']:.0%}",
                    str(row["models"]),
                )
            )
    header = (
        *("dataset", "model", "place", "explainer", "AUROC", "lower end", "attribution share of evidence"),
        *("top token is evidence", "models"),
    )
    caption = (
        "By the lower end of the 95 % interval of AUROC over models: the chance that a planted word ranks above "
        "another, 0.5 for an explanation that knows nothing. Attribution share: of all magnitude, beside the share of "
        "the words that are evidence, which a constant explanation would get. Only models that verifiably used it."
    )
    found = [Table("ranking", "Which explainers find the evidence", caption, header, tuple(rows))]
    lines = [
        (
            str(row["dataset"]),
            str(row["model"]),
            str(row["seed"]),
            f"{row['accuracy']:.3f}",
            f"{row['bound']:.3f}",
            f"{row['p_value']:.1e}",
            f"{row['least_share']:.0%}",
            "yes" if row["proven"] else "no: left out",
        )
        for row in usage.to_dict(orient="records")
    ]
    columns = ("dataset", "model", "seed", "accuracy", "blind at best", "p", "decided by evidence", "used it")
    text = (
        "Blind at best: no model that does not see the evidence has a higher expected accuracy; p: the exact binomial "
        "chance of so many right answers without it; decided by evidence: the least share of examples that must be."
    )
    return [*found, *_table_1(result), Table("usage", "Did the models have to use it?", text, columns, tuple(lines))]


def _table_1(result: Result) -> Iterator[Table]:
    """How magnitude is shared among evidence, decoys and other words: the paper's table, for all explainers."""
    records, published = result.records, published_values("ground-truth")
    if "attribution share" not in records:
        return
    rows = []
    for (dataset, model, method), some in records.groupby(["dataset", "model", "method"], sort=False):
        means = some.groupby("seed")[["attribution share", "evidence size", "decoy share", "decoy size"]].mean()
        row = [str(dataset), str(model), str(method)]
        for share, size in (("attribution share", "evidence size"), ("decoy share", "decoy size")):
            fact = published.get((share, str(dataset), str(model), str(method)))
            row.append("–" if fact is None else str(fact["published"]))
            there = means[size].mean() > 0
            spread = f"{means[share].mean():.1%} ± {means[share].std(ddof=0):.1%} at {means[size].mean():.1%}"
            row.append(spread if there else "–")
        other = 1 - means["attribution share"] - means["decoy share"].fillna(0.0)
        rest = 1 - means["evidence size"] - means["decoy size"]
        row.append(f"{other.mean():.1%} ± {other.std(ddof=0):.1%} at {rest.mean():.1%}")
        rows.append(tuple(row))
    header = ("dataset", "model", "explainer", "evidence: paper", "evidence", "decoys: paper", "decoys", "other words")
    caption = (
        "Share of all magnitude, mean over models ± standard deviation, at the share of the words. An explanation that "
        "says nothing gives every word the same, so that both shares are equal."
    )
    yield Table("table-1", "Table 1: where the magnitude goes", caption, header, tuple(rows))


def ground_truth_figures(result: Result) -> Iterator[Figure]:
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
    lines = []
    for dataset, here in means.groupby("dataset", sort=False):
        size = float(here["evidence size"].mean())
        for rate in [step / 100 for step in range(1, 26)]:
            best = {"precision": min(1.0, size / rate), "recall": min(1.0, rate / size)}
            lines += [
                {"dataset": dataset, "measure": name, "selected": rate, "best": value} for name, value in best.items()
            ]
    table = pd.concat([dots, pd.DataFrame(lines)], ignore_index=True)
    x = {"field": "selected", "type": "quantitative", "title": "selected words", "axis": {"format": "%"}}
    scale = {"domain": [0, 1]}
    spec = one_at_a_time(
        table,
        "dataset",
        facet={"column": {"field": "measure", "type": "nominal", "title": None}},
        spec={
            "width": 260,
            "height": 200,
            "layer": [
                {
                    "transform": [{"filter": "isValid(datum.best)"}],
                    "mark": {"type": "line", "color": GREY},
                    "encoding": {"x": x, "y": {"field": "best", "type": "quantitative", "scale": scale, "title": None}},
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
                            "scale": {"range": [BLUE, ORANGE]},
                        },
                        "tooltip": [{"field": "model"}, {"field": "seed"}, {"field": "value", "format": ".3f"}],
                    },
                },
            ],
        },
    )
    caption = (
        "A dot is a rationale model. The grey line is the best that is possible where the rate of selection holds for "
        "the whole test split: all selected words are evidence, or all evidence is selected."
    )
    yield Figure("rationales", "Figures 12 and 13: precision and recall of rationales", caption, spec)
