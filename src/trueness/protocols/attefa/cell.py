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
    """All runs against base models of one kind. These are the unit: twins of one of them are no sample of others."""

    bases: tuple[Mapping[str, Any], ...]
    """What `Base.facts` found of each, with its seed."""
    runs: pd.DataFrame
    """As `Base.measure` made them, with base (its seed), method, weight, seed and epoch."""
    metrics: pd.DataFrame
    """Test performance of other models on the same dataset: `what`, `seed`, `value`."""
    target: str = field(default=WHOLE, kw_only=True)

    def of(self, method: str, weight: float | None = None) -> pd.DataFrame:
        """The runs made in one way."""
        chosen = self.runs["method"] == method
        return self.runs[chosen if weight is None else chosen & (self.runs["weight"] == weight)]

    @property
    def base(self) -> Mapping[str, Any]:
        """The first base model."""
        return self.bases[0]

    def facts(self, seed: int) -> Mapping[str, Any]:
        """Of the base model with that seed."""
        return next(base for base in self.bases if base["seed"] == seed)

    def mean(self, runs: pd.DataFrame, column: str) -> pd.Series:
        """The mean of each base model's twins, by base model."""
        found: pd.Series = runs.groupby("base", sort=False)[column].mean()
        return found

    def attefa(self, method: str) -> pd.Series:
        """Mean score of the twins of weight 1, by base model."""
        import pandas as pd

        runs, scores = self.of(method, MAIN), self.attefa_of_twins(method)
        bases = runs.set_index("seed")["base"]
        found: pd.Series = pd.Series(scores).groupby(bases.reindex(scores.index), sort=False).mean()
        return found

    def gave_up(self, method: str) -> tuple[int, int]:
        """How many twins of weight 1 collapsed, of how many: what they show says nothing about attention."""
        runs = self.of(method, MAIN)
        return len(self.collapsed(runs)), len(runs)

    def attefa_of_twins(self, method: str) -> pd.Series:
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
        """The divergence that no twin can exceed, mean of base models."""
        return float(np.mean([_most(base) for base in self.bases]))

    @property
    def reached(self) -> float | None:
        """The most that any run diverged; None where no twin was trained for divergence alone."""
        return float(self.runs["divergence"].max()) if len(self.of(TWIN, np.inf)) else None

    def star(self) -> pd.Series:
        """AtteFa* by base model: mean over seeds, each from its twins of all weights."""
        import pandas as pd

        found: dict[int, list[float]] = {}
        for (base, _), runs in self.of(TWIN).groupby(["base", "seed"], sort=False):
            mine = self.runs[self.runs["base"] == base]
            if not ((mine["method"] == TWIN) & np.isinf(mine["weight"])).any():
                continue
            points = [Point(run["change"], run["divergence"]) for run in rows(runs)]
            reached, constant = float(mine["divergence"].max()), self.facts(int(str(base)))["constant"]
            score = attefa_star(points, ceiling=reached, constant=constant)
            if not isinstance(score, Undefined):
                found.setdefault(int(str(base)), []).append(score)
        return pd.Series({base: float(np.mean(values)) for base, values in found.items()}, dtype=np.float64)

    def collapsed(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Those of the runs that predict one class while the base model does not."""
        awake = [self.facts(int(base))["one_class"] <= ONE_CLASS for base in runs["base"]]
        return runs[(runs["one_class"] > ONE_CLASS) & np.array(awake, dtype=bool)]

    def saturated(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Those of the runs that diverge as much as is possible."""
        return runs[runs["divergence"] > [SATURATED * _most(self.facts(int(base))) for base in runs["base"]]]

    def gain(self) -> Interval:
        """What learned attention gains over uniform weights, over seeds."""
        return t_interval((self.metric(LEARNED_MODEL) - self.metric(UNIFORM_MODEL)).dropna().to_numpy())

    def metric(self, what: str) -> pd.Series:
        """Test performance by seed."""
        chosen: pd.Series = self.metrics[self.metrics["what"] == what].set_index("seed")["value"]
        return chosen


def _most(base: Mapping[str, Any]) -> float:
    """The divergence that no twin can exceed: less than ln 2 where equal words must get equal weights."""
    return LN2 if base["ceiling"] is None else float(base["ceiling"])


def cells_of(result: Result) -> list[TwinCell]:
    """The cells of a study that has run."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for base in rows(result.tables["bases"]):
        # A table has no place for None.
        base["ceiling"] = None if base["ceiling"] is None or math.isnan(base["ceiling"]) else base["ceiling"]
        found.setdefault((base.pop("dataset"), base.pop("model")), []).append(base)
    cells = []
    for (dataset, model), bases in found.items():
        runs, metrics = (
            table[(table["dataset"] == dataset) & (table["model"] == model)]
            for table in (result.tables["runs"], result.tables["metrics"])
        )
        cells.append(TwinCell(dataset, model, tuple(bases), runs, metrics))
    return cells


def rows(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """One mapping per run."""
    return [{str(name): value for name, value in row.items()} for row in runs.to_dict(orient="records")]


def weight_in_words(weight: float) -> str:
    """The weight of a twin's divergence, for a reader."""
    return "divergence alone" if math.isinf(weight) else f"weight {weight:g}"
