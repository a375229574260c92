"""All seeds of one dataset and one model, and the numbers that scores, warnings and claims share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pandas as pd

from trueness.kinds.text.attention.correlation import PAIRS, PSEUDO
from trueness.protocols.scoring import Cell
from trueness.stats import Interval, Reason, Undefined, crossed_interval, t_interval

MOST_CLASSES = 3
"""With more classes only the whole is reported, as in the paper."""
FORMED = 2.0
"""Below this the largest weight is less than twice an even share on average."""


@dataclass(frozen=True)
class AttentionCell(Cell):
    """Tests of attention, of all seeds."""

    records: pd.DataFrame
    spread: pd.DataFrame
    metrics: pd.DataFrame
    epsilon: float

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
        """The column of the adversary: the strongest where `exact`, else the best found."""
        return f"adversary {self.epsilon:g}"

    @property
    def called(self) -> str:
        """What it may be called."""
        return "the strongest adversary" if self.exact else "the best adversary found"

    @property
    def gap(self) -> float:
        """By how much the upper bound exceeds what was found, in the mean."""
        return float((self.records[f"upper {self.epsilon:g}"] - self.records[self.adversary]).mean())

    @property
    def uniform(self) -> str:
        """The same encoder with uniform weights."""
        return f"{self.model.split('-')[0]}-uniform"

    def between_seeds(self) -> Interval:
        """How far attention of two seeds is apart, over seeds and instances; of two seeds no interval can be given."""
        parts = self.spread.filter(like=PSEUDO).to_numpy(dtype=float).T
        if len(parts):
            return crossed_interval(parts)
        apart = self.spread["divergence between seeds"].dropna()
        nothing = Undefined(Reason.SINGLE)
        mean = float(apart.mean()) if len(apart) else Undefined(Reason.EMPTY)
        return Interval(mean, nothing, nothing, self.seeds, len(apart), 0.95)

    def classes(self) -> list[tuple[str, pd.DataFrame]]:
        """The records of all instances, and of each predicted class where there are few."""
        parts = [("all", self.records)]
        number = int(self.records["classes"].iloc[0])
        if number <= MOST_CLASSES:
            parts += [(str(each), self.records[self.records["predicted"] == each]) for each in range(number)]
        return parts

    def interval(self, values: pd.Series) -> Interval:
        """The mean of values that are indexed like the records, crossed over seeds and instances; n counts seeds."""
        return self.crossed(self.records.assign(value=values))

    def crossed(self, frame: pd.DataFrame) -> Interval:
        """The same of a column `value` beside `seed` and `instance`."""
        known = frame[frame["value"].notna()]
        interval = crossed_interval(known.pivot(index="seed", columns="instance", values="value").to_numpy())
        seeds, instances = (int(known[name].nunique()) for name in ("seed", "instance"))
        return replace(interval, n=seeds, clusters=instances)

    @property
    def formed(self) -> pd.Series:
        """How far attention has formed: the largest weight times the length, 1 where all weights are equal."""
        return self.records["max_attention"] * self.records["length"]

    @property
    def has_formed(self) -> bool:
        """Whether the largest weight is at least twice an even share on average: less is no order to compare with."""
        return float(self.formed.mean()) >= FORMED

    def reliability(self, name: str) -> float | None:
        """Test-retest tau of an explanation over seeds; None where there is one seed or it is constant."""
        column = f"reliability: {name}"
        if column not in self.spread or self.spread[column].isna().all():
            return None
        return float(self.spread[column].mean())

    def ceiling(self, pair: str) -> float | None:
        """The tau that two explanations as noisy as these can be expected to reach if their noise is independent.

        Explanations of one model share what its seed made of it, so that theirs may be higher.
        """
        one, other = (self.reliability(name) for name in PAIRS[pair])
        return None if one is None or other is None else math.sqrt(max(one, 0.0) * max(other, 0.0))

    def metric(self, model: str) -> pd.Series:
        """Test performance by seed."""
        chosen = self.metrics[self.metrics["model"] == model]
        return chosen.set_index("seed")["value"]

    def gain(self) -> Interval:
        """Test performance of learned minus uniform attention, by seed."""
        return t_interval((self.metric(self.model) - self.metric(self.uniform)).dropna())

    def beyond_seeds(self) -> Interval:
        """Share of instances whose adversary diverges more than any two seeds do."""
        largest = self.records["instance"].map(
            self.spread.set_index("instance")["largest divergence between seeds"].to_dict()
        )
        return self.interval((self.records[self.adversary] > largest).astype(float).where(largest.notna()))
