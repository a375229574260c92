"""Tables 1 to 6 of Order in the Court (2022), ours beside the published values."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from trueness.protocols.agreement.measures import TAU
from trueness.protocols.result import Result
from trueness.report.table import NOTHING, Table, groups, published_value, spread
from trueness.studies.kinds import Published

_PAPER = {
    "transformer": "Tables 1 and 5: agreement about the transformer",
    "bilstm-additive": "Tables 2 and 6: agreement about the BiLSTM",
}
_VARIANTS = {"as-published": "their computation, our models", "corrected": "corrected methods"}
_FLOW = "attention-flow"


def tables(result: Result, published: Published) -> Iterator[Table]:
    """Agreement of every pair for each model, accuracies, attention flow, differences and noise ceilings."""
    for (model,), mine in groups(result.records, "model"):
        flow = (mine["first"] == _FLOW) | (mine["second"] == _FLOW)
        name = model.replace("/", "-")
        yield _matrix(f"pairs-{name}", _PAPER.get(model, f"Agreement about {model}"), mine[~flow], published)
        if flow.any():
            yield _matrix(f"flow-{name}", f"Table 4: attention flow, {model}", mine[flow], published)
    for name, table in (("accuracy", _accuracy), ("own", _ceilings), ("groups", _groups)):
        if name in result.tables:
            yield table(result.tables[name], published)


def _matrix(name: str, title: str, records: pd.DataFrame, published: Published) -> Table:
    """For each dataset and pair of methods the paper's value, its computation by us, and ours."""
    variants = [name for name in _VARIANTS if (records["variant"] == name).any()]
    rows = []
    for (dataset, model), here in groups(records, "dataset", "model"):
        for couple, some in groups(here, "first", "second"):
            pair = " and ".join(couple)
            ours = [spread(some.loc[some["variant"] == variant, TAU], ddof=1) for variant in variants]
            rows.append((dataset, pair, published_value(published.get((TAU, dataset, model, pair))), *ours))
    header = ("dataset", "methods", "paper", *(_VARIANTS[variant] for variant in variants))
    caption = (
        "Mean Kendall's tau ± standard deviation over instances and seeds; 0 for unrelated rankings, 1 for equal ones. "
        "Agreement is not validity: methods that agree may both be wrong about the model."
    )
    return Table(name, title, caption, header, tuple(rows))


def _accuracy(table: pd.DataFrame, published: Published) -> Table:
    rows = []
    for place, some in groups(table, "dataset", "model"):
        row = [*place]
        for uniform, name in ((True, "uniform attention"), (False, "learned attention")):
            ours = some.loc[some["uniform"] == uniform, "accuracy"]
            row += [published_value(published.get(("accuracy", *place, name))), spread(ours)]
        rows.append(tuple(row))
    header = ("dataset", "model", "uniform: paper", "ours", "learned: paper", "ours")
    caption = (
        "Test accuracy ± standard deviation over seeds. Where uniform attention is as good, the task does not need "
        "attention, and an explanation by it has little to explain."
    )
    return Table("table-3", "Table 3: accuracy with uniform and with learned attention", caption, header, tuple(rows))


def _ceilings(own: pd.DataFrame, _: Published) -> Table:
    against = list(dict.fromkeys(own["against"]))
    rows = []
    for place, here in groups(own, "dataset", "model", "variant"):
        for method, some in groups(here, "method"):
            taus = [some.loc[some["against"] == what, TAU].dropna() for what in against]
            shown = (f"{tau.mean():.3f} (n = {len(tau)})" if len(tau) else NOTHING for tau in taus)
            rows.append((*place, *method, *shown))
    header = ("dataset", "model", "variant", "method", *(f"itself, {what}" for what in against))
    caption = (
        "Mean Kendall's tau of a method with itself: with other random draws on the same model, and on a model trained "
        "from another seed. Because of noise two methods can be expected to agree by about the root of the product of "
        "their values at most."
    )
    return Table("ceilings", "Noise ceilings: methods against themselves", caption, header, tuple(rows))


def _groups(table: pd.DataFrame, _: Published) -> Table:
    header = ("dataset", "model", "variant", "methods")
    rows = tuple(tuple(str(row[name]) for name in header) for row in table.to_dict(orient="records"))
    caption = (
        "Largest sets of methods of which no two agree less than the more stable of them agrees with itself on another "
        "seed (or, with one model, under other draws): one-sided, paired by text, Holm's correction, 5 %."
    )
    return Table("groups", "Methods that cannot be told apart", caption, header, rows)
