import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from trueness.stats import Reason, Undefined
from trueness.stats.classification import accuracy, macro_f1, roc_auc

LABELS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)
SCORED = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), st.booleans()), min_size=1, max_size=30)


@given(LABELS)
def test_accuracy_and_macro_f1_equal_scikit_learn(pairs):
    predicted, gold = zip(*pairs, strict=True)
    assert accuracy(predicted, gold) == pytest.approx(metrics.accuracy_score(gold, predicted))
    expected = metrics.f1_score(gold, predicted, labels=[0, 1, 2], average="macro", zero_division=0)
    assert macro_f1(predicted, gold, 3) == pytest.approx(expected)


@given(SCORED)
def test_auc_is_the_share_of_pairs_in_order(rows):
    score, positive = map(np.array, zip(*rows, strict=True))
    pairs = [(a > b) + 0.5 * (a == b) for a in score[positive] for b in score[~positive]]
    found = roc_auc(score, positive)
    assert found == (pytest.approx(np.mean(pairs)) if pairs else Undefined(Reason.CONSTANT))


def test_by_hand():
    assert accuracy([0, 1, 1, 1], [0, 1, 0, 0]) == 0.5
    assert macro_f1([0, 1, 1, 1], [0, 1, 0, 0], 2) == pytest.approx((2 / 4 + 2 / 4) / 2)
    assert macro_f1([0, 0], [0, 0], 2) == 0.5, "a class that does not occur counts 0"
    assert roc_auc([1, 2, 3], [0, 0, 1]) == 1.0
    assert roc_auc([3, 2, 1], [0, 0, 1]) == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_degenerate_input(bad):
    assert accuracy([], []) == Undefined(Reason.EMPTY)
    assert macro_f1([], [], 2) == Undefined(Reason.EMPTY)
    assert roc_auc([], []) == Undefined(Reason.EMPTY)
    assert roc_auc([1.0, bad], [0, 1]) == Undefined(Reason.NOT_FINITE)
    assert roc_auc([1.0, 2.0], [1, 1]) == Undefined(Reason.CONSTANT)
    assert roc_auc([1.0, 2.0], [0, 0]) == Undefined(Reason.CONSTANT)
