"""An order only where differences are known."""

import itertools

import numpy as np
from scipy import stats

from trueness.stats import holm
from trueness.stats.ties import in_groups


def test_what_cannot_be_told_apart_is_together():
    rng = np.random.default_rng(0)
    units = rng.normal(0, 1, 40)
    values = {
        "best": units + 2 + rng.normal(0, 0.1, 40),
        "like it": units + 2.01 + rng.normal(0, 0.1, 40),
        "worse": units + 1 + rng.normal(0, 0.1, 40),
        "worst": units + rng.normal(0, 0.1, 40),
    }
    assert in_groups(values) == [["best", "like it"], ["worse"], ["worst"]]
    # Literally: all pairs, a paired t-test each, Holm over them.
    pairs = list(itertools.combinations(values, 2))
    raw = [stats.ttest_rel(values[one], values[other]).pvalue for one, other in pairs]
    apart = {pair for pair, p_value in zip(pairs, holm(raw), strict=True) if p_value < 0.05}
    assert {("best", "worse"), ("best", "worst"), ("worse", "worst")} <= apart
    assert ("best", "like it") not in apart


def test_few_units_give_ties():
    values = {"gradient": np.array([0.9, 0.5, 0.8]), "random": np.array([0.5, 0.6, 0.5])}
    assert in_groups(values) == [["gradient", "random"]]
    assert in_groups({"alone": np.array([0.3])}) == [["alone"]]
    assert in_groups({}) == []


def test_noise_is_a_tie():
    rng = np.random.default_rng(1)
    told = sum(len(in_groups({str(name): rng.normal(0, 1, 5) for name in range(4)})) > 1 for _ in range(300))
    assert told <= 0.07 * 300
