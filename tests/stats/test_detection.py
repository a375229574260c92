import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from trueness.stats import Reason, Undefined, attribution_share, detection_auc, mean_rank, precision_at

RNG = np.random.default_rng(0)
SIZES = RNG.integers(4, 13, 60)
MASK = np.arange(12) < SIZES[:, None]
MARKED = (RNG.random(MASK.shape) < 0.3) & MASK
MARKED[:, 0], MARKED[:, 1] = True, False
SCORES = np.round(RNG.normal(size=MASK.shape), 1)


def test_they_equal_their_definitions():
    share, auc = attribution_share(SCORES, MARKED, MASK), detection_auc(SCORES, MARKED, MASK)
    rank, precision = mean_rank(SCORES, MARKED, MASK), precision_at(SCORES, MARKED, MASK, k=1)
    for row, size in enumerate(SIZES):
        scores, marks = np.abs(SCORES[row, :size]), MARKED[row, :size]
        assert share[row] == pytest.approx(scores[marks].sum() / scores.sum())
        assert auc[row] == pytest.approx(roc_auc_score(marks, scores))
        above = [np.sum(scores > scores[i]) + (np.sum(scores == scores[i]) - 1) / 2 for i in np.flatnonzero(marks)]
        assert rank[row] == pytest.approx(np.mean(above) / (size - 1))
        assert precision[row] == pytest.approx(marks[scores == scores.max()].mean())


def test_laws():
    """Who returns the evidence finds it; who says nothing gets its share."""
    perfect = MARKED * 2.5
    for measure, best in ((attribution_share, 1), (detection_auc, 1), (precision_at, 1)):
        assert measure(perfect, MARKED, MASK).compressed() == pytest.approx(best)
    constant = np.full(MASK.shape, -0.3)
    size = MARKED.sum(axis=1) / MASK.sum(axis=1)
    assert attribution_share(constant, MARKED, MASK).compressed() == pytest.approx(size)
    assert precision_at(constant, MARKED, MASK).compressed() == pytest.approx(size)
    assert detection_auc(constant, MARKED, MASK).compressed() == pytest.approx(0.5)
    assert mean_rank(constant, MARKED, MASK).compressed() == pytest.approx(0.5)


def test_what_cannot_be_answered_says_why():
    nothing = np.zeros((1, 3), dtype=bool)
    for measure in (attribution_share, detection_auc, precision_at, mean_rank):
        assert measure([[1.0, 2.0, 3.0]], nothing)[0] == Undefined(Reason.NOTHING_MARKED)
        assert measure([[1.0, np.nan, 3.0]], [[True, False, False]])[0] == Undefined(Reason.NOT_FINITE)
    for measure in (detection_auc, precision_at, mean_rank):
        assert measure([[1.0, 2.0]], [[True, True]])[0] == Undefined(Reason.ALL_MARKED)
    assert attribution_share([[0.0, 0.0]], [[True, False]])[0] == Undefined(Reason.CONSTANT)
