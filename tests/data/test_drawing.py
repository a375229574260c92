"""Which examples are looked at where not all are."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from trueness.data.dataset import drawn


def test_texts_sorted_by_label_are_drawn_evenly():
    labels = [1] * 900 + [0] * 921  # as SST's
    assert Counter(labels[row] for row in drawn(labels, 500)) == {0: 250, 1: 250}
    assert Counter((["a"] * 5 + ["b"] * 100)[row] for row in drawn([0] * 5 + [1] * 100, 20)) == {"a": 5, "b": 15}
    assert drawn(labels, 5) != list(range(5))


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(0, 40))
def test_every_place_at_most_once_fewer_begin_more_and_no_label_is_ahead(labels, count):
    found = drawn(labels, count)
    assert len(found) == len(set(found)) == min(count, len(labels))
    if count < len(labels):
        assert found == drawn(labels, len(labels) - 1)[:count]
        taken, there = Counter(labels[row] for row in found), Counter(labels)
        most = max(taken.values(), default=0)
        assert all(taken[label] >= min(most - 1, there[label]) for label in there)
    assert found == drawn(labels, count)
