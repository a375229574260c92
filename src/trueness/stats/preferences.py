"""Strengths from pairwise choices (Bradley and Terry 1952), and agreement between raters (Krippendorff's alpha)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from trueness.stats.undefined import Floats

_PRIOR = 0.05
"""Weight that pulls strengths together: it keeps one who always wins finite, and changes little where data are many."""


@dataclass(frozen=True)
class Strengths:
    """Log-strengths whose sum is 0, and how sure they are."""

    names: tuple[str, ...]
    value: Floats
    covariance: Floats

    def difference(self, one: str, other: str, level: float = 0.95) -> tuple[float, float, float]:
        """How much stronger `one` is, with its interval; the chance that it is chosen is the logistic of that."""
        a, b = self.names.index(one), self.names.index(other)
        value = float(self.value[a] - self.value[b])
        spread = float(self.covariance[a, a] + self.covariance[b, b] - 2 * self.covariance[a, b])
        half = float(norm.ppf(0.5 + level / 2)) * max(spread, 0.0) ** 0.5
        return value, value - half, value + half


def bradley_terry(
    choices: Sequence[tuple[str, str, float]], clusters: Sequence[Hashable] | None = None
) -> Strengths | None:
    """Strengths from (first, second, share): share 1 if the first was chosen, 0 if the second, 0.5 if neither.

    Choices of one cluster, such as those about one text, may depend on one another: the covariance allows for it. None
    where some were never compared, even through others: then no number says how they stand.
    """
    names = tuple(dict.fromkeys(name for first, second, _ in choices for name in (first, second)))
    at = {name: place for place, name in enumerate(names)}
    if len(names) < 2 or not _connected(names, choices):
        return None
    design = np.zeros((len(choices), len(names)))
    for row, (first, second, _) in enumerate(choices):
        design[row, at[first]], design[row, at[second]] = 1.0, -1.0
    share = np.array([given for _, _, given in choices], dtype=np.float64)
    value = np.zeros(len(names))
    # Beside the prior a direction without information: all strengths raised at once.
    pull = _PRIOR * np.eye(len(names)) + np.ones((len(names), len(names))) / len(names)
    for _ in range(100):
        chance = expit(design @ value)
        information = design.T @ (design * (chance * (1 - chance))[:, None]) + pull
        step = np.linalg.solve(information, design.T @ (share - chance) - pull @ value)
        value = value + step
        if np.abs(step).max() < 1e-10:
            break
    groups: dict[Hashable, Floats] = {}
    for row, cluster in enumerate(clusters if clusters is not None else range(len(choices))):
        groups[cluster] = groups.get(cluster, np.zeros(len(names))) + design[row] * (share[row] - chance[row])
    bread = np.linalg.inv(information)
    many = len(groups)
    meat = sum((np.outer(one, one) for one in groups.values()), np.zeros_like(bread)) * many / max(many - 1, 1)
    robust = bread @ meat @ bread
    # With few clusters the robust covariance is too small: never below what independent choices give.
    plain = bread @ (information - pull) @ bread
    larger = robust if np.trace(robust) > np.trace(plain) else plain
    return Strengths(names, value - value.mean(), larger)


def _connected(names: Sequence[str], choices: Sequence[tuple[str, str, float]]) -> bool:
    reached, left = {names[0]}, True
    while left:
        new = {b for a, b, _ in choices if a in reached} | {a for a, b, _ in choices if b in reached}
        left = bool(new - reached)
        reached |= new
    return reached == set(names)


def krippendorff(answers: Sequence[Mapping[str, Hashable]]) -> float | None:
    """Alpha of nominal answers, each item a mapping of raters to answers: 1 full agreement, 0 that of chance.

    None where no item has two answers, or all answers are the same: then chance agrees as well.
    """
    pairable = [list(item.values()) for item in answers if len(item) > 1]
    total = sum(map(len, pairable))
    every = Counter(answer for item in pairable for answer in item)
    expected = sum(count * (total - count) for count in every.values()) / (total * (total - 1)) if total > 1 else 0.0
    if not expected:
        return None
    apart = 0.0
    for item in pairable:
        counts = Counter(item)
        apart += sum(count * (len(item) - count) for count in counts.values()) / (len(item) - 1)
    return 1 - (apart / total) / expected
