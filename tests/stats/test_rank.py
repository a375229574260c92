import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats as scipy_stats

from trueness.stats import Reason, Undefined, kendall, pearson, spearman, weighted_kendall
from trueness.stats.order import inversions, ordered
from trueness.stats.rank import _exact_two_sided

# Few distinct values, so that ties are frequent.
tied = st.integers(-3, 3).map(float)


@st.composite
def pairs(draw, low=2, high=45, elements=tied):
    n = draw(st.integers(low, high))
    return draw(hnp.arrays(float, n, elements=elements)), draw(hnp.arrays(float, n, elements=elements))


def literal_tau_b(a, b):
    """sum s_a s_b / sqrt(sum s_a^2 sum s_b^2) over pairs i < j, s = sign(x_i - x_j)."""
    products = squares_a = squares_b = 0
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            s_a, s_b = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
            products += s_a * s_b
            squares_a += s_a**2
            squares_b += s_b**2
    return products / math.sqrt(squares_a * squares_b)


@given(pairs())
def test_kendall_equals_scipy_with_ties(pair):
    a, b = pair
    ours = kendall(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert ours.statistic[0] == Undefined(Reason.CONSTANT)
        assert ours.p_value[0] == Undefined(Reason.CONSTANT)
        return
    theirs = scipy_stats.kendalltau(a, b)
    assert ours.statistic[0] == pytest.approx(theirs.statistic, abs=1e-12)
    assert ours.p_value[0] == pytest.approx(theirs.pvalue, abs=1e-9)
    assert ours.statistic[0] == pytest.approx(literal_tau_b(a, b), abs=1e-12)


@given(st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_kendall_equals_scipy_without_ties(n, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.permutation(n).astype(float), rng.permutation(n).astype(float)
    theirs = scipy_stats.kendalltau(a, b)
    ours = kendall(a, b)
    assert ours.statistic[0] == pytest.approx(theirs.statistic, abs=1e-12)
    assert ours.p_value[0] == pytest.approx(theirs.pvalue, abs=1e-9)


@pytest.mark.parametrize("n", [34, 100, 171, 180])
@pytest.mark.parametrize("swaps", [0, 1])
def test_nearly_identical_long_rankings_use_the_exact_p_value(n, swaps):
    a = np.arange(n, dtype=float)
    b = a.copy()
    if swaps:
        b[[3, 4]] = b[[4, 3]]
    for other in (b, -b):
        assert kendall(a, other).p_value[0] == pytest.approx(
            scipy_stats.kendalltau(a, other).pvalue, rel=1e-9, abs=1e-300
        )


@pytest.mark.parametrize("n", [2, 3, 7])
def test_exact_p_values_equal_enumeration(n):
    from itertools import permutations

    inversions = [sum(p[i] > p[j] for i in range(n) for j in range(i + 1, n)) for p in permutations(range(n))]
    for c, value in enumerate(_exact_two_sided(n)):
        assert value == pytest.approx(min(1.0, 2 * np.mean([count <= c for count in inversions])))


@given(pairs(low=3, elements=st.floats(-1e6, 1e6)))
def test_kendall_laws(pair):
    a, b = pair
    tau = kendall(a, b).statistic[0]
    if isinstance(tau, Undefined):
        return
    assert kendall(a, a).statistic[0] == 1.0
    assert kendall(a, -a).statistic[0] == -1.0
    assert kendall(b, a).statistic[0] == pytest.approx(tau, abs=1e-12)
    ranks = scipy_stats.rankdata(a, method="dense")
    assert kendall(ranks**3, b).statistic[0] == pytest.approx(tau, abs=1e-12)  # a monotone map
    order = np.random.default_rng(0).permutation(len(a))
    assert kendall(a[order], b[order]).statistic[0] == pytest.approx(tau, abs=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.sampled_from([1, 3000, 1 << 20]))
def test_rows_masks_and_memory_bound_do_not_change_the_answer(seed, width, max_bytes):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 6, (9, width)).astype(float), rng.standard_normal((9, width))
    mask = rng.random((9, width)) < 0.7
    a[~mask] = np.nan  # what lies outside the mask is never looked at
    for measure in (lambda *x: kendall(*x, max_bytes=max_bytes).statistic, pearson, spearman):
        together = measure(a, b, mask)
        for row in range(9):
            alone = measure(a[row][mask[row]], b[row][mask[row]])[0] if mask[row].any() else Undefined(Reason.EMPTY)
            if isinstance(alone, Undefined):
                assert together[row] == alone
            else:
                assert together[row] == pytest.approx(alone, abs=1e-12)


def test_a_long_row_takes_the_wide_integer_path():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 50_000, (1, 60_000)).astype(float), rng.standard_normal((1, 60_000))
    theirs = scipy_stats.kendalltau(a[0], b[0])
    ours = kendall(a, b)
    assert ours.statistic[0] == pytest.approx(theirs.statistic, abs=1e-12)
    assert ours.p_value[0] == pytest.approx(theirs.pvalue, abs=1e-9)


@pytest.mark.parametrize("width", [2, 15, 16, 17, 127, 128, 500, 2047, 2049, 33_000])
def test_inversions_are_counted_as_pair_by_pair(width):
    rng = np.random.default_rng(width)
    rows = np.array([rng.permutation(width) for _ in range(3)] + [np.arange(width), np.arange(width)[::-1]])
    wanted = [sum(int((row[:place] > value).sum()) for place, value in enumerate(row)) for row in rows]
    assert inversions(rows).tolist() == wanted


def test_very_long_rows_are_counted_without_overflow():
    width = 150_528  # an image of 224 x 224 pixels
    assert inversions(np.arange(width)[::-1][None]).tolist() == [width * (width - 1) / 2]


def test_long_rows_of_numbers_that_hardly_differ_are_in_order():
    """The last bits of a number make room for its place: there argsort decides. Minus zero is zero."""
    rng = np.random.default_rng(0)
    close = 1.0 + np.finfo(float).eps * rng.integers(0, 3000, size=(2, 600))
    normal, share = rng.normal(size=(2, 600)), rng.random((2, 600))
    zeros = np.where(share < 0.3, -0.0, np.where(share < 0.6, 0.0, normal))
    for rows in (close, -close, zeros, np.where(share < 0.2, np.inf, normal)):
        order, found = ordered(rows)
        assert (order == np.argsort(rows, axis=1, kind="stable")).all()
        assert (found == np.sort(rows, axis=1)).all()
    other = np.round(rng.normal(size=(2, 600)), 1)
    theirs = [scipy_stats.kendalltau(a, b).statistic for a, b in zip(close, other, strict=True)]
    assert kendall(close, other).statistic.values.tolist() == pytest.approx(theirs, abs=1e-12)


@given(pairs(elements=st.floats(-100, 100).map(lambda x: round(x, 3))))
def test_pearson_and_spearman_equal_scipy(pair):
    a, b = pair
    for ours, theirs in ((pearson, scipy_stats.pearsonr), (spearman, scipy_stats.spearmanr)):
        value = ours(a, b)[0]
        if len(set(a)) == 1 or len(set(b)) == 1:
            assert value == Undefined(Reason.CONSTANT)
        else:
            assert value == pytest.approx(theirs(a, b).statistic, abs=1e-9)


@pytest.mark.parametrize("measure", [lambda *x: kendall(*x).statistic, pearson, spearman])
@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (np.zeros((1, 0)), np.zeros((1, 0)), Reason.EMPTY),
        ([[1.0]], [[2.0]], Reason.SINGLE),
        ([[1.0, 1.0]], [[1.0, 2.0]], Reason.CONSTANT),
        ([[1.0, 2.0]], [[3.0, 3.0]], Reason.CONSTANT),
        ([[1.0, np.nan]], [[1.0, 2.0]], Reason.NOT_FINITE),
        ([[1.0, 2.0]], [[np.inf, 2.0]], Reason.NOT_FINITE),
    ],
)
def test_degenerate_input_is_undefined_with_its_reason(measure, a, b, reason):
    assert measure(a, b)[0] == Undefined(reason)


def test_tiny_and_huge_values_correlate():
    a = np.array([1e-200, 2e-200, 4e-200])
    assert pearson(a, a * 1e300)[0] == pytest.approx(1.0)
    assert pearson([1e200, -1e200, 3e200], [1.0, -1.0, 3.0])[0] == pytest.approx(1.0)


def test_torch_tensors_are_accepted():
    a = torch.randn(3, 5, requires_grad=True)
    b = torch.randn(3, 5)
    assert np.allclose(kendall(a, b).statistic.values, kendall(a.detach().numpy(), b.numpy()).statistic.values)


def test_shapes_must_match():
    with pytest.raises(ValueError, match="shapes"):
        kendall([[1.0, 2.0]], [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="mask"):
        kendall([[1.0, 2.0]], [[1.0, 2.0]], [[True]])


def test_no_rows_gives_no_values():
    assert len(kendall(np.zeros((0, 4)), np.zeros((0, 4))).statistic) == 0


def test_what_a_masked_array_hides_is_outside_the_mask():
    a = np.ma.masked_array([[1.0, 2.0, 3.0, 999.0]], [[0, 0, 0, 1]])
    assert kendall(a, [[1.0, 2.0, 3.0, 0.0]]).statistic[0] == 1.0


def test_nearly_equal_values_keep_their_correlation():
    for start in (0.1, 1.0, 1e8):
        step = np.spacing(start)
        assert pearson([start, start + step, start + 2 * step], [0.0, 1.0, 2.0])[0] == pytest.approx(1.0)


def test_half_precision_tensors_are_accepted():
    a = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.bfloat16)
    assert kendall(a, a).statistic[0] == 1.0


@pytest.mark.parametrize("ties", [False, True])
def test_weighted_tau_equals_scipy(ties):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 30, 17))
    rows = np.round(rows) if ties else rows
    lengths = rng.integers(3, 18, 30)
    mask = np.arange(17) < lengths[:, None]
    ours = weighted_kendall(rows[0], rows[1], mask, max_bytes=4000)
    for row, length in enumerate(lengths):
        expected = scipy_stats.weightedtau(rows[0, row, :length], rows[1, row, :length]).statistic
        if np.isnan(expected):
            assert not ours.defined[row]
        else:
            assert ours[row] == pytest.approx(expected, abs=1e-12)
