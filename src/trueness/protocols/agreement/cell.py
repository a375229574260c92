"""What is known of one model on one dataset: agreement of all pairs of methods, over texts and seeds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from trueness.protocols.agreement.measures import TAU
from trueness.protocols.result import Variant
from trueness.protocols.scoring import Cell
from trueness.stats import Interval, holm, mean_interval
from trueness.stats.undefined import Floats

DRAW, SEED = "other draws", "another seed"
"""Against what a method is compared with itself."""
LEVEL = 0.05


@dataclass(frozen=True)
class AgreementCell(Cell):
    """Agreement of methods about one dataset, model and variant."""

    variant: Variant
    records: pd.DataFrame
    """seed, instance, first, second, length and the measures."""
    own: pd.DataFrame
    """method, against, instance and tau: a method against itself."""
    without_sign: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    pairs_of_texts: bool = False
    machinery: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By method the computations that it shares with others."""
    saturation: tuple[float, ...] = ()
    """Of attention flow, one per seed: the share of tokens whose flow is all that the first layer lets through."""

    @property
    def where(self) -> str:
        """In words, with the variant."""
        return super().where + (", as published" if self.variant == "as-published" else "")

    @property
    def methods(self) -> list[str]:
        """In order."""
        return list(dict.fromkeys([*self.records["first"], *self.records["second"]]))

    @property
    def seeds(self) -> int:
        """How many models there are."""
        return int(self.records["seed"].nunique())

    def pair(self, first: str, second: str) -> pd.DataFrame:
        """The records of one pair of methods, in either order."""
        one = (self.records["first"] == first) & (self.records["second"] == second)
        other = (self.records["first"] == second) & (self.records["second"] == first)
        return self.records[one | other]

    def interval(self, rows: pd.DataFrame, measure: str) -> Interval:
        """The mean with its interval; the seeds of a text are resampled together."""
        defined = rows[rows[measure].notna()]
        return mean_interval(defined[measure].to_numpy(), clusters=defined["instance"].to_numpy())

    def by_text(self, rows: pd.DataFrame) -> pd.Series:
        """Mean tau of each text, over seeds."""
        means: pd.Series = rows.groupby("instance")[TAU].mean()
        return means

    def ceiling(self, method: str) -> tuple[str, pd.Series] | None:
        """How a method agrees with itself, text by text: across seeds, or across draws; None where neither is known."""
        for against in (SEED, DRAW):
            rows = self.own[(self.own["method"] == method) & (self.own["against"] == against)]
            if len(rows):
                return against, self.by_text(rows)
        return None

    def differences(self) -> pd.DataFrame:
        """For every method: does it agree more with one method than with another? Paired by text, Holm's correction."""
        means = {frozenset(pair): self.by_text(self.pair(*pair)) for pair in itertools.combinations(self.methods, 2)}
        rows = []
        for method in self.methods:
            others = [name for name in self.methods if name != method]
            for one, other in itertools.combinations(others, 2):
                change = (means[frozenset((method, one))] - means[frozenset((method, other))]).dropna().to_numpy()
                rows.append({"method": method, "more": one, "less": other, "n": len(change), **_student(change)})
        table = pd.DataFrame(rows)
        if len(table):
            table["p, Holm"] = holm(table["p"].to_numpy())
        return table

    def groups(self) -> list[tuple[str, ...]]:
        """Largest sets of methods no two of which can be told apart.

        Two methods can be told apart if they agree less than the more stable of them agrees with itself on another seed
        (one-sided, paired by text, Holm's correction), or if they do not agree at all. None without a measurement of
        methods against themselves.
        """
        known = {method: found[1] for method in self.methods if (found := self.ceiling(method)) is not None}
        pairs = list(itertools.combinations(known, 2))
        if not pairs:
            return []
        chances, agree = [], []
        for one, other in pairs:
            own = max((known[one], known[other]), key=lambda taus: float(taus.mean()))
            together = self.by_text(self.pair(one, other))
            test = _student((together - own).dropna().to_numpy())
            chances.append(test["p"] / 2 if test["difference"] < 0 else 1 - test["p"] / 2)
            agree.append(_student(together.dropna().to_numpy())["low"] > 0)
        alike = {
            frozenset(pair) for pair, p, more in zip(pairs, holm(chances), agree, strict=True) if p >= LEVEL and more
        }
        return list(_largest(list(known), alike))


def _student(change: Floats) -> dict[str, float]:
    """Mean, Student's interval and the two-sided p-value of no difference."""
    from scipy.stats import t

    size = len(change)
    if size < 2:
        return {"difference": float(change.mean()) if size else 0.0, "low": np.nan, "high": np.nan, "p": 1.0}
    mean, error = float(change.mean()), float(change.std(ddof=1) / np.sqrt(size))
    if error == 0:
        return {"difference": mean, "low": mean, "high": mean, "p": 0.0 if mean else 1.0}
    half = float(t.ppf(1 - LEVEL / 2, size - 1)) * error
    p = float(2 * t.sf(abs(mean) / error, size - 1))
    return {"difference": mean, "low": mean - half, "high": mean + half, "p": p}


def _largest(names: Sequence[str], alike: set[frozenset[str]]) -> Iterator[tuple[str, ...]]:
    """The maximal sets of two or more names in which every two are alike; there are few names."""
    found: list[set[str]] = []
    for size in range(len(names), 1, -1):
        for some in itertools.combinations(names, size):
            whole = all(frozenset(pair) in alike for pair in itertools.combinations(some, 2))
            if whole and not any(set(some) <= larger for larger in found):
                found.append(set(some))
                yield some
