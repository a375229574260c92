"""What the runs say together: scores of every explainer, warnings, and what could not be asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from trueness.protocols.claim_helpers import FEWEST_SEEDS
from trueness.protocols.result import Abstention, Result, ResultWarning, Score
from trueness.protocols.scoring import ACCURACY, Cell, Quantity, of_each, share
from trueness.stats import Interval, t_interval, within

NEAR_PERFECT = 0.95
"""The paper looks at models with a higher test accuracy: then nearly all that they know lies in the region."""
SHARE = share("attribution share", "higher is better", best=1.0)
AUROC = share("AUROC", "higher is better", 0.5, 1.0)
RISE = Quantity("rank correlation of the attribution share with", "higher is better", 0.0, 1.0, -1.0, 1.0)
INSIDE = share("runs inside the band of Shapley values", "higher is better", best=1.0)
RUNS = share("runs above 95 % accuracy", "higher is better", best=1.0)
WITH, WITHOUT = "with the artefact", "without it"
ALL = "all artefacts"
ALONG = {"accuracy": "test accuracy", "visibility": "level", "correlation": "kept"}
"""Of the last three questions the column that the attribution share is set against."""


@dataclass(frozen=True)
class ArtefactCell(Cell):
    """One artefact, or all, in one dataset and one kind of model, over runs."""

    records: pd.DataFrame
    """One row per question, run, checkpoint, method and class."""
    runs: pd.DataFrame
    """One row per question and run."""

    def means(self, question: str, *, near: bool = True) -> pd.DataFrame:
        """Rows of a question with the mean of both classes for each run: method, seed, artefact, share, region."""
        rows = self.records[self.records["question"] == question] if len(self.records) else self.records
        if near and len(rows):
            rows = rows[rows["test accuracy"] > NEAR_PERFECT]
        keys = ["artefact", "seed", "level", "kept", "epoch", "test accuracy", "method"]
        found: pd.DataFrame = (
            rows.groupby(keys, dropna=False, sort=False, as_index=False)[
                ["attribution share", "AUROC", "region"]
            ].mean()
            if len(rows)
            else pd.DataFrame(columns=[*keys, "attribution share", "AUROC", "region"])
        )
        return found

    def of(self, method: str, measure: str, label: int | None = None) -> pd.Series:
        """Of the first question: the value of each near-perfect run."""
        rows = self.records[(self.records["question"] == "region") & (self.records["method"] == method)]
        rows = rows[rows["test accuracy"] > NEAR_PERFECT]
        rows = rows if label is None else rows[rows["label"] == label]
        found: pd.Series = rows.groupby(["artefact", "seed"])[measure].mean().dropna()
        return found

    def trend(self, question: str, method: str) -> Interval:
        """Over runs (or groups of runs) the rank correlation of the attribution share with what the question varies."""
        from scipy.stats import spearmanr

        rows = self.means(question, near=question == "correlation")
        rows = rows[rows["method"] == method]
        found = []
        for _, some in rows.groupby(["artefact", "seed"], sort=False):
            x, y = some[ALONG[question]].to_numpy(dtype=float), some["attribution share"].to_numpy(dtype=float)
            good = np.isfinite(y)
            if good.sum() >= 3 and np.ptp(x[good]) > 0 and np.ptp(y[good]) > 0:
                found.append(float(spearmanr(x[good], y[good]).statistic))
        return within(t_interval(found), -1, 1)

    @property
    def methods(self) -> list[str]:
        """In order."""
        return list(dict.fromkeys(self.records["method"])) if len(self.records) else []


def summarise(
    cells: Sequence[ArtefactCell], records: pd.DataFrame, runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame]
) -> Result:
    """The result of the study, but for its claims."""
    facts = runs.drop(columns=[name for name in ("classes", "settings") if name in runs])
    return Result(
        records=records if len(records) else pd.DataFrame({"method": []}),
        scores=of_each(cells, scores),
        warnings=of_each(cells, warnings),
        abstentions=of_each(cells, abstentions),
        tables={"runs": facts, **tables},
    )


def cells_of(records: pd.DataFrame, runs: pd.DataFrame) -> Iterator[ArtefactCell]:
    """One for each artefact, kind of model and dataset, and one for all artefacts where there are several."""
    for (dataset, model), here in runs.groupby(["dataset", "model"], sort=False):
        said = records[(records["dataset"] == dataset) & (records["model"] == model)] if len(records) else records
        names = list(dict.fromkeys(here["artefact"]))
        for name in [*names, *([ALL] if len(names) > 1 else [])]:
            some = here if name == ALL else here[here["artefact"] == name]
            mine = said if name == ALL or not len(said) else said[said["artefact"] == name]
            yield ArtefactCell(f"{dataset} with {name}", str(model), mine, some)


def scores(cell: ArtefactCell) -> Iterator[Score]:
    """Accuracy, then each explainer by the four questions."""
    first = cell.runs[cell.runs["question"] == "region"]
    if len(first):
        interval = t_interval(first["accuracy"].to_numpy(dtype=float))
        yield from ACCURACY.score(cell, "the model", interval, null=float(first["bound"].mean()))
        above = (first["accuracy"] > NEAR_PERFECT).to_numpy(dtype=float)
        yield from RUNS.score(cell, "the model", t_interval(above))
    for method in cell.methods:
        values = cell.of(method, "attribution share")
        if len(values):
            size = float(cell.of(method, "region").mean())
            yield from SHARE.score(cell, method, t_interval(values), null=size)
            yield from AUROC.score(cell, method, t_interval(cell.of(method, "AUROC")))
            for label, name in ((1, WITH), (0, WITHOUT)):
                here = t_interval(cell.of(method, "attribution share", label))
                yield from SHARE.of(name).score(cell, method, here, null=size)
        for question, along in ALONG.items():
            named = Quantity(f"{RISE.name} {_in_words(along)}", "neither", 0.0, None, -1.0, 1.0)
            yield from named.score(cell, method, cell.trend(question, method))
        band = cell.means("correlation")
        band = band[band["method"] == method]
        if len(band):
            inside = (band["attribution share"] >= lowest(band["kept"], band["test accuracy"])).to_numpy(dtype=float)
            yield from INSIDE.score(cell, method, t_interval(inside))


def lowest(kept: pd.Series, accuracy: pd.Series) -> pd.Series:
    """Equation 3: the least normalised Shapley value of the region, (2p - r - 0.5) / (2p - 1)."""
    found: pd.Series = (2 * accuracy - kept - 0.5) / (2 * accuracy - 1)
    return found


def _in_words(column: str) -> str:
    return {"test accuracy": "test accuracy", "level": "visibility", "kept": "label correlation"}[column]


def warnings(cell: ArtefactCell) -> Iterator[ResultWarning]:
    """Reasons to read the cell with care."""
    first = cell.runs[cell.runs["question"] == "region"]
    near = int((first["accuracy"] > NEAR_PERFECT).sum()) if len(first) else 0
    if len(first) and near < FEWEST_SEEDS:
        yield cell.warn("few-models", f"{near} of {len(first)} models are above 95 %: fewer than {FEWEST_SEEDS}")


def abstentions(cell: ArtefactCell) -> Iterator[Abstention]:
    """Models that need not have used the artefact, and those that are not near-perfect."""
    if cell.dataset.endswith(ALL):
        return
    first = cell.runs[cell.runs["question"] == "region"]
    for column, text in (
        (first["proven"], "need not have used the artefact (exact binomial, 1 %)"),
        (first["accuracy"] > NEAR_PERFECT, "do not reach 95 % and are left out, as in the paper"),
    ):
        missing = first[~column.astype(bool)]
        if len(missing):
            values = ", ".join(f"{value:.3f}" for value in missing["accuracy"])
            yield cell.abstain("attribution share", f"{len(missing)} of {len(first)} models {text}: accuracy {values}")
