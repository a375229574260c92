"""Which explainers find planted evidence, whether models used it, and Table 1 of Zhou et al. 2022."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from trueness.protocols.result import Result
from trueness.report.table import NOTHING, Table, groups, published_value, spread
from trueness.studies.kinds import Published


def tables(result: Result, published: Published) -> Iterator[Table]:
    """The ranking, where the magnitude goes, and whether the models had to use the evidence."""
    yield _ranking(result.tables["ranking"])
    if "attribution share" in result.records:
        yield _table_1(result.records, published)
    yield _usage(result.tables["usage"])


def _ranking(ranking: pd.DataFrame) -> Table:
    rows = []
    for where, some in groups(ranking, "dataset", "model"):
        for row in some.to_dict(orient="records"):
            share = f"{row['attribution share']:.1%} ({row['evidence size']:.1%})"
            ends = NOTHING if pd.isna(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}"
            measured = (f"{row['AUROC']:.3f}", ends, share, f"{row['top token']:.0%}")
            rank = f"{row['rank']}{' (tie)' if row['tie'] else ''}"
            rows.append((*where, rank, str(row["method"]), *measured, str(row["models"])))
    header = (
        *("dataset", "model", "rank", "explainer", "AUROC", "95 % interval", "share of the magnitude (of the words)"),
        *("top word is planted", "models"),
    )
    caption = (
        "AUROC: the chance that a planted word ranks above another, 0.5 for an explanation that knows nothing; mean "
        "over models. A tie: the difference of two explainers, model by model, may be chance (Holm's correction over "
        "all pairs). Share of the magnitude: how much of it lies on planted words, and how many of the words these "
        "are, which is what a constant explanation would get. Only models that verifiably used what was planted."
    )
    return Table("ranking", "Which explainers find the evidence", caption, header, tuple(rows))


def _usage(usage: pd.DataFrame) -> Table:
    forms = {"dataset": "", "model": "", "seed": "", "accuracy": ".3f", "bound": ".3f", "p_value": ".1e"}
    rows = tuple(
        (
            *(format(row[name], form) for name, form in forms.items()),
            f"{row['least_share']:.0%}",
            "yes" if row["proven"] else "no: left out",
        )
        for row in usage.to_dict(orient="records")
    )
    header = ("dataset", "model", "seed", "accuracy", "best without it", "p", "decided by evidence", "used it")
    caption = (
        "Best without it: no model that is blind to the evidence has a higher expected accuracy; p: the exact binomial "
        "chance of so many right answers without it; decided by evidence: the least share of examples that must be."
    )
    return Table("usage", "Did the models have to use it?", caption, header, rows)


def _table_1(records: pd.DataFrame, published: Published) -> Table:
    """How magnitude is shared among evidence, decoys and other words: the paper's table, for all explainers."""
    pairs = {"attribution share": "evidence size", "decoy share": "decoy size"}
    rows = []
    for place, some in groups(records, "dataset", "model", "method"):
        means = some.groupby("seed")[[*pairs, *pairs.values()]].mean()
        row = [*place]
        for share, size in pairs.items():
            shown = _at(means[share], means[size]) if means[size].mean() > 0 else NOTHING
            row += [published_value(published.get((share, *place))), shown]
        other = 1 - means["attribution share"] - means["decoy share"].fillna(0.0)
        rows.append((*row, _at(other, 1 - means["evidence size"] - means["decoy size"])))
    header = ("dataset", "model", "explainer", "evidence: paper", "evidence", "decoys: paper", "decoys", "other words")
    caption = (
        "Share of all magnitude, mean over models ± standard deviation, at the share of the words. An explanation that "
        "says nothing gives every word the same, so that both shares are equal."
    )
    return Table("table-1", "Table 1: where the magnitude goes", caption, header, tuple(rows))


def _at(share: pd.Series, size: pd.Series) -> str:
    return f"{spread(share, '.1%')} at {size.mean():.1%}"
