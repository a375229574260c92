import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness.stats import benjamini_hochberg, holm

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def literal_holm(p):
    """max over j <= i of min(1, (m - j) p_(j)), j counted from 0 in ascending order."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    largest = 0.0
    for position, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - position) * p[index]))
        adjusted[index] = largest
    return adjusted


def literal_benjamini_hochberg(p):
    """min over j >= i of min(1, m p_(j) / j), j counted from 1 in ascending order."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    smallest = 1.0
    for position in range(len(p), 0, -1):
        smallest = min(smallest, len(p) * p[order[position - 1]] / position)
        adjusted[order[position - 1]] = smallest
    return adjusted


@given(p_lists)
def test_both_equal_their_definitions(p):
    assert holm(p) == pytest.approx(literal_holm(p))
    assert benjamini_hochberg(p) == pytest.approx(literal_benjamini_hochberg(p))


def test_nothing_in_nothing_out():
    assert holm([]).size == 0


def test_what_is_not_a_p_value_is_refused():
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([0.1, float("nan")])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        benjamini_hochberg([1.2])
