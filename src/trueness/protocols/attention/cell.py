"""All seeds of one dataset and one model, and the numbers that scores, warnings and claims share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trueness.protocols.attention.correlation import PAIRS
from trueness.stats import Interval, t_interval

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 3
"""With more classes only the whole is reported, as in the paper."""


@dataclass(frozen=True)
class Cell:
    """All seeds of one dataset and one model."""

    dataset: str
    model: str
    records: pd.DataFrame
    spread: pd.DataFrame
    metrics: pd.DataFrame
    epsilon: float

    @property
    def where(self) -> str:
        """The cell, in words."""
        return f"{self.dataset}, {self.model}"

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return int(self.records["seed"].nunique())

    @property
    def exact(self) -> bool:
        """Whether the strongest adversary is known exactly."""
        return bool(self.records["exact"].all())

    @property
    def adversary(self) -> str:
        """The column of the strongest adversary."""
        return f"adversary {self.epsilon:g}"

    @property
    def encoder(self) -> str:
        """The first part of the model's name."""
        return self.model.split("-")[0]

    @property
    def uniform(self) -> str:
        """The same encoder with uniform weights."""
        return f"{self.encoder}-uniform"

    def classes(self) -> list[tuple[str, pd.DataFrame]]:
        """The records of all instances, and of each predicted class where there are few."""
        parts = [("all", self.records)]
        numbers = sorted({*self.records["gold"], *self.records["predicted"]})
        if len(numbers) <= MOST_CLASSES:
            parts += [(str(number), self.records[self.records["predicted"] == number]) for number in numbers]
        return parts

    def interval(self, column: str, frame: pd.DataFrame | None = None) -> tuple[Interval, str]:
        """The mean of a column with Student's interval over seeds (over instances where there is one seed)."""
        part = (self.records if frame is None else frame)[["seed", column]].dropna()
        means = part.groupby("seed")[column].mean()
        if len(means) > 1:
            return t_interval(means), f"interval over {len(means)} seeds of {len(part) // len(means)} instances each"
        return t_interval(part[column]), f"one seed; interval over its {len(part)} instances"

    def reliability(self, name: str) -> float | None:
        """Test-retest tau of an explanation over seeds; None where there is one seed or it is constant."""
        column = f"reliability: {name}"
        if column not in self.spread or self.spread[column].isna().all():
            return None
        return float(self.spread[column].mean())

    def ceiling(self, pair: str) -> float | None:
        """The tau that two explanations as noisy as these can be expected to reach at best."""
        both = [self.reliability(name) for name in PAIRS[pair]]
        known = [value for value in both if value is not None]
        return math.sqrt(max(known[0], 0.0) * max(known[1], 0.0)) if len(known) == 2 else None

    def metric(self, model: str) -> pd.Series:
        """Test performance by seed."""
        chosen = self.metrics[self.metrics["model"] == model]
        return chosen.set_index("seed")["value"]

    def gain(self) -> Interval:
        """Test performance of learned minus uniform attention, by seed."""
        difference = (self.metric(self.model) - self.metric(self.uniform)).dropna()
        return t_interval(difference)

    def beyond_seeds(self) -> float:
        """Share of instances whose adversary diverges more than any two seeds compared do."""
        mean = self.records.groupby("instance")[self.adversary].mean()
        largest = self.spread.set_index("instance")["largest divergence between seeds"]
        both = largest.to_frame("seeds").assign(adversary=mean).dropna()
        return float((both["adversary"] > both["seeds"]).mean())
