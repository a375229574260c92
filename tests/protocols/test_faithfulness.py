from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from tests.audit.oracle import Right, make_model, make_texts
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.protocols.faithfulness import DRAWS, SHARES, chances, places, removal
from trueness.protocols.levels import LEVELS
from trueness.protocols.randomisation import explained, mask_of

SCORES = st.integers(-500, 500).map(lambda number: number / 16)
FIELDS = ("whole", "important", "unimportant", "soft_important", "soft_unimportant")


@st.composite
def scored(draw):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 9)))
    return draw(arrays(float, shape, elements=SCORES)), draw(arrays(bool, shape))


def by_hand(number=12, seed=0, low=3):
    rng = np.random.default_rng(seed)
    model = make_model(rng)
    texts = [replace(text, label=int(rng.integers(2))) for text in make_texts(rng, number, low=low)]
    split = EncodedSplit(texts, model.coder)
    mask = mask_of(split)
    return model, texts, split, np.where(mask, rng.normal(size=mask.shape), 0.0), mask


def probability(model, text, hidden):
    """Of the text's label, with the words of some places replaced by the mask token."""
    words = tuple("[MASK]" if place in hidden else word for place, word in enumerate(text.tokens))
    batch = EncodedSplit([replace(text, tokens=words)], model.coder).batch([0])
    with torch.no_grad():
        return float(model.network(batch).logits[0].double().softmax(dim=-1)[text.label])


def literal_chances(scores, share):
    """min(1, c * (a + 0.001)) whose mean is the share, c by a root finder."""
    spread = max(scores) - min(scores)
    sizes = [(score - min(scores)) / (spread or 1.0) + 0.001 for score in scores]

    def mean(c):
        return np.mean([min(1.0, c * size) for size in sizes])

    c = brentq(lambda c: mean(c) - share, 0, 1000, xtol=1e-13)
    return [min(1.0, c * size) for size in sizes]


def test_it_is_one_text_at_a_time_with_words_replaced():
    model, texts, split, scores, mask = by_hand()
    ours = removal(model.network, split, scores, mask, seed=5)
    for row, text in enumerate(texts):
        words = scores[row, 1 : len(text.tokens) + 1].tolist()
        order = sorted(range(len(words)), key=lambda place, words=words: -words[place])
        assert ours.whole[row] == pytest.approx(probability(model, text, ()))
        differences = []
        for number, level in enumerate(LEVELS):
            many = max(1, round(level * len(words)))
            top, bottom = probability(model, text, order[:many]), probability(model, text, order[-many:])
            assert (ours.important[row, number], ours.unimportant[row, number]) == pytest.approx((top, bottom))
            differences.append(bottom - top)
        assert ours.cost[row] == pytest.approx(np.mean(differences), abs=1e-7)
        dice = np.random.default_rng([5, row, 1]).random((DRAWS, mask.shape[1]))[:, 1 : len(words) + 1]
        differences = []
        for number, share in enumerate(SHARES):
            found = []
            for sign in (1, -1):
                chance = literal_chances([sign * score for score in words], share)
                looks = [probability(model, text, np.flatnonzero(draw < chance)) for draw in dice]
                found.append(np.mean(looks))
            assert (ours.soft_important[row, number], ours.soft_unimportant[row, number]) == pytest.approx(found)
            differences.append(found[1] - found[0])
        assert ours.soft_cost[row] == pytest.approx(np.mean(differences), abs=1e-7)


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_an_inverted_explanation_costs_the_opposite(seed):
    model, _, split, scores, mask = by_hand(6, seed)
    plain, inverted = (removal(model.network, split, sign * scores, mask) for sign in (1, -1))
    np.testing.assert_array_equal(inverted.cost, -plain.cost)
    np.testing.assert_array_equal(inverted.soft_cost, -plain.soft_cost)
    np.testing.assert_array_equal(inverted.whole, plain.whole)


def test_the_order_of_texts_does_not_matter_where_no_scores_are_equal():
    model, texts, split, scores, mask = by_hand(20)
    order = np.random.default_rng(1).permutation(20)
    plain = removal(model.network, split, scores, mask)
    moved = EncodedSplit([texts[place] for place in order], model.coder)
    other = removal(model.network, moved, scores[order], mask[order])
    np.testing.assert_allclose(other.cost, plain.cost[order], atol=1e-7)


@settings(max_examples=25)
@given(st.floats(0.01, 100), st.integers(-50, 50))
def test_scale_and_shift_of_scores_do_not_matter(scale, shift):
    model, _, split, scores, mask = by_hand(6)
    plain, other = (removal(model.network, split, some, mask) for some in (scores, scale * scores + shift))
    np.testing.assert_array_equal(other.cost, plain.cost)
    np.testing.assert_allclose(other.soft_cost, plain.soft_cost)


def test_what_knows_nothing_costs_nothing_on_the_mean():
    model, texts, split, scores, mask = by_hand(400, low=8)
    right, _ = explained(model.network, split, Right())
    assert removal(model.network, split, right, mask).cost.mean() > 0.3
    assert removal(model.network, split, right, mask).soft_cost.mean() > 0.2
    for useless in (scores, mask.astype(float)):
        found = removal(model.network, split, useless, mask)
        for cost in (found.cost, found.soft_cost):
            assert abs(cost.mean()) <= 3 * cost.std() / np.sqrt(len(texts)) + 1e-12


def test_constant_scores_hide_the_same_words_softly_whatever_the_sign():
    model, _, split, _, mask = by_hand()
    assert (removal(model.network, split, mask.astype(float), mask).soft_cost == 0).all()


def test_one_token_is_both_the_most_and_the_least_important():
    model, *_ = by_hand(1)
    split = EncodedSplit([TextExample(("w3",), 1), TextExample(("w3", "w4", "w5"), 1)], model.coder)
    mask = mask_of(split)
    found = removal(model.network, split, mask * np.arange(5.0), mask)
    assert found.cost[0] == 0
    assert found.soft_cost[0] == 0
    assert np.isfinite(found.cost).all()


def test_a_text_without_tokens_to_hide_stays_as_it_is():
    model, _, split, scores, mask = by_hand(3)
    mask[1] = False
    found = removal(model.network, split, scores, mask)
    assert (found.important[1] == found.whole[1]).all()
    assert found.cost[1] == found.soft_cost[1] == 0


def test_other_levels_and_shares_can_be_asked_for():
    model, _, split, scores, mask = by_hand(3)
    found = removal(model.network, split, scores, mask, levels=(1.0,), shares=(), draws=1)
    np.testing.assert_array_equal(found.important, found.unimportant)  # everything is hidden
    assert found.soft_important.shape == (3, 0)
    soft = removal(model.network, split, scores, mask, levels=(), shares=(1.0,), draws=1)
    np.testing.assert_array_equal(soft.soft_important, found.important)
    again = [removal(model.network, split, scores, mask, seed=3) for _ in range(2)]
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(again[0], name), getattr(again[1], name))


@given(scored(), st.sampled_from((0.05, 0.2, 0.5, 0.9)))
def test_chances_have_their_mean_and_rise_with_the_scores(given_, share):
    scores, mask = given_
    found = chances(scores, mask, share)
    assert (found[~mask] == 0).all()
    for values, chance, inside in zip(scores, found, mask, strict=True):
        if not inside.any():
            continue
        values, chance = values[inside], chance[inside]
        assert chance == pytest.approx(literal_chances(values.tolist(), share), abs=1e-9)
        assert chance.mean() == pytest.approx(share)
        assert ((chance > 0) & (chance <= 1)).all()
        order = np.argsort(values, kind="stable")
        assert (np.diff(chance[order]) >= 0).all()
        assert (np.diff(chance[order])[np.diff(values[order]) == 0] == 0).all()


@given(scored(), st.integers(0, 100))
def test_places_are_an_order_by_falling_score_inside_the_mask(given_, seed):
    scores, mask = given_
    found = places(scores, mask, seed)
    for values, place, inside in zip(scores, found, mask, strict=True):
        assert sorted(place.tolist()) == list(range(len(place)))
        assert sorted(place[inside].tolist()) == list(range(inside.sum()))
        assert (np.diff(values[inside][np.argsort(place[inside])]) <= 0).all()


def test_equal_scores_are_in_random_order():
    """Every token is as often the first, and another seed has another order."""
    mask = np.ones((3000, 3), dtype=bool)
    found = places(np.zeros((3000, 3)), mask)
    assert (found == 0).mean(axis=0) == pytest.approx([1 / 3] * 3, abs=0.03)
    assert not np.array_equal(found, places(np.zeros((3000, 3)), mask, seed=1))
