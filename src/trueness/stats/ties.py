"""An order that claims no more than is known: what cannot be told apart is a tie."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from trueness.stats.corrections import holm
from trueness.stats.undefined import Floats

LEVEL = 0.05
_SAME = 1e-9


def in_groups(values: Mapping[str, Floats]) -> list[list[str]]:
    """Names by falling mean of their values, those that cannot be told apart together.

    Values of one name and another belong to the same units, such as texts or models; of different numbers the first
    count. Two names are apart if the mean of their differences, unit by unit, is not 0 after Holm's correction over all
    pairs. A name joins the group before it if it is apart from none of it, so that a group may chain no further.
    """
    names = sorted(values, key=lambda name: (-float(np.nanmean(values[name])), name))
    pairs = list(itertools.combinations(names, 2))
    raw = [_p_value(values[one], values[other]) for one, other in pairs]
    apart = {pair for pair, p_value in zip(pairs, holm(raw).tolist() if raw else (), strict=True) if p_value < LEVEL}
    groups: list[list[str]] = []
    for name in names:
        if groups and all((other, name) not in apart for other in groups[-1]):
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def _p_value(first: Floats, second: Floats) -> float:
    """Student's, two-sided; differences that are all the same have no spread: a sign test."""
    from scipy.special import stdtr

    n = min(len(first), len(second))
    change = np.asarray(first[:n], dtype=np.float64) - np.asarray(second[:n], dtype=np.float64)
    change = change[np.isfinite(change)]
    n, distance = len(change), abs(float(change.mean())) if len(change) else 0.0
    if n < 2 or distance <= _SAME:
        return 1.0
    error = float(change.std(ddof=1)) / np.sqrt(n)
    return float(2 * stdtr(n - 1, -distance / error)) if error > _SAME * max(1.0, distance) else min(1.0, 2 * 0.5**n)
