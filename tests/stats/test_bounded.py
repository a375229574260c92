"""Gaffke's test: exact where the truth is known, and as its definition says by drawing."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from trueness.stats.bounded import mean_p

VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.35, 0.8, 1.0]), min_size=1, max_size=25)


@pytest.mark.parametrize(
    ("n", "k", "threshold"), [(1, 1, 0.5), (5, 5, 0.75), (30, 28, 0.75), (30, 10, 0.75), (500, 480, 0.9), (500, 3, 0.5)]
)
def test_of_two_values_it_is_the_binomial_test(n, k, threshold):
    expected = binomtest(k, n, threshold, alternative="greater").pvalue
    assert mean_p([1.0] * k + [0.0] * (n - k), threshold, 0.0) == pytest.approx(expected, rel=1e-5)


def test_of_one_value_it_is_markovs_inequality():
    for value, threshold in ((0.9, 0.3), (0.5, 0.4), (7.0, 0.1)):
        assert mean_p([value], threshold, 0.0) == pytest.approx(threshold / value, rel=1e-6)


@pytest.mark.parametrize("n", [3, 12, 40])
@pytest.mark.parametrize("low", [0.0, -1.0])
def test_it_is_the_chance_that_its_definition_names(n, low):
    rng = np.random.default_rng([n, int(-low)])
    values = rng.beta(4, 1, n)
    for threshold in (values.mean() - 0.1, values.mean(), 0.97 * values.max()):
        weights = rng.exponential(size=(200_000, n + 1))
        drawn = (weights @ np.append(values - threshold, low - threshold) <= 0).mean()
        assert mean_p(values, threshold, low) == pytest.approx(drawn, abs=0.005)


def test_it_never_errs_too_often_on_three_values():
    """All samples of up to six values, of many distributions on three points: the exact chance of each false denial."""
    points = [(0.0, 0.5, 1.0), (0.0, 0.9, 1.0), (0.0, 0.1, 1.0), (0.3, 0.4, 1.0)]
    chances = [(a, b, 1 - a - b) for a in (0.02, 0.2, 0.5) for b in (0.05, 0.3, 0.45)]
    for n, values in itertools.product((2, 4, 6), points):
        counts = [(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]
        for chance in chances:
            mean = float(np.dot(values, chance))
            known = np.array([mean_p(np.repeat(values, count), mean, 0.0) for count in counts])
            likely = np.array(
                [
                    math.factorial(n) * math.prod(c**k / math.factorial(k) for c, k in zip(chance, count, strict=True))
                    for count in counts
                ]
            )
            for level in np.sort(known[known < 0.5]):
                assert likely[known <= level].sum() <= level + 1e-9


@given(VALUES, st.floats(0.01, 0.99), st.randoms())
def test_order_changes_nothing_and_a_higher_threshold_is_likelier(values, threshold, random):
    found = mean_p(values, threshold, 0.0)
    assert 0 <= found <= 1
    assert mean_p(values, min(1.0, threshold + 0.01), 0.0) >= found - 1e-9
    random.shuffle(values)
    assert mean_p(values, threshold, 0.0) == pytest.approx(found, rel=1e-9)


@given(VALUES, st.floats(0.05, 0.95), st.integers(2, 4))
def test_so_many_times_the_data_are_the_data_so_often(values, threshold, times):
    assert mean_p(values, threshold, 0.0, times=times) == pytest.approx(
        mean_p(values * times, threshold, 0.0), rel=1e-6, abs=1e-12
    )


@given(VALUES, st.floats(0.05, 0.95), st.floats(0.1, 10), st.floats(-5, 5))
def test_it_has_no_unit(values, threshold, scale, shift):
    moved = mean_p(scale * np.array(values) + shift, scale * threshold + shift, shift)
    assert moved == pytest.approx(mean_p(values, threshold, 0.0), rel=1e-3, abs=1e-9)


@given(VALUES, st.floats(0.05, 0.95), st.floats(0.0, 2.0))
def test_a_looser_bound_is_less_sure(values, threshold, further):
    assert mean_p(values, threshold, -further) >= mean_p(values, threshold, 0.0) - 1e-9


def test_where_there_is_nothing_to_learn():
    assert mean_p([], 0.5, 0.0) == 1.0
    assert mean_p([0.2, 0.3], 0.3, 0.0) == 1.0, "no value lies above"
    assert mean_p([0.2, 0.3], 0.0, 0.0) == 0.0, "all values would have to be 0"
    assert mean_p([0.0, 0.0], 0.0, 0.0) == 1.0
