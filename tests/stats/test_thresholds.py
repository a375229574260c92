"""Means, ratios, shares and crossed means beside a threshold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trueness.stats.thresholds import Crossed, Mean, Normal, Ratio, ThresholdTest, crossed_of, mean_of, ratio_of

LEVELS = (0.025, 0.0025, 0.0001)
RNG = np.random.default_rng(0)
SOME = {
    "mean": Mean(RNG.beta(5, 1, 40)),
    "below 0": Mean(RNG.uniform(-1, 0.5, 40), -1.0, 1.0),
    "share": Mean(np.array([1.0] * 28 + [0.0] * 2)),
    "ratio": Ratio(RNG.uniform(-0.2, 0.4, 60), RNG.uniform(0, 0.5, 60)),
    "of correlations": Ratio(RNG.uniform(0.2, 0.9, 60), RNG.uniform(0.1, 1, 60), 0.0),
    "few": Normal(RNG.normal(0.5, 0.1, 5)),
    "models": Crossed(Mean(RNG.uniform(0.7, 1, 15), 0.5), Mean(RNG.uniform(0.6, 1, 60))),
    "draws": Crossed(Normal(RNG.normal(0.8, 0.1, 5)), Mean(RNG.uniform(0.5, 1, 60), -1.0)),
}


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("level", LEVELS)
def test_a_limit_is_where_the_test_stops_denying(name, level):
    found = SOME[name]
    low, high = found.lower(level), found.upper(level)
    assert low < found.value < high
    assert found.p_above(low) == pytest.approx(level, rel=2e-2)
    assert found.p_below(high) == pytest.approx(level, rel=2e-2)
    assert found.p_above(low - 0.01) < level < found.p_above(low + 0.01)
    assert found.p_below(high + 0.01) < level < found.p_below(high - 0.01)


@pytest.mark.parametrize(("k", "n"), [(30, 30), (28, 30), (15, 30), (1, 30), (0, 30), (97, 100)])
def test_limits_of_a_share_are_exact(k, n):
    """Clopper and Pearson."""
    found = mean_of([1.0] * k + [0.0] * (n - k) + [np.nan])
    assert (found.value, found.n) == (k / n, n)
    for level in LEVELS:
        assert found.lower(level) == pytest.approx(stats.beta.ppf(level, k, n - k + 1) if k else 0.0, abs=1e-5)
        assert found.upper(level) == pytest.approx(stats.beta.isf(level, k + 1, n - k) if k < n else 1.0, abs=1e-5)


def test_a_ratio_is_above_where_the_mean_of_the_difference_is_above_0():
    over, under = np.array([0.3, -0.1, 0.5, 0.2] * 10), np.array([0.6, 0.1, 0.9, 0.0] * 10)
    found = ratio_of(over, under)
    assert found.value == pytest.approx(0.9 / 1.6)
    assert found.p_above(0.4) == Mean(over - 0.4 * under, -1.4, 1.0).p_above(0.0)
    assert found.p_below(0.7) == Mean(over - 0.7 * under, -1.7, 1.0).p_below(0.0)
    assert found.p_below(-0.2) == Mean(over + 0.2 * under, -1.0, 1.2).p_below(0.0)
    assert found.carriers == pytest.approx(16**2 / (10 * (0.36 + 0.01 + 0.81)))
    assert ratio_of([*over, np.nan, 1.0], [*under, 1.0, np.nan]).p_above(0.4) == found.p_above(0.4)
    surer = ratio_of(np.abs(over), under, least=0.0)
    assert surer.p_above(0.4) == Mean(np.abs(over) - 0.4 * under, -0.4, 1.0).p_above(0.0)


@pytest.mark.parametrize("below", [[0.0] * 9, [1e-10] * 9])
def test_nothing_is_divided_by_what_is_zero(below):
    assert ratio_of(np.linspace(0, 1, len(below)), below) is None


def test_a_few_values_are_judged_by_students_test():
    x = np.array([0.7, 0.9, 0.75, 0.8, 0.95])
    for threshold in (0.5, 0.8, 0.9):
        above, below = (stats.ttest_1samp(x, threshold, alternative=side).pvalue for side in ("greater", "less"))
        found = Normal(x)
        assert (found.p_above(threshold), found.p_below(threshold)) == pytest.approx((above, below))
    interval = stats.ttest_1samp(x, 0.0).confidence_interval(0.95)
    assert (Normal(x).lower(0.025), Normal(x).upper(0.025)) == pytest.approx((interval.low, interval.high))
    same = Normal(np.full(5, 0.3))
    assert (same.p_above(0.2), same.p_above(0.3), same.p_below(0.4)) == (0.0, 1.0, 0.0)


def test_of_a_crossed_mean_distances_of_both_parts_are_added_as_squares():
    values = np.clip(np.random.default_rng(1).normal(0.8, 0.1, (15, 60)), 0, 1)
    by_model, by_text = Mean(values.mean(axis=1), 0.5), Mean(values.mean(axis=0))
    found = crossed_of(values, unit_least=0.5)
    assert (found.value, found.n, found.units.n) == (pytest.approx(values.mean()), 60, 15)
    for level in LEVELS:
        down = math.hypot(values.mean() - by_model.lower(level), values.mean() - by_text.lower(level))
        up = math.hypot(by_model.upper(level) - values.mean(), by_text.upper(level) - values.mean())
        assert (found.lower(level), found.upper(level)) == pytest.approx((values.mean() - down, values.mean() + up))
    own, other = by_model.values.var(ddof=1) / 15, by_text.values.var(ddof=1) / 60
    assert found.by_units == pytest.approx(own / (own + other))
    assert found.p_above(0.7, unit_times=2) < found.p_above(0.7)
    assert found.p_above(0.7, times=2) < found.p_above(0.7)


def test_a_model_below_what_was_expected_lowers_the_bound():
    values = np.full((15, 60), 0.9)
    values[3] = 0.2
    assert crossed_of(values, unit_least=0.5).units.least == pytest.approx(0.2)
    assert crossed_of(np.full((15, 60), 0.9), unit_least=0.5).units.least == 0.5
    framed = np.full((16, 62), np.nan)
    framed[1:, 2:] = values
    assert crossed_of(framed, unit_least=0.5).p_above(0.7) == crossed_of(values, unit_least=0.5).p_above(0.7)


def test_draws_that_do_not_differ_leave_the_error_of_texts():
    texts = np.random.default_rng(2).uniform(0, 1, 50)
    found, alone = crossed_of(np.stack([texts] * 5)), mean_of(texts)
    for threshold in (0.3, 0.4):
        assert found.p_above(threshold) == pytest.approx(alone.p_above(threshold), rel=1e-3)
    assert found.lower(0.0025) == pytest.approx(alone.lower(0.0025))
    assert found.by_units == 0.0


@pytest.mark.parametrize("values", [[], [1.0], [1.0, np.nan]])
def test_fewer_than_two_values_say_nothing(values):
    assert mean_of(values) is None
    assert ratio_of(values, np.ones(len(values))) is None


@pytest.mark.parametrize("shape", [(0, 5), (1, 5), (5, 1)])
def test_fewer_than_two_models_or_texts_say_nothing(shape):
    assert crossed_of(np.full(shape, 0.5)) is None


def test_values_beyond_their_bounds_are_refused():
    with pytest.raises(ValueError, match="outside 0 to 1"):
        mean_of([0.5, 1.2])
    assert mean_of([0.5, 1 + 1e-8]).n == 2, "rounding"


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.floats(0.05, 0.95))
def test_what_is_mirrored_is_as_unlikely(values, threshold):
    x = np.array(values)
    assert Mean(x).p_above(threshold) == pytest.approx(Mean(1 - x).p_below(1 - threshold), rel=1e-4, abs=1e-9)


def test_a_test_knows_both_sides():
    found = ThresholdTest(SOME["mean"], 0.6)
    assert (found.p_above, found.p_below) == (SOME["mean"].p_above(0.6), SOME["mean"].p_below(0.6))
    assert found.above == (SOME["mean"].value > 0.6)
    assert (found.value, found.n) == (SOME["mean"].value, 40)


# How often it errs: at a one-sided level of .025, of 300 to 1,000 draws; more is in docs/statistics-of-verdicts.md

DRAWS, FEWER = 1000, 300
MANY = 0.025 + 3 * math.sqrt(0.025 * 0.975 / DRAWS)


@pytest.mark.parametrize("texts", [60, 300])
@pytest.mark.parametrize("moving", [0.1, 0.3, 1.0])
def test_few_texts_that_carry_a_ratio_do_not_deny_it_too_often(texts, moving):
    """A method that names the right word in a quarter of the texts, the threshold being a quarter."""
    rng = np.random.default_rng([texts, int(10 * moving)])
    shape = DRAWS, texts
    best = np.where(rng.random(shape) < moving, rng.beta(5, 1, shape), np.abs(rng.normal(0, 0.005, shape)))
    own = np.where(rng.random(shape) < 0.25, best, 0.0)
    found = [ratio_of(a, b) for a, b in zip(own, best, strict=True)]
    assert np.mean([one.p_above(0.25) <= 0.025 for one in found]) <= MANY
    assert np.mean([one.p_below(0.25) <= 0.025 for one in found]) <= MANY


@pytest.mark.parametrize(("bad", "share"), [(0.5, 0.5), (0.4, 0.2)])
def test_fifteen_models_that_are_at_the_threshold_do_not_pass_too_often(bad, share):
    """Some models are found out and others are not. Where few are not, Student's test passes them twice too often."""
    rng = np.random.default_rng(5)
    good = 1.0 if share == 0.5 else 0.85
    threshold = share * bad + (1 - share) * good
    passed = student = 0
    for draw in range(DRAWS):
        own = np.where(rng.random((15, 1)) < share, bad, good)
        noise = 0.2 * np.minimum(own, 1 - own) * (rng.uniform(-1, 1, (1, 60)) + rng.uniform(-1, 1, (15, 60)))
        found = crossed_of(own + noise, unit_least=0.5)
        passed += draw < FEWER and found.lower(0.025) > threshold
        student += Normal(found.units.values).lower(0.025) > threshold
    assert passed / FEWER <= MANY
    assert share == 0.5 or student / DRAWS > MANY, "or Student's would do"


@pytest.mark.parametrize("spread", [0.02, 0.1])
def test_five_draws_of_weights_at_the_threshold_are_not_decided_too_often(spread):
    rng = np.random.default_rng(6)
    decided = np.zeros(2)
    for _ in range(FEWER):
        noise = spread * rng.normal(size=(5, 1)) + 0.2 * rng.normal(size=(1, 60)) + 0.2 * rng.normal(size=(5, 60))
        found = crossed_of(np.clip(0.25 + noise, -1, 1), -1.0)
        decided += [found.lower(0.025) > 0.25, found.upper(0.025) < 0.25]
    assert (decided / FEWER <= MANY).all()
