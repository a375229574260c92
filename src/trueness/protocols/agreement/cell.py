"""What is known of one model on one dataset: agreement of all pairs of methods, over examples and seeds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from trueness.protocols.agreement.measures import TAU
from trueness.protocols.claim_helpers import ends
from trueness.protocols.result import Variant
from trueness.protocols.scoring import Cell
from trueness.stats import Interval, crossed_interval, crossed_p_value, holm, of_pairs

DRAW, SEED = "other draws", "another seed"
"""Against what a method is compared with itself."""
LEVEL = 0.05
NEARLY_ALL = 0.95
"""Share of the examples from which on a method counts as having explained all."""


@dataclass(frozen=True)
class AgreementCell(Cell):
    """Agreement of methods about one dataset, model and variant."""

    variant: Variant
    records: pd.DataFrame
    """seed, instance, first, second, length and the measures."""
    own: pd.DataFrame
    """method, against, seed, other, instance and tau: a method against itself; with other draws both seeds are one."""
    without_sign: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    pairs_of_texts: bool = False
    machinery: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By method the computations that it shares with others."""
    saturation: tuple[float, ...] = ()
    """Of attention flow, one per seed: the share of units whose flow is all that the first layer lets through."""

    @property
    def where(self) -> str:
        """In words, with the variant."""
        return super().where + (", as published" if self.variant == "as-published" else "")

    @property
    def methods(self) -> list[str]:
        """In order."""
        return list(dict.fromkeys([*self.records["first"], *self.records["second"]]))

    @property
    def on_all_texts(self) -> list[str]:
        """The methods that agree with some other on nearly all examples of every seed, as far as can be told.

        Slow ones may have explained the first examples only; scores that are all the same agree with nothing.
        """
        known = self.records[self.records[TAU].notna()]
        places = ["seed", "instance"]
        sides = [known[[side, *places]].rename(columns={side: "method"}) for side in ("first", "second")]
        found = pd.concat(sides).drop_duplicates().groupby(["method", "seed"]).size().unstack(fill_value=0)
        texts = self.records.drop_duplicates(places).groupby("seed").size()
        least = (found.reindex(columns=texts.index, fill_value=0) / texts).min(axis=1)
        return [name for name in self.methods if least.get(name, 0.0) >= NEARLY_ALL]

    @property
    def seeds(self) -> int:
        """How many models there are."""
        return int(self.records["seed"].nunique())

    def pair(self, first: str, second: str) -> pd.DataFrame:
        """The records of one pair of methods, in either order."""
        one = (self.records["first"] == first) & (self.records["second"] == second)
        other = (self.records["first"] == second) & (self.records["second"] == first)
        return self.records[one | other]

    def table(self, rows: pd.DataFrame, measure: str = TAU) -> pd.DataFrame:
        """Mean of each seed (row) and instance (column)."""
        if "other" not in rows:
            return _spread_out(rows, rows["seed"], measure)
        if (rows["seed"] == rows["other"]).all():  # other draws
            return _spread_out(rows, rows["seed"], measure)
        names = list(dict.fromkeys([*rows["seed"], *rows["other"]]))
        couples = [f"{one} {other}" for one, other in zip(rows["seed"], rows["other"], strict=True)]
        pairs = _spread_out(rows, pd.Series(couples, index=rows.index), measure)
        wanted = [
            next((name for name in (f"{one} {other}", f"{other} {one}") if name in pairs.index), None)
            for one, other in itertools.combinations(names, 2)
        ]
        if None in wanted:
            return pairs.mean().to_frame().T
        return pd.DataFrame(of_pairs(pairs.loc[wanted].to_numpy(), len(names)), columns=pairs.columns)

    def interval(self, rows: pd.DataFrame, measure: str = TAU) -> Interval:
        """The mean with its interval, crossed over seeds and instances; of one model, over its instances."""
        return crossed_interval(self.table(rows, measure).to_numpy())

    def attribution(self, methods: Sequence[str]) -> pd.DataFrame:
        """Mean tau over all pairs of these methods: seeds in rows, instances in columns."""
        chosen = self.records["first"].isin(methods) & self.records["second"].isin(methods)
        return self.table(self.records[chosen])

    def ceiling(self, method: str) -> tuple[str, pd.DataFrame] | None:
        """How a method agrees with itself, as `table`: across seeds, or across draws; None where neither is known."""
        for against in (SEED, DRAW):
            rows = self.own[(self.own["method"] == method) & (self.own["against"] == against)]
            if len(rows):
                return against, self.table(rows)
        return None

    def differences(self) -> pd.DataFrame:
        """For every method: does it agree more with one method than with another?

        Paired by seed and instance, crossed over both, Holm's correction.
        """
        tables = {frozenset(pair): self.table(self.pair(*pair)) for pair in itertools.combinations(self.methods, 2)}
        rows = []
        for method in self.methods:
            others = [name for name in self.methods if name != method]
            for one, other in itertools.combinations(others, 2):
                change = apart(tables[frozenset((method, one))], tables[frozenset((method, other))])
                rows.append({"method": method, "more": one, "less": other, **_compared(change)})
        table = pd.DataFrame(rows)
        if len(table):
            table["p, Holm"] = holm(table["p"].to_numpy())
        return table

    def groups(self) -> list[tuple[str, ...]]:
        """Largest sets of methods no two of which can be told apart.

        Two methods can be told apart if they agree less than the more stable of them agrees with itself on another seed
        (one-sided, paired by seed and instance, Holm's correction), or if they do not agree at all. None without a
        measurement of methods against themselves.
        """
        known = {method: found[1] for method in self.methods if (found := self.ceiling(method)) is not None}
        pairs = list(itertools.combinations(known, 2))
        if not pairs:
            return []
        chances, agree = [], []
        for one, other in pairs:
            own = max((known[one], known[other]), key=lambda taus: float(np.nanmean(taus.to_numpy())))
            together = self.table(self.pair(one, other))
            test = _compared(apart(together, own))
            chances.append(test["p"] / 2 if test["difference"] < 0 else 1 - test["p"] / 2)
            agree.append(_compared(together)["low"] > 0)
        alike = {
            frozenset(pair) for pair, p, more in zip(pairs, holm(chances), agree, strict=True) if p >= LEVEL and more
        }
        return list(_largest(list(known), alike))


def _spread_out(rows: pd.DataFrame, seeds: pd.Series, measure: str) -> pd.DataFrame:
    """Means by seed and instance; NaN where there is none."""
    (row, names), (column, instances) = pd.factorize(seeds), pd.factorize(rows["instance"], sort=True)
    values = rows[measure].to_numpy(dtype=float)
    known = ~np.isnan(values)
    sums, counts = np.zeros((2, len(names), len(instances)))
    np.add.at(sums, (row[known], column[known]), values[known])
    np.add.at(counts, (row[known], column[known]), 1)
    return pd.DataFrame(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), index=names, columns=instances)


def apart(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Difference of two tables of the same instances, seed by seed in order.

    Where one has fewer seeds, as many of the other; where one is of a single pair of models, both are means of seeds.
    """
    if min(len(first), len(second)) < 2 < len(first) + len(second):
        first, second = (table.mean().to_frame().T for table in (first, second))
    seeds = min(len(first), len(second))
    one, other = (table.iloc[:seeds].reset_index(drop=True) for table in (first, second))
    return (one - other).dropna(axis=1, how="all")


def _compared(change: pd.DataFrame) -> dict[str, float]:
    """Mean, crossed interval and the two-sided p-value of no difference."""
    interval = crossed_interval(change.to_numpy())
    # Of one instance nothing can be told about others.
    low, high = ends(interval) if change.shape[1] > 1 else (math.nan, math.nan)
    value = float(interval.value) if change.size else 0.0
    return {"n": interval.n, "difference": value, "low": low, "high": high, "p": crossed_p_value(change.to_numpy())}


def _largest(names: Sequence[str], alike: set[frozenset[str]]) -> Iterator[tuple[str, ...]]:
    """The maximal sets of two or more names in which every two are alike; there are few names."""
    found: list[set[str]] = []
    for size in range(len(names), 1, -1):
        for some in itertools.combinations(names, size):
            whole = all(frozenset(pair) in alike for pair in itertools.combinations(some, 2))
            if whole and not any(set(some) <= larger for larger in found):
                found.append(set(some))
                yield some
