"""Strengths from choices and agreement between raters, against slow ways and by hand."""

import itertools
import math
import random

import numpy as np
import pytest
from scipy.stats import norm

from trueness.stats.preferences import bradley_terry, krippendorff


def slow_strengths(choices, names, steps=4000):
    """Maximum of the same penalised likelihood by plain gradient ascent."""
    value = dict.fromkeys(names, 0.0)
    for _ in range(steps):
        slope = {name: -0.05 * value[name] for name in names}
        for first, second, share in choices:
            chance = 1 / (1 + math.exp(value[second] - value[first]))
            slope[first] += share - chance
            slope[second] -= share - chance
        for name in names:
            value[name] += 0.05 * slope[name]
    return value


def test_strengths_are_those_of_the_slow_way():
    draw = random.Random(1)
    choices = [(*draw.sample("abcd", 2), draw.choice([0, 0.5, 1])) for _ in range(40)]
    found = bradley_terry(choices)
    slow = slow_strengths(choices, found.names)
    for one, other in itertools.combinations(found.names, 2):
        assert found.difference(one, other)[0] == pytest.approx(slow[one] - slow[other], abs=1e-4)


def test_what_was_never_compared_has_no_strength():
    assert bradley_terry([("a", "b", 1), ("c", "d", 1)]) is None
    assert bradley_terry([]) is None
    always = bradley_terry([("a", "b", 1)] * 5)
    assert math.isfinite(always.difference("a", "b")[2])


def test_alpha_by_hand():
    """Krippendorff's own example of nominal data (2011), four raters: 0.743."""
    rows = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")
    items = [
        {str(rater): answer for rater, answer in enumerate(column) if answer != "."}
        for column in zip(*(row.split() for row in rows), strict=True)
    ]
    assert krippendorff(items) == pytest.approx(0.743, abs=0.001)
    assert krippendorff([{"a": 1}, {"b": 2}]) is None
    assert krippendorff([{"a": 1, "b": 1}] * 3) is None


def test_two_are_as_strong_as_the_odds_say():
    """60 of 100, prior 0.05: nearly ln(60 / 40), and the sum is 0."""
    found = bradley_terry([("a", "b", 1)] * 60 + [("a", "b", 0)] * 40)
    value, low, high = found.difference("a", "b")
    assert found.names == ("a", "b")
    assert value == pytest.approx(math.log(60 / 40), abs=2e-3)
    assert found.value.sum() == pytest.approx(0, abs=1e-12)
    half = norm.ppf(0.975) / math.sqrt(100 * 0.6 * 0.4)
    assert (high - low) / 2 == pytest.approx(half, rel=0.02)
    assert value - low == pytest.approx(high - value)
    back = found.difference("b", "a")
    assert back == pytest.approx((-value, -high, -low))
    wide = found.difference("a", "b", level=0.99)
    assert (wide[2] - wide[1]) / (high - low) == pytest.approx(norm.ppf(0.995) / norm.ppf(0.975))


def test_choices_of_one_cluster_count_as_one():
    """Each choice five times over: with clusters the interval is that of the 40, without that of the 200."""
    draw = random.Random(3)
    single = [("a", "b", draw.choice([0, 1])) for _ in range(40)]
    many = [one for one in single for _ in range(5)]
    clusters = [number for number in range(40) for _ in range(5)]
    asked = (many,), (many, clusters), (single,)
    widths = [np.ptp(bradley_terry(*given).difference("a", "b")[1:]) for given in asked]
    assert widths[1] == pytest.approx(widths[2], rel=0.05)
    assert widths[0] == pytest.approx(widths[2] / math.sqrt(5), rel=0.05)


def test_compared_through_others_is_compared():
    found = bradley_terry([("a", "b", 1), ("b", "a", 1), ("c", "b", 0), ("b", "c", 0)])
    assert found.names == ("a", "b", "c")
    assert found.difference("a", "c")[0] == pytest.approx(0, abs=1e-9)


def test_alpha_of_two_answers_each():
    """Agree on 3 of 4: observed 1/4 apart; 5 and 3 answers of a kind: 2 x 5 x 3 / (8 x 7) apart by chance."""
    items = [{"x": 1, "y": 1}, {"x": 1, "y": 1}, {"x": 0, "y": 0}, {"x": 1, "y": 0}, {"x": 1}]
    assert krippendorff(items) == pytest.approx(1 - 0.25 / (30 / 56))
