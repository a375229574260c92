"""All runs of one dataset and one model, and the numbers that scores, warnings and claims share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.protocols.attefa.score import ONE_CLASS, SATURATED, Point, attefa, attefa_star
from trueness.protocols.result import Result
from trueness.protocols.scoring import Cell
from trueness.stats import Interval, Undefined, t_interval
from trueness.stats.divergence import LN2

if TYPE_CHECKING:
    import pandas as pd

PUBLISHED, TWIN, RETRAINED = "twin@attefa2022", "twin", "retrained"
"""How a run was made: a twin chosen on the test split as published, one chosen on the development split, or the base
model's own training from another seed."""
MAIN = 1.0
"""The weight of equation 4."""
WHOLE = "the whole prediction"
"""What two models are compared by."""
UNIFORM_MODEL, LEARNED_MODEL = "uniform attention", "base model"
GUIDES = "learned attention", "the base model's attention", "a twin's attention", "uniform weights"
LEARNED, BASE, TWIN_GUIDE, UNIFORM = GUIDES
"""What guides a model that sees each word on its own."""


@dataclass(frozen=True)
class TwinCell(Cell):
    """All runs against one base model."""

    base: Mapping[str, Any]
    """What `Base.facts` found."""
    runs: pd.DataFrame
    """As `Base.measure` made them, with method, weight, seed and epoch."""
    metrics: pd.DataFrame
    """Test performance of other models on the same dataset: `what`, `seed`, `value`."""
    target: str = field(default=WHOLE, kw_only=True)

    def of(self, method: str, weight: float | None = None) -> pd.DataFrame:
        """The runs made in one way."""
        chosen = self.runs["method"] == method
        return self.runs[chosen if weight is None else chosen & (self.runs["weight"] == weight)]

    def attefa(self, method: str) -> pd.Series:
        """The score that each twin of weight 1 shows, by seed; twins that attend alike are left out."""
        import pandas as pd

        found = {
            int(run["seed"]): score
            for run in rows(self.of(method, MAIN))
            if not isinstance(score := attefa(run["change"], run["divergence"]), Undefined)
        }
        return pd.Series(found, dtype=np.float64)

    @property
    def most(self) -> float:
        """The divergence that no model can exceed: less than ln 2 where equal words must get equal weights."""
        return LN2 if self.base["ceiling"] is None else float(self.base["ceiling"])

    @property
    def reached(self) -> float | None:
        """The most that any run diverged; None where no twin was trained for divergence alone."""
        return float(self.runs["divergence"].max()) if len(self.of(TWIN, np.inf)) else None

    def star(self) -> pd.Series:
        """AtteFa* by seed, from the twins of all weights with that seed."""
        import pandas as pd

        reached = self.reached
        if reached is None:
            return pd.Series(dtype=np.float64)
        found = {}
        for seed, runs in self.of(TWIN).groupby("seed", sort=False):
            points = [Point(run["change"], run["divergence"]) for run in rows(runs)]
            score = attefa_star(points, ceiling=reached, constant=self.base["constant"])
            if not isinstance(score, Undefined):
                found[int(str(seed))] = score
        return pd.Series(found, dtype=np.float64)

    def collapsed(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Those of the runs that predict one class while the base model does not."""
        return runs[(runs["one_class"] > ONE_CLASS) & bool(self.base["one_class"] <= ONE_CLASS)]

    def saturated(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Those of the runs that diverge as much as is possible."""
        return runs[runs["divergence"] > SATURATED * self.most]

    def gain(self) -> Interval:
        """What learned attention gains over uniform weights, over seeds."""
        return t_interval((self.metric(LEARNED_MODEL) - self.metric(UNIFORM_MODEL)).dropna().to_numpy())

    def metric(self, what: str) -> pd.Series:
        """Test performance by seed."""
        chosen: pd.Series = self.metrics[self.metrics["what"] == what].set_index("seed")["value"]
        return chosen


def cells_of(result: Result) -> list[TwinCell]:
    """The cells of a study that has run."""
    found = []
    for base in rows(result.tables["bases"]):
        here = {name: base.pop(name) for name in ("dataset", "model")}
        runs, metrics = (
            table[(table["dataset"] == here["dataset"]) & (table["model"] == here["model"])]
            for table in (result.tables["runs"], result.tables["metrics"])
        )
        # A table has no place for None.
        base["ceiling"] = None if base["ceiling"] is None or math.isnan(base["ceiling"]) else base["ceiling"]
        found.append(TwinCell(**here, base=base, runs=runs, metrics=metrics))
    return found


def rows(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """One mapping per run."""
    return [{str(name): value for name, value in row.items()} for row in runs.to_dict(orient="records")]


def weight_in_words(weight: float) -> str:
    """The weight of a twin's divergence, for a reader."""
    return "divergence alone" if math.isinf(weight) else f"weight {weight:g}"
