"""Kendall's tau of all pairs of 7 methods on 500 instances, against scipy.stats.kendalltau pair by pair."""

import functools
import itertools

import numpy as np
from scipy.stats import kendalltau

from benchmarks.report import line, seconds
from trueness.stats import kendall

METHODS, INSTANCES, LOOPED = 7, 500, 25
LIMITS = {20: 50.0, 200: 5.0}


def main() -> None:
    rng = np.random.default_rng(0)
    pairs = list(itertools.combinations(range(METHODS), 2))
    for tokens, limit in LIMITS.items():
        scores = rng.standard_normal((METHODS, INSTANCES, tokens))
        first, second = (np.concatenate([scores[pair[side]] for pair in pairs]) for side in (0, 1))
        kendall(first[:10], second[:10])
        ours = seconds(functools.partial(kendall, first, second))
        theirs = seconds(functools.partial(_loop, scores, pairs)) * INSTANCES / LOOPED
        name = f"agreement of {METHODS} methods, {INSTANCES} instances, {tokens} tokens, against scipy pairwise"
        line(name, theirs / ours, "x", limit, at_least=True)


def _loop(scores: np.ndarray, pairs: list[tuple[int, int]]) -> None:
    for one, other in pairs:
        for row in range(LOOPED):
            kendalltau(scores[one, row], scores[other, row])
