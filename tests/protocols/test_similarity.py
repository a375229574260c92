import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueness.protocols.similarity import flat, largest_of, similarity

SCORES = st.integers(-1000, 1000).map(lambda number: number / 8)
SHAPE = st.tuples(st.integers(1, 5), st.integers(1, 8))


@st.composite
def explanations(draw):
    shape = draw(SHAPE)
    one, two = (draw(arrays(float, shape, elements=SCORES)) for _ in range(2))
    return one, two, draw(arrays(bool, shape))


def literally(first, second, mask):
    """Text by text, from the definition."""
    found = []
    for a, b, inside in zip(first, second, mask, strict=True):
        a, b = a[inside], b[inside]
        flat = [len(set(scores.tolist())) == 1 for scores in (a, b)]
        if len(a) < 2:
            found.append(np.nan)
        elif any(flat):
            found.append(float(all(flat)))
        else:
            found.append(np.corrcoef(a, b)[0, 1])
    return np.array(found)


@given(explanations())
def test_it_is_pearsons_correlation_of_each_text(given_):
    assert similarity(*given_) == pytest.approx(literally(*given_), abs=1e-9, nan_ok=True)


@given(explanations(), st.floats(0.01, 100), SCORES)
def test_a_picture_keeps_its_likeness_under_scale_and_shift(given_, scale, shift):
    first, second, mask = given_
    plain = similarity(first, second, mask)
    assert similarity(second, first, mask) == pytest.approx(plain, abs=1e-12, nan_ok=True)
    assert similarity(scale * first + shift, second, mask) == pytest.approx(plain, abs=1e-6, nan_ok=True)
    enough = mask.sum(axis=1) >= 2
    assert similarity(first, first, mask)[enough] == pytest.approx(1.0)
    assert (np.abs(plain[enough]) <= 1).all()


@given(explanations())
def test_an_inverted_picture_is_the_opposite(given_):
    first, _, mask = given_
    flat = np.array([len(set(row[inside].tolist())) < 2 for row, inside in zip(first, mask, strict=True)])
    assert similarity(first, -first, mask)[~flat] == pytest.approx(-1.0)


@given(explanations(), st.randoms())
def test_the_order_of_texts_and_what_is_outside_the_mask_change_nothing(given_, random):
    first, second, mask = given_
    order = list(range(len(mask)))
    random.shuffle(order)
    plain = similarity(first, second, mask)
    np.testing.assert_array_equal(similarity(first[order], second[order], mask[order]), plain[order])
    outside = [np.where(mask, scores, np.nan) for scores in (first, second)]
    np.testing.assert_array_equal(similarity(*outside, mask), plain)


def test_flat_scores_are_like_flat_ones_only():
    flat, picture, mask = np.full((1, 4), 0.1, dtype=np.float32), np.array([[1.0, 2, 3, 4]]), np.ones((1, 4), bool)
    assert similarity(flat, 7 * flat, mask) == [1.0]
    assert similarity(flat, 0 * flat, mask) == [1.0]
    assert similarity(flat, picture, mask) == similarity(picture, flat, mask) == [0.0]
    assert similarity(1e-20 * picture, picture, mask) == pytest.approx(1.0)  # small, yet not flat


def test_one_score_or_none_is_no_picture():
    scores = np.array([[1.0, 2, 3], [1.0, 2, 3]])
    assert np.isnan(similarity(scores, scores, np.array([[False, True, False], [False] * 3]))).all()
    assert np.isnan(similarity(scores[:, :0], scores[:, :0], np.zeros((2, 0), dtype=bool))).all()
    assert similarity(scores[:0], scores[:0], np.zeros((0, 3), dtype=bool)).shape == (0,)


def test_a_missing_score_makes_the_text_undefined():
    scores, mask = np.array([[1.0, 2, 3], [3.0, 1, 2]]), np.ones((2, 3), dtype=bool)
    missing = np.array([[1.0, np.nan, 3], [3.0, 1, 2]])
    assert np.isnan(similarity(missing, scores, mask)).tolist() == [True, False]


def test_rounding_beside_the_scores_of_other_texts_is_no_picture_and_what_is_small_is():
    """LIME leaves 1e-31 where hiding changes nothing; gradients of a saturated model are small, and real."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 3, 6)) * np.array([1.0, 1e-31, 1e-12])[:, None]
    mask = np.ones((3, 6), dtype=bool)
    assert flat(first, mask).tolist() == [False, True, False]
    plain, one_by_one = similarity(first, second, mask), similarity(first[1:2], second[1:2], mask[1:2])
    assert plain[1] == 1.0
    assert plain[[0, 2]] == pytest.approx(np.corrcoef(first, second)[[0, 2], [3, 5]])
    assert one_by_one != [1.0], "alone nothing tells that it is rounding"
    assert similarity(first[1:2], second[1:2], mask[1:2], largest_of(first)) == [1.0]
    assert flat(first[:, :1], mask[:, :1]).tolist() == [False] * 3, "one place has no order to lose"
    assert largest_of(np.array([[np.nan, -2.0], [np.inf, 1.0]])) == 2.0
