"""What the runs say together: scores of every explainer, warnings, and what could not be asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from trueness.protocols.claim_helpers import FEWEST_SEEDS
from trueness.protocols.ground_truth.summary import AUROC, SHARE, PlantedCell, accuracy, shares
from trueness.protocols.result import Abstention, Result, ResultWarning, Score
from trueness.protocols.scoring import Quantity, of_each, share
from trueness.stats import Interval, t_interval, within

NEAR_PERFECT = 0.95
"""The paper looks at models with a higher test accuracy: then nearly all that they know lies in the region."""
RISE = Quantity("rank correlation of the attribution share with", "higher is better", 0.0, 1.0, -1.0, 1.0)
INSIDE = share("runs inside the band of Shapley values", "higher is better", best=1.0)
RUNS = share("runs above 95 % accuracy", "higher is better", best=1.0)
WITH, WITHOUT = "with the artefact", "without it"
ALL = "all artefacts"
ALONG = {"accuracy": "test accuracy", "visibility": "level", "correlation": "kept"}
"""Of the last three questions the column that the attribution share is set against."""


@dataclass(frozen=True)
class ArtefactCell(PlantedCell):
    """One artefact, or all, in one dataset and one kind of model, over runs; facts are those of the first question.

    A row of records is of a question, run, checkpoint, method and class.
    """

    runs: pd.DataFrame
    """One row per question and run."""
    keys: ClassVar[tuple[str, ...]] = ("artefact", "seed")

    @property
    def judged(self) -> pd.DataFrame:
        """Those of the first question, of near-perfect runs."""
        rows = self.records
        return rows[(rows["question"] == "region") & (rows["test accuracy"] > NEAR_PERFECT)] if len(rows) else rows

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
            first: Any = some[some["question"] == "region"].to_dict(orient="records")
            yield ArtefactCell(f"{dataset} with {name}", str(model), mine, tuple(first), (WITHOUT, WITH), some)


def scores(cell: ArtefactCell) -> Iterator[Score]:
    """Accuracy, then each explainer by the four questions."""
    yield from accuracy(cell)
    if cell.facts:
        above = np.array([fact["accuracy"] > NEAR_PERFECT for fact in cell.facts], dtype=float)
        yield from RUNS.score(cell, "the model", t_interval(above))
    for method in cell.methods:
        values = cell.by_seed(method, SHARE.name)
        if len(values):
            size = cell.mean(method, "region")
            yield from SHARE.score(cell, method, t_interval(values), null=size)
            yield from AUROC.score(cell, method, t_interval(cell.by_seed(method, AUROC.name)))
            yield from shares(cell, method, [size, size])
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
    near = sum(fact["accuracy"] > NEAR_PERFECT for fact in cell.facts)
    if cell.facts and near < FEWEST_SEEDS:
        text = f"{near} of {len(cell.facts)} models are above 95 %: fewer than {FEWEST_SEEDS}"
        yield cell.warn("few-models", text)


def abstentions(cell: ArtefactCell) -> Iterator[Abstention]:
    """Models that need not have used the artefact, and those that are not near-perfect."""
    if cell.dataset.endswith(ALL):
        return
    for missing, text in (
        ([fact for fact in cell.facts if not fact["proven"]], "need not have used the artefact (exact binomial, 1 %)"),
        (
            [fact for fact in cell.facts if not fact["accuracy"] > NEAR_PERFECT],
            "do not reach 95 % and are left out, as in the paper",
        ),
    ):
        if missing:
            values = ", ".join(f"{fact['accuracy']:.3f}" for fact in missing)
            told = f"{len(missing)} of {len(cell.facts)} models {text}: accuracy {values}"
            yield cell.abstain("attribution share", told)
