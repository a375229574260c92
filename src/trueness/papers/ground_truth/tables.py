"""Which explainers find planted evidence, whether models used it, and Table 1 of Zhou et al. 2022."""

from __future__ import annotations

from collections.abc import Iterator

from trueness.protocols.result import Result
from trueness.report.table import Table
from trueness.studies.kinds import Published


def tables(result: Result, published: Published) -> list[Table]:
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
    return [
        *found,
        *_table_1(result, published),
        Table("usage", "Did the models have to use it?", text, columns, tuple(lines)),
    ]


def _table_1(result: Result, published: Published) -> Iterator[Table]:
    """How magnitude is shared among evidence, decoys and other words: the paper's table, for all explainers."""
    records = result.records
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
