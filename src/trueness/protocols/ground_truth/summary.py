"""Which explanations find planted evidence, of models that verifiably used it: scores, ranking, warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trueness.protocols.claim_helpers import FEWEST_SEEDS
from trueness.protocols.result import Abstention, Result, ResultWarning, Score, bounds
from trueness.stats import Interval, Undefined, t_interval, within

if TYPE_CHECKING:
    import pandas as pd

PLANTED = "planted (orange: decoys)"
LEVEL = 0.01
"""Of the test that a model's accuracy exceeds the bound."""
MISLED = 1.5
"""Decoys that get so many times their share of the words mislead."""
_READ: dict[str, tuple[Literal["higher is better", "lower is better"], float | None, float]] = {
    "AUROC": ("higher is better", 0.5, 1.0),
    "attribution share": ("higher is better", None, 1.0),
    "precision": ("higher is better", None, 1.0),
    "top token": ("higher is better", None, 1.0),
    "mean rank": ("lower is better", 0.5, 0.0),
}


@dataclass(frozen=True)
class Cell:
    """One planting of one dataset and one kind of model, over seeds."""

    dataset: str
    model: str
    records: pd.DataFrame
    """seed, method, label, and the measures, of models that used the evidence."""
    facts: tuple[dict[str, Any], ...]
    """Of every model: seed, accuracy, bound, p_value, least_share, proven, refused."""
    classes: tuple[str, ...]

    @property
    def where(self) -> str:
        """In words."""
        return f"{self.dataset}, {self.model}"

    @property
    def proven(self) -> list[dict[str, Any]]:
        """The models that used the evidence."""
        return [fact for fact in self.facts if fact["proven"]]

    @property
    def methods(self) -> list[str]:
        """In order."""
        return list(dict.fromkeys(self.records["method"])) if len(self.records) else []

    def by_seed(self, method: str, measure: str, label: int | None = None) -> pd.Series:
        """The mean of each model."""
        rows = self.records[self.records["method"] == method]
        rows = rows if label is None else rows[rows["label"] == label]
        means: pd.Series = rows.groupby("seed")[measure].mean().dropna()
        return means


def summarise(cells: Sequence[Cell]) -> Result:
    """The result of a study or of a dry run."""
    import pandas as pd

    records = [cell.records.assign(dataset=cell.dataset, model=cell.model) for cell in cells if len(cell.records)]
    facts = [
        {"dataset": cell.dataset, "model": cell.model, **{name: fact[name] for name in fact if name != "refused"}}
        for cell in cells
        for fact in cell.facts
    ]
    return Result(
        records=pd.concat(records, ignore_index=True) if records else pd.DataFrame({"method": []}),
        scores=tuple(score for cell in cells for score in scores(cell)),
        warnings=tuple(warning for cell in cells for warning in warnings(cell)),
        abstentions=tuple(item for cell in cells for item in abstentions(cell)),
        tables={
            "usage": pd.DataFrame(facts),
            "ranking": pd.DataFrame([row for cell in cells for row in ranking(cell)]),
        },
    )


def scores(cell: Cell) -> Iterator[Score]:
    """The models' accuracy, then every explainer, best first."""
    if cell.facts:
        found = t_interval([fact["accuracy"] for fact in cell.facts])
        blind = float(np.mean([fact["bound"] for fact in cell.facts]))
        yield from _score(cell, "accuracy", "the model", within(found, 0, 1), "higher is better", blind, 1.0)
    for method in [row["method"] for row in ranking(cell)]:
        size = float(cell.by_seed(method, "evidence size").mean())
        for measure, (direction, null, best) in _READ.items():
            interval = within(t_interval(cell.by_seed(method, measure)), 0, 1)
            yield from _score(cell, measure, method, interval, direction, size if null is None else null, best)
        for label, name in enumerate(cell.classes):
            some = cell.by_seed(method, "attribution share", label)
            here = float(cell.by_seed(method, "evidence size", label).mean()) if len(some) else 0.0
            quantity = f"attribution share, class {name}"
            yield from _score(cell, quantity, method, within(t_interval(some), 0, 1), "higher is better", here, 1.0)
        if method == "rationale":
            yield from _selection(cell)
        decoys = cell.by_seed(method, "decoy share")
        some_size = float(cell.by_seed(method, "decoy size").mean())
        if len(decoys) and some_size > 0:
            yield from _score(
                cell, "decoy share", method, within(t_interval(decoys), 0, 1), "lower is better", some_size, 0.0
            )


def pooled(records: pd.DataFrame) -> pd.DataFrame:
    """Of each rationale model, over all words: rate of selection, share of evidence, precision, recall, decoys.

    At a given rate, precision and recall fall short of the best possible by the same share.
    """
    some = records[records["method"] == "rationale"]
    counts = some[["dataset", "model", "seed"]].assign(
        words=some["words"],
        chosen=some["selected"] * some["words"],
        marked=some["evidence size"] * some["words"],
        both=some["recall"].fillna(0.0) * some["evidence size"] * some["words"],
        decoys=some["decoy share"].fillna(0.0) * some["selected"] * some["words"],
        alike=some["decoy size"] * some["words"],
    )
    sums = counts.groupby(["dataset", "model", "seed"], as_index=False, sort=False).sum()
    return sums[["dataset", "model", "seed"]].assign(
        **{
            "selected": sums["chosen"] / sums["words"],
            "evidence size": sums["marked"] / sums["words"],
            "precision": sums["both"] / sums["chosen"].where(sums["chosen"] > 0),
            "recall": sums["both"] / sums["marked"].where(sums["marked"] > 0),
            "decoy size": sums["alike"] / sums["words"],
            "decoys": sums["decoys"] / sums["chosen"].where((sums["chosen"] > 0) & (sums["alike"] > 0)),
            "share of the possible": sums["both"] / sums[["chosen", "marked"]].min(axis=1).where(lambda most: most > 0),
        }
    )


def _selection(cell: Cell) -> Iterator[Score]:
    """Of a rationale: by chance precision is the evidence's share of the words, and recall the rate of selection."""
    found = pooled(cell.records.assign(dataset=cell.dataset, model=cell.model))
    size, rate = float(found["evidence size"].mean()), float(found["selected"].mean())
    alike = float(found["decoy size"].mean())
    for quantity, column, direction, null, best in (
        ("selected words", "selected", "neither", None, None),
        ("precision of the selection", "precision", "higher is better", size, min(1.0, size / max(rate, 1e-9))),
        ("recall of the selection", "recall", "higher is better", rate, min(1.0, rate / max(size, 1e-9))),
        ("selected evidence, of the possible", "share of the possible", "higher is better", max(size, rate), 1.0),
        ("decoys in the selection", "decoys", "lower is better", alike, 0.0),
    ):
        interval = within(t_interval(found[column].dropna()), 0, 1)
        yield from _score(cell, quantity, "rationale", interval, direction, null, best)  # type: ignore[arg-type]


def _score(
    cell: Cell,
    quantity: str,
    method: str,
    interval: Interval,
    direction: Literal["higher is better", "lower is better", "neither"],
    null: float | None,
    best: float | None,
) -> Iterator[Score]:
    if isinstance(interval.value, Undefined):
        return
    yield Score(
        quantity=quantity,
        dataset=cell.dataset,
        model=cell.model,
        method=method,
        variant="corrected",
        target="the predicted class",
        value=interval.value,
        direction=direction,
        null=null,
        best=best,
        **bounds(interval),
    )


def ranking(cell: Cell) -> list[dict[str, Any]]:
    """Explainers by how surely they find the evidence: by the lower end of AUROC over models (of one model, by it)."""
    rows = []
    for method in cell.methods:
        auc = cell.by_seed(method, "AUROC")
        interval = within(t_interval(auc), 0, 1)
        if isinstance(interval.value, Undefined):
            continue
        low = interval.value if isinstance(interval.low, Undefined) else interval.low
        rows.append(
            {
                "dataset": cell.dataset,
                "model": cell.model,
                "method": method,
                "AUROC": interval.value,
                "low": low,
                "least": float(auc.min()),
                "attribution share": float(cell.by_seed(method, "attribution share").mean()),
                "evidence size": float(cell.by_seed(method, "evidence size").mean()),
                "top token": float(cell.by_seed(method, "top token").mean()),
                "models": len(auc),
            }
        )
    return sorted(rows, key=lambda row: (-float(str(row["low"])), -float(str(row["AUROC"])), str(row["method"])))


def warnings(cell: Cell) -> Iterator[ResultWarning]:
    """Reasons to read the cell with care."""
    proven = len(cell.proven)
    if 0 < proven < FEWEST_SEEDS:
        message = f"{proven} models used the evidence: with fewer than {FEWEST_SEEDS} the ranking may be chance"
        yield ResultWarning(code="few-models", where=cell.where, message=message)
    for method in cell.methods:
        share, size = (float(cell.by_seed(method, name).mean()) for name in ("decoy share", "decoy size"))
        if size > 0 and share > MISLED * size and method != "random":
            message = f"{method} gives decoys {share / size:.1f} times their share of the words: they tell nothing"
            yield ResultWarning(code="decoys-attributed", where=cell.where, message=message)


def abstentions(cell: Cell) -> Iterator[Abstention]:
    """Models that need not have used the evidence, and explainers that a model cannot support."""
    missing = [fact for fact in cell.facts if not fact["proven"]]
    if missing:
        values = ", ".join(f"{fact['accuracy']:.3f}" for fact in missing)
        reason = (
            f"{len(missing)} of {len(cell.facts)} models need not have used the evidence: accuracy {values}, and "
            f"{missing[0]['bound']:.2f} is expected without it (exact binomial, {LEVEL:.0%})"
        )
        yield Abstention(quantity="all measures", where=cell.where, reason=reason)
    refused = {name: why for fact in cell.facts for name, why in fact["refused"].items()}
    for name, why in refused.items():
        yield Abstention(quantity=name, where=cell.where, reason=why.rstrip("."))
