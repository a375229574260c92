from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueness.stats import (
    Measured,
    Reason,
    Undefined,
    chance_corrected,
    kendall,
    pairwise_rank_agreement,
    rank_biased_overlap,
    top_k_agreement,
    top_k_kendall,
)


def orders(scores):
    """All rankings (best first) by magnitude, one per way of breaking the ties."""
    magnitudes = sorted(set(np.abs(scores)), reverse=True)
    groups = [[i for i in range(len(scores)) if abs(scores[i]) == value] for value in magnitudes]
    for choice in product(*(permutations(group) for group in groups)):
        yield [i for group in choice for i in group]


def literal_top_k(a, b, k):
    """The definitions of Krishna et al., averaged over every way of breaking ties."""
    found = []
    for first in orders(a):
        for second in orders(b):
            common = set(first[:k]) & set(second[:k])
            same_rank = {i for i in common if first.index(i) == second.index(i)}
            same_sign = {i for i in common if np.sign(a[i]) == np.sign(b[i])}
            found.append([len(common), len(same_rank), len(same_sign), len(same_rank & same_sign)])
    return np.mean(found, axis=0) / k


def literal_rbo(a, b, p):
    """Webber et al. (2010), equation 32, averaged over every way of breaking ties."""
    n, found = len(a), []
    for first in orders(a):
        for second in orders(b):
            overlap = [len(set(first[:d]) & set(second[:d])) for d in range(1, n + 1)]
            found.append(
                overlap[-1] / n * p**n + (1 - p) / p * sum(x / d * p**d for d, x in enumerate(overlap, start=1))
            )
    return np.mean(found)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=2, max_size=5))
def test_rank_biased_overlap_with_ties_equals_the_definition(scores):
    a, b = (np.array(column, dtype=float) for column in zip(*scores, strict=True))
    value = rank_biased_overlap(a, b, p=0.7).value[0]
    if not isinstance(value, Undefined):
        assert value == pytest.approx(literal_rbo(a, b, 0.7))


def test_unrelated_sparse_explanations_agree_at_chance():
    rng = np.random.default_rng(0)
    a, b = np.zeros((2, 3000, 30))
    for rows in (a, b):
        for row in rows:
            row[rng.choice(30, 3, replace=False)] = rng.standard_normal(3)
    corrected = rank_biased_overlap(a, b).corrected.compressed()
    assert abs(corrected.mean()) < 4 * corrected.std() / np.sqrt(len(corrected))


def test_chance_correction_keeps_every_undefined_row():
    value = Measured([0.0, 0.5], {Reason.CONSTANT: [True, False]})
    chance = Measured([0.2, 0.2], {Reason.CONSTANT: [False, True]})
    assert list(chance_corrected(value, chance)) == [Undefined(Reason.CONSTANT)] * 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=2, max_size=5), st.data())
def test_top_k_family_equals_the_definition_averaged_over_ties(scores, data):
    a, b = (np.array(column, dtype=float) for column in zip(*scores, strict=True))
    k = data.draw(st.integers(1, len(a)))
    ours = top_k_agreement(a, b, k=k)
    values = [ours.feature.value[0], ours.rank.value[0], ours.sign.value[0], ours.signed_rank.value[0]]
    if len(set(np.abs(a))) == 1 or len(set(np.abs(b))) == 1:
        assert values == [Undefined(Reason.CONSTANT)] * 4
    else:
        assert values == pytest.approx(literal_top_k(a, b, k))


@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.floats(0.05, 0.95))
def test_rank_biased_overlap_equals_the_definition(n, seed, p):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n))
    assert rank_biased_overlap(a, b, p=p).value[0] == pytest.approx(literal_rbo(a, b, p))


def test_chance_levels_are_the_means_over_random_rankings():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 40_000, 6))
    top = top_k_agreement(a, b, k=2)
    everything = [
        top.feature,
        top.rank,
        top.sign,
        top.signed_rank,
        rank_biased_overlap(a, b),
        pairwise_rank_agreement(a, b),
    ]
    for overlap in everything:
        values = overlap.value.compressed()
        assert values.mean() == pytest.approx(overlap.chance[0], abs=4 * values.std() / np.sqrt(len(values)))
        corrected = overlap.corrected.compressed()
        assert corrected.mean() == pytest.approx(0, abs=4 * corrected.std() / np.sqrt(len(values)))
    assert top.feature.chance[0] == pytest.approx(2 / 6)
    assert top.rank.chance[0] == pytest.approx(1 / 6)
    assert top.sign.chance[0] == pytest.approx(2 / 12)
    assert top.signed_rank.chance[0] == pytest.approx(1 / 12)


@given(st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_identical_explanations_agree_fully(n, seed):
    a = np.random.default_rng(seed).standard_normal(n)
    top = top_k_agreement(a, a, k=min(3, n))
    for overlap in (
        top.feature,
        top.rank,
        top.sign,
        top.signed_rank,
        rank_biased_overlap(a, a),
        pairwise_rank_agreement(a, a),
    ):
        assert overlap.value[0] == pytest.approx(1.0)


def test_opposite_signs_agree_in_feature_and_rank_only():
    a = np.array([3.0, -2.0, 1.0, 0.5])
    top = top_k_agreement(a, -a, k=2)
    assert (top.feature.value[0], top.rank.value[0]) == (1.0, 1.0)
    assert (top.sign.value[0], top.signed_rank.value[0]) == (0.0, 0.0)


@given(st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_pairwise_agreement_is_half_of_tau_plus_one(n, seed):
    a, b = np.abs(np.random.default_rng(seed).standard_normal((2, n)))
    assert pairwise_rank_agreement(a, b).value[0] == pytest.approx((kendall(a, b).statistic[0] + 1) / 2)


def test_masked_features_do_not_exist():
    a, b = np.array([[5.0, 9.0, 1.0, 3.0]]), np.array([[2.0, 8.0, 7.0, 1.0]])
    mask = np.array([[True, False, True, True]])
    masked, alone = top_k_agreement(a, b, mask, k=2), top_k_agreement(a[mask], b[mask], k=2)
    assert masked.feature.value[0] == alone.feature.value[0]
    assert masked.rank.value[0] == alone.rank.value[0]
    assert masked.feature.chance[0] == pytest.approx(2 / 3)
    assert rank_biased_overlap(a, b, mask).value[0] == pytest.approx(rank_biased_overlap(a[mask], b[mask]).value[0])


def test_k_may_differ_by_instance_and_too_short_ones_are_undefined():
    a = np.array([[3.0, 2.0, 1.0]] * 2)
    top = top_k_agreement(a, a, k=[2, 4])
    assert top.feature.value[0] == 1.0
    assert top.feature.value[1] == Undefined(Reason.TOO_FEW)


def test_nothing_is_left_to_correct_when_k_is_everything():
    top = top_k_agreement([3.0, 2.0], [1.0, 2.0], k=2)
    assert top.feature.value[0] == 1.0
    assert top.feature.corrected[0] == Undefined(Reason.NO_ROOM)


@pytest.mark.parametrize(
    "measure", [rank_biased_overlap, pairwise_rank_agreement, lambda a, b: top_k_agreement(a, b, k=1).rank]
)
@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (np.zeros((1, 0)), np.zeros((1, 0)), Reason.EMPTY),
        ([[1.0]], [[2.0]], Reason.SINGLE),
        ([[1.0, -1.0]], [[1.0, 2.0]], Reason.CONSTANT),
        ([[1.0, np.nan]], [[1.0, 2.0]], Reason.NOT_FINITE),
    ],
)
def test_degenerate_input_is_undefined(measure, a, b, reason):
    overlap = measure(a, b)
    assert overlap.value[0] == Undefined(reason)
    assert overlap.corrected[0] == Undefined(reason)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="p must"):
        rank_biased_overlap([1.0, 2.0], [1.0, 2.0], p=1.0)
    with pytest.raises(ValueError, match="k must"):
        top_k_agreement([1.0, 2.0], [1.0, 2.0], k=0)
    with pytest.raises(ValueError, match="whole number"):
        top_k_agreement([1.0, 2.0], [1.0, 2.0], k=1.5)


def literal_top_k_tau(a, b, k):
    """Pair by pair over the union of both top k: the cases of Fagin et al. with a penalty of one half."""
    tops = [{i for i in range(len(v)) if sum(abs(w) > abs(v[i]) for w in v) < k} for v in (a, b)]
    union = sorted(tops[0] | tops[1])
    level = [[abs(v[i]) if i in top else -1 for i in range(len(v))] for v, top in zip((a, b), tops, strict=True)]
    score, untied = 0, [0, 0]
    for i, j in combinations(union, 2):
        signs = [np.sign(side[i] - side[j]) for side in level]
        score += signs[0] * signs[1]
        for side in (0, 1):
            untied[side] += signs[side] != 0
    return score / np.sqrt(untied[0] * untied[1])


def test_top_k_tau_equals_the_pairs_and_its_chance_the_mean_over_all_rankings():
    rng = np.random.default_rng(1)
    rows = np.round(rng.normal(size=(2, 40, 9)), 1)
    ours = top_k_kendall(rows[0], rows[1], k=4).value
    for row in range(40):
        assert ours[row] == pytest.approx(literal_top_k_tau(rows[0, row], rows[1, row], 4), abs=1e-12)
    assert top_k_kendall(rows[0], rows[0], k=4).corrected.values.min() == pytest.approx(1.0)
    every = np.array(list(permutations(range(1, 7)))).astype(float)
    first = np.broadcast_to(every[0], every.shape)
    for k in (2, 3, 6):
        found = top_k_kendall(first, every, k=k)
        assert found.value.values.mean() == pytest.approx(found.chance[0], abs=1e-12)
    assert not top_k_kendall(rows[0, :1], rows[1, :1], k=10).value.defined[0]
    assert not top_k_kendall(rows[0, :1], rows[1, :1], k=1).value.defined[0], "one feature has no order"


def test_a_short_row_with_ties_is_the_same_beside_a_long_one():
    long = np.array([[9.0, 8, 7, 6, 5, 4, 3, 2, 1], [5.0, 5, 2, 0, 0, 0, 0, 0, 0]])
    other = np.array([[1.0, 2, 3, 4, 5, 6, 7, 8, 9], [2.0, 5, 5, 0, 0, 0, 0, 0, 0]])
    inside = np.array([[True] * 9, [True] * 3 + [False] * 6])
    together = rank_biased_overlap(long, other, inside).value.values[1]
    assert together == pytest.approx(rank_biased_overlap(long[1:, :3], other[1:, :3]).value.values[0], abs=1e-12)
    assert together < 0.95
