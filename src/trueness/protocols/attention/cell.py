"""All seeds of one dataset and one model, and the numbers that scores, warnings and claims share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from trueness.protocols.attention.correlation import PAIRS
from trueness.protocols.scoring import Cell
from trueness.stats import Interval, Reason, Undefined, t_interval

MOST_CLASSES = 3
"""With more classes only the whole is reported, as in the paper."""
_NORMAL = 1.96
_ROUNDING = 1e-12


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

    def classes(self) -> list[tuple[str, pd.DataFrame]]:
        """The records of all instances, and of each predicted class where there are few."""
        parts = [("all", self.records)]
        number = int(self.records["classes"].iloc[0])
        if number <= MOST_CLASSES:
            parts += [(str(each), self.records[self.records["predicted"] == each]) for each in range(number)]
        return parts

    def interval(self, values: pd.Series) -> Interval:
        """The mean of values that are indexed like the records, with an interval over seeds and instances.

        The seeds' part is Student's, the instances' part normal, added in quadrature; n is the number of seeds. The
        bounds are undefined where all values are the same.
        """
        frame = pd.DataFrame({"value": values, "seed": self.records["seed"], "instance": self.records["instance"]})
        return crossed(frame.dropna())

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


def crossed(frame: pd.DataFrame) -> Interval:
    """Mean and interval of a column `value` over `seed` and `instance`, both a sample of more."""
    by_seed = frame.groupby("seed")["value"].mean()
    over_seeds = t_interval(by_seed)
    if isinstance(over_seeds.value, Undefined):
        return over_seeds
    value, n = over_seeds.value, len(by_seed)
    by_instance = frame.groupby("instance")["value"].mean()
    size = len(by_instance)
    parts = [0.0 if isinstance(over_seeds.high, Undefined) else over_seeds.high - value]
    parts.append(_NORMAL * float(by_instance.std(ddof=1)) / math.sqrt(size) if size > 1 else 0.0)
    half = math.hypot(*parts)
    if half <= _ROUNDING:
        reason = Undefined(Reason.CONSTANT if size * n > 1 else Reason.SINGLE)
        return Interval(value, reason, reason, n, size, 0.95)
    return Interval(value, value - half, value + half, n, size, 0.95)
