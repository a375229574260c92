"""Means over seeds and instances, by hand."""

import numpy as np
import pytest

from trueness.stats import t_interval
from trueness.stats.crossed import crossed_interval, crossed_p_value
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
