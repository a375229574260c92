"""Tables 1 to 6 of Order in the Court (2022), ours beside the published values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trueness.protocols.agreement.measures import TAU
from trueness.protocols.result import Result
from trueness.report.table import Table
from trueness.studies.kinds import Published

if TYPE_CHECKING:
    import pandas as pd

_PAPER = {
    "transformer": "Tables 1 and 5: agreement about the transformer",
    "bilstm-additive": "Tables 2 and 6: agreement about the BiLSTM",
}
_FLOW = "attention-flow"


def tables(result: Result, published: Published) -> list[Table]:
    """Agreement of every pair for each model, accuracies, attention flow, differences and noise ceilings."""
    return [*_pairs(result, published), *_accuracy(result, published), *_ceilings(result), *_groups(result)]


def _pairs(result: Result, published: Published) -> Iterator[Table]:
    records = result.records
    for model in dict.fromkeys(records["model"]):
        mine = records[records["model"] == model]
        flow = (mine["first"] == _FLOW) | (mine["second"] == _FLOW)
        name = str(model).replace("/", "-")
        title = _PAPER.get(model, f"Agreement about {model}")
        yield _matrix(f"pairs-{name}", title, mine[~flow], published)
        if flow.any():
            yield _matrix(f"flow-{name}", f"Table 4: attention flow, {model}", mine[flow], published)


def _matrix(name: str, title: str, records: pd.DataFrame, published: Published) -> Table:
    """For each dataset and pair of methods the paper's value, its computation by us, and ours."""
    variants = [name for name in ("as-published", "corrected") if name in set(records["variant"])]
    means = records.groupby(["dataset", "variant", "first", "second"], sort=False)[TAU].agg(["mean", "std"])
    model = records["model"].iloc[0]
    rows = []
    for dataset in dict.fromkeys(records["dataset"]):
        for one, other in _couples(records[records["dataset"] == dataset]):
            fact = published.get((TAU, dataset, model, f"{one} and {other}"))
            row = [dataset, f"{one} and {other}", "–" if fact is None else str(fact["published"])]
            for variant in variants:
                key = (dataset, variant, one, other)
                row.append(f"{means.loc[key, 'mean']:.3f} ± {means.loc[key, 'std']:.3f}" if key in means.index else "–")
            rows.append(tuple(row))
    names = {"as-published": "their computation, our models", "corrected": "corrected methods"}
    header = ("dataset", "methods", "paper", *(names[variant] for variant in variants))
    caption = (
        "Mean Kendall's tau ± standard deviation over instances and seeds; 0 for unrelated rankings, 1 for equal ones. "
        "Agreement is not validity: methods that agree may both be wrong about the model."
    )
    return Table(name, title, caption, header, tuple(rows))


def _couples(records: pd.DataFrame) -> list[tuple[str, str]]:
    pairs = records[["first", "second"]].drop_duplicates().itertuples(index=False)
    return [(str(one), str(other)) for one, other in pairs]


def _accuracy(result: Result, published: Published) -> Iterator[Table]:
    table = result.tables.get("accuracy")
    if table is None:
        return
    rows = []
    for (dataset, model), some in table.groupby(["dataset", "model"], sort=False):
        row = [str(dataset), str(model)]
        for uniform, name in ((True, "uniform attention"), (False, "learned attention")):
            fact = published.get(("accuracy", str(dataset), str(model), name))
            values = some.loc[some["uniform"] == uniform, "accuracy"]
            row.append("–" if fact is None else str(fact["published"]))
            row.append(f"{values.mean():.3f} ± {values.std(ddof=0):.3f}" if len(values) else "–")
        rows.append(tuple(row))
    header = ("dataset", "model", "uniform: paper", "ours", "learned: paper", "ours")
    caption = (
        "Test accuracy ± standard deviation over seeds. Where uniform attention is as good, the task does not need "
        "attention, and an explanation by it has little to explain."
    )
    yield Table("table-3", "Table 3: accuracy with uniform and with learned attention", caption, header, tuple(rows))


def _ceilings(result: Result) -> Iterator[Table]:
    own = result.tables.get("own")
    if own is None:
        return
    rows = []
    against = list(dict.fromkeys(own["against"]))
    for (dataset, model, variant), some in own.groupby(["dataset", "model", "variant"], sort=False):
        for method in dict.fromkeys(some["method"]):
            row = [str(dataset), str(model), str(variant), str(method)]
            for what in against:
                values = some.loc[(some["method"] == method) & (some["against"] == what), TAU].dropna()
                row.append(f"{values.mean():.3f} (n = {len(values)})" if len(values) else "–")
            rows.append(tuple(row))
    header = ("dataset", "model", "variant", "method", *(f"itself, {what}" for what in against))
    caption = (
        "Mean Kendall's tau of a method with itself: with other random draws on the same model, and on a model trained "
        "from another seed. No two methods can be expected to agree more than a noisy method agrees with itself."
    )
    yield Table("ceilings", "Noise ceilings: methods against themselves", caption, header, tuple(rows))


def _groups(result: Result) -> Iterator[Table]:
    groups = result.tables.get("groups")
    if groups is None:
        return
    rows = tuple(
        (str(row["dataset"]), str(row["model"]), str(row["variant"]), str(row["methods"]))
        for row in groups.to_dict(orient="records")
    )
    caption = (
        "Largest sets of methods of which no two agree less than the more stable of them agrees with itself on another "
        "seed (or, with one model, under other draws): one-sided, paired by text, Holm's correction, 5 %."
    )
    header = ("dataset", "model", "variant", "methods")
    yield Table("groups", "Methods that cannot be told apart", caption, header, rows)


def order_by_likeness(names: list[str], tau: Any) -> list[str]:
    """Names in the order of a hierarchical clustering by mean tau, so that methods that agree stand together."""
    import numpy as np
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(names) < 3:
        return names
    apart = np.zeros((len(names), len(names)))
    for (i, one), (j, other) in itertools.combinations(enumerate(names), 2):
        apart[i, j] = apart[j, i] = 1 - tau(one, other)
    return [names[place] for place in leaves_list(linkage(squareform(apart), "average", optimal_ordering=True))]
