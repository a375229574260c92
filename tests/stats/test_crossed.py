"""Means over seeds and instances, by hand."""

import numpy as np
import pytest
from scipy.stats import t as student

from trueness.stats import t_interval
from trueness.stats.crossed import crossed_difference, crossed_interval, crossed_p_value
from trueness.stats.undefined import Undefined


def test_two_seeds_count_as_seeds():
    found = crossed_interval([[1.0, 2.0, 4.0], [3.0, 4.0, 6.5]])
    assert (found.value, found.n) == (pytest.approx(20.5 / 6), 2)
    assert found.high - found.low > 10, "one degree of freedom between seeds that lie 2 apart"


def test_one_seed_is_students_over_instances():
    values = [1.0, 2.0, np.nan, 4.0]
    found, plain = crossed_interval([values]), t_interval([1.0, 2.0, 4.0])
    assert (found.value, found.low, found.high, found.n) == (plain.value, plain.low, plain.high, 3)


def test_the_same_everywhere_has_no_interval():
    found = crossed_interval(np.ones((3, 4)))
    assert isinstance(found.low, Undefined)
    assert found.value == 1.0
    assert crossed_p_value(np.ones((3, 4))) == 0.0
    assert crossed_p_value(np.zeros((3, 4))) == 1.0
    assert crossed_p_value(np.ones((3, 1))) == 1.0, "one instance tells nothing of others"


def test_a_table_is_needed():
    with pytest.raises(ValueError, match=r"^a table of seeds and instances is needed$"):
        crossed_interval([1.0, 2.0])


def test_a_difference_of_models_by_hand():
    """Two seeds of one kind, three of the other, four instances; variances as the equation has them."""
    one = np.array([[1.0, 2.0, 4.0, 3.0], [2.0, 2.5, 5.0, 3.0]])
    other = np.array([[0.0, 1.0, 2.0, 1.0], [0.5, 1.0, 2.5, 2.0], [0.0, 2.0, 2.0, 1.0]])
    found = crossed_difference(one, other)
    assert (found.value, found.n, found.clusters) == (pytest.approx(one.mean() - other.mean()), 2, 4)

    def noise(table):
        seeds, texts = table.shape
        rest = [
            table[i, j] - table[i].mean() - table[:, j].mean() + table.mean()
            for i in range(seeds)
            for j in range(texts)
        ]
        return sum(value**2 for value in rest) / ((seeds - 1) * (texts - 1)) / (seeds * texts)

    seeds = [table.mean(axis=1).var(ddof=1) / len(table) for table in (one, other)]
    texts = (one.mean(axis=0) - other.mean(axis=0)).var(ddof=1) / 4 - noise(one) - noise(other)
    freedom = sum(seeds) ** 2 / (seeds[0] ** 2 / 1 + seeds[1] ** 2 / 2)
    parts = np.array([sum(seeds), max(texts, 0.0)])
    quantile = parts @ student.ppf(0.975, [freedom, 3]) / parts.sum()
    assert found.high - found.value == pytest.approx(quantile * np.sqrt(parts.sum()))


def test_missing_cells_do_not_make_a_difference():
    """Where every known difference is 0, so is the mean, whichever instances a seed lacks."""
    hole = np.nan
    assert crossed_difference([[0, 10], [0, hole]], [[0, 10], [0, 10]]).value == 0
    with pytest.raises(ValueError, match="the same instances"):
        crossed_difference([[1.0, 2.0]], [[1.0]])
    with pytest.raises(ValueError, match="two tables"):
        crossed_difference([1.0, 2.0], [1.0, 3.0])


def test_a_difference_of_single_models_is_students_over_instances():
    one, other = [[1.0, 2.0, np.nan, 4.0]], [[0.0, 3.0, 1.0, 2.0]]
    found, plain = crossed_difference(one, other), t_interval([1.0, -1.0, 2.0])
    assert (found.low, found.high) == (pytest.approx(plain.low), pytest.approx(plain.high))
    assert isinstance(crossed_difference(np.ones((2, 3)), np.zeros((2, 3))).low, Undefined)
    assert isinstance(crossed_difference([[np.nan]], [[1.0]]).value, Undefined)


@pytest.mark.parametrize("level", [0.5, 0.8])
def test_levels(level):
    """Quantiles of both parts at that level; of one seed, or one instance, Student's at it."""
    table = np.array([[1.0, 2.0, 4.0, 3.0], [2.0, 2.5, 5.0, 3.0], [0.0, 1.5, 4.5, 2.0]])
    found, usual = crossed_interval(table, level=level), crossed_interval(table)
    seeds = table.mean(axis=1).var(ddof=1) / 3
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    texts = table.mean(axis=0).var(ddof=1) / 4 - (rest**2).sum() / 6 / 12
    for one, at in ((found, level), (usual, 0.95)):
        quantiles = student.ppf((1 + at) / 2, [2, 3])
        half = (np.array([seeds, texts]) @ quantiles) / np.sqrt(seeds + texts)
        assert (one.level, one.high - one.value) == (at, pytest.approx(half))
    for single in (table[:1], table[:, :1]):
        plain = t_interval(single.ravel(), level=level)
        found = crossed_interval(single, level=level)
        assert (found.low, found.high, found.level) == (plain.low, plain.high, level)
    other = np.flip(table)
    wide, narrow = (crossed_difference(table, other, level=at) for at in (0.95, level))
    assert narrow.high - narrow.low < wide.high - wide.low
    one, plain = crossed_difference(table[:, :1], other[:, :1], level=level), t_interval([0.0], level=level)
    assert (one.level, one.n) == (plain.level, plain.n)
    assert narrow.level == level


def test_a_hole_is_no_cell():
    """The noise of single cells is that of those that are there: literally, with a loop over them."""
    hole = np.nan
    table = np.array([[1.0, 2.0, 4.0, 3.0, hole], [2.0, hole, 5.0, 3.0, 2.0], [0.0, 1.5, 4.5, hole, 1.0]])
    there = [(i, j) for i in range(3) for j in range(5) if np.isfinite(table[i, j])]
    seed = [np.mean([table[i, j] for i, j in there if i == one]) for one in range(3)]
    text = [np.mean([table[i, j] for i, j in there if j == one]) for one in range(5)]
    mean = np.mean([table[place] for place in there])
    squares = sum((table[i, j] - seed[i] - text[j] + mean) ** 2 for i, j in there)
    noise = squares / (len(there) - 3 - 5 + 1) / len(there)
    over_seeds, over_texts = np.var(seed, ddof=1) / 3, max(np.var(text, ddof=1) / 5 - noise, 0.0)
    quantiles = student.ppf(0.975, [2, 4])
    found = crossed_interval(table)
    assert found.value == pytest.approx(mean)
    expected = (over_seeds * quantiles[0] + over_texts * quantiles[1]) / np.sqrt(over_seeds + over_texts)
    assert found.high - found.value == pytest.approx(expected)
