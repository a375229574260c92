"""Which explanations find planted evidence, of models that verifiably used it: scores, ranking, warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trueness.protocols.claim_helpers import FEWEST_SEEDS
from trueness.protocols.result import Abstention, Result, ResultWarning, Score
from trueness.protocols.scoring import ACCURACY, Cell, Quantity, of_each, share
from trueness.stats import Undefined, t_interval, within
from trueness.stats.ties import in_groups

if TYPE_CHECKING:
    import pandas as pd

PLANTED = "planted (orange: decoys)"
LEVEL = 0.01
"""Of the test that a model's accuracy exceeds the bound."""
MISLED = 1.5
"""Decoys that get so many times their share of the words mislead."""
AUROC = share("AUROC", "higher is better", 0.5, 1.0)
SHARE = share("attribution share", "higher is better", best=1.0)
PRECISION = share("precision", "higher is better", best=1.0)
TOP = share("top token", "higher is better", best=1.0)
RANK = share("mean rank", "lower is better", 0.5, 0.0)
DECOYS = share("decoy share", "lower is better", best=0.0)
SELECTION = {
    "selected": share("selected words"),
    "precision": share("precision of the selection", "higher is better"),
    "recall": share("recall of the selection", "higher is better"),
    "share of the possible": share("selected evidence, of the possible", "higher is better", best=1.0),
    "decoys": share("decoys in the selection", "lower is better", best=0.0),
}
"""Of rationales, by column of `pooled`."""


@dataclass(frozen=True)
class PlantedCell(Cell):
    """One planting of one dataset and one kind of model, over seeds."""

    records: pd.DataFrame
    """seed, method, label, and the measures, of models that used the evidence."""
    facts: tuple[dict[str, Any], ...]
    """Of every model: seed, accuracy, bound, p_value, least_share, proven, refused."""
    classes: tuple[str, ...]
    """In the order of their numbers; scores of a part of the examples are called after them."""
    keys: ClassVar[tuple[str, ...]] = ("seed",)
    """Columns that tell models apart."""

    @property
    def judged(self) -> pd.DataFrame:
        """The records that count."""
        return self.records

    @property
    def methods(self) -> list[str]:
        """In order."""
        return list(dict.fromkeys(self.records["method"])) if len(self.records) else []

    def by_seed(self, method: str, measure: str, label: int | None = None) -> pd.Series:
        """The mean of each model."""
        rows = self.judged[self.judged["method"] == method]
        rows = rows if label is None else rows[rows["label"] == label]
        means: pd.Series = rows.groupby(list(self.keys))[measure].mean().dropna()
        return means

    def mean(self, method: str, measure: str, label: int | None = None) -> float:
        """The mean over models."""
        return float(self.by_seed(method, measure, label).mean())


def summarise(cells: Sequence[PlantedCell]) -> Result:
    """The result of a study or of a dry run."""
    import pandas as pd

    records = [cell.records.assign(**cell.place) for cell in cells if len(cell.records)]
    facts = [
        {**cell.place, **{name: fact[name] for name in fact if name != "refused"}}
        for cell in cells
        for fact in cell.facts
    ]
    return Result(
        records=pd.concat(records, ignore_index=True) if records else pd.DataFrame({"method": []}),
        scores=of_each(cells, scores),
        warnings=of_each(cells, warnings),
        abstentions=of_each(cells, abstentions),
        tables={"usage": pd.DataFrame(facts), "ranking": pd.DataFrame(of_each(cells, ranking))},
    )


def scores(cell: PlantedCell) -> Iterator[Score]:
    """The models' accuracy, then every explainer, best first."""

    def make(quantity: Quantity, method: str, values: pd.Series, null: float | None) -> Iterator[Score]:
        return quantity.score(cell, method, t_interval(values), null=null)

    yield from accuracy(cell)
    for method in [row["method"] for row in ranking(cell)]:
        size = cell.mean(method, "evidence size")
        for measure in (AUROC, SHARE, PRECISION, TOP, RANK):
            null = size if measure.null is None else None
            yield from make(measure, method, cell.by_seed(method, measure.name), null)
        yield from shares(
            cell, method, [cell.mean(method, "evidence size", label) for label in range(len(cell.classes))]
        )
        if method == "rationale":
            yield from _selection(cell)
        size = cell.mean(method, "decoy size")
        if size > 0:
            yield from make(DECOYS, method, cell.by_seed(method, DECOYS.name), size)


def accuracy(cell: PlantedCell) -> Iterator[Score]:
    """Of the models, beside the best that is possible without the evidence."""
    if cell.facts:
        blind = float(np.mean([fact["bound"] for fact in cell.facts]))
        yield from ACCURACY.score(cell, "the model", t_interval([fact["accuracy"] for fact in cell.facts]), null=blind)


def shares(cell: PlantedCell, method: str, sizes: Sequence[float]) -> Iterator[Score]:
    """The attribution share in each class, beside what a constant explanation gets."""
    for label, (name, size) in enumerate(zip(cell.classes, sizes, strict=True)):
        values = t_interval(cell.by_seed(method, SHARE.name, label))
        yield from SHARE.of(name).score(cell, method, values, null=size)


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


def _selection(cell: PlantedCell) -> Iterator[Score]:
    """Of a rationale: by chance precision is the evidence's share of the words, and recall the rate of selection."""
    found = pooled(cell.records.assign(**cell.place))
    size, rate = float(found["evidence size"].mean()), float(found["selected"].mean())
    alike = float(found["decoy size"].mean())
    nulls = {"precision": size, "recall": rate, "share of the possible": max(size, rate), "decoys": alike}
    bests = {"precision": min(1.0, size / max(rate, 1e-9)), "recall": min(1.0, rate / max(size, 1e-9))}
    for column, quantity in SELECTION.items():
        interval = t_interval(found[column].dropna())
        yield from quantity.score(cell, "rationale", interval, null=nulls.get(column), best=bests.get(column))


def ranking(cell: PlantedCell) -> list[dict[str, Any]]:
    """Explainers by the mean of AUROC over models; those that cannot be told apart share their rank."""
    known = {method: auc for method in cell.methods if len(auc := cell.by_seed(method, "AUROC"))}
    rows = []
    rank = 1
    for group in in_groups({method: auc.to_numpy(dtype=np.float64) for method, auc in known.items()}):
        for method in group:
            interval = within(t_interval(known[method]), 0, 1)
            ends = (None if isinstance(end, Undefined) else end for end in (interval.low, interval.high))
            low, high = ends
            row = {
                **cell.place,
                "rank": rank,
                "tie": len(group) > 1,
                "method": method,
                "AUROC": interval.value,
                "low": low,
                "high": high,
                "least": float(known[method].min()),
                **{name: cell.mean(method, name) for name in ("attribution share", "evidence size", "top token")},
                "models": len(known[method]),
            }
            rows.append(row)
        rank += len(group)
    return rows


def warnings(cell: PlantedCell) -> Iterator[ResultWarning]:
    """Reasons to read the cell with care."""
    proven = sum(fact["proven"] for fact in cell.facts)
    if 0 < proven < FEWEST_SEEDS:
        message = f"{proven} models used the evidence: with fewer than {FEWEST_SEEDS} the ranking may be chance"
        yield cell.warn("few-models", message)
    for method in cell.methods:
        share, size = cell.mean(method, "decoy share"), cell.mean(method, "decoy size")
        if size > 0 and share > MISLED * size and method != "random":
            message = f"{method} gives decoys {share / size:.1f} times their share of the words: they tell nothing"
            yield cell.warn("decoys-attributed", message)


def abstentions(cell: PlantedCell) -> Iterator[Abstention]:
    """Models that need not have used the evidence, and explainers that a model cannot support."""
    missing = [fact for fact in cell.facts if not fact["proven"]]
    if missing:
        values = ", ".join(f"{fact['accuracy']:.3f}" for fact in missing)
        reason = (
            f"{len(missing)} of {len(cell.facts)} models need not have used the evidence: accuracy {values}, and "
            f"{missing[0]['bound']:.2f} is expected without it (exact binomial, {LEVEL:.0%})"
        )
        yield cell.abstain("all measures" if len(missing) == len(cell.facts) else "a part of the models", reason)
    refused = {name: why for fact in cell.facts for name, why in fact["refused"].items()}
    for name, why in refused.items():
        yield cell.abstain(name, why.rstrip("."))
