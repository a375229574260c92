import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize as scipy_optimize
from scipy import stats as scipy_stats

from trueness.stats.marks import crossed_against, mean_against, ratio_against, share_against

TEXTS = (30, 60, 100, 300)
MODELS = (3, 4, 5)
NUMBERS = st.floats(-100, 100)


def facts(found):
    return found.value, found.low, found.high, found.p_value, found.n


def p_value_by_hand(x):
    """Of the mean against 0: the larger one of Student's and of the t that Hall's cubic makes of it."""
    n, m = len(x), sum(x) / len(x)
    s = np.sqrt(sum((one - m) ** 2 for one in x) / (n - 1))
    skewness = sum(((one - m) / s) ** 3 for one in x) / n
    ratio = m / s
    cubic = ratio + skewness * ratio**2 / 3 + skewness**2 * ratio**3 / 27 + skewness / (6 * n)
    if ratio * cubic < 0:
        return 1.0
    return max(2 * scipy_stats.t(n - 1).sf(abs(t) * np.sqrt(n)) for t in (ratio, cubic))


def test_of_a_mean_the_interval_is_students_and_the_p_value_minds_skewness():
    x = np.random.default_rng(0).exponential(size=25)
    for mark in (0.0, 0.9, 1.5, 0.95 * x.mean()):
        theirs = scipy_stats.ttest_1samp(x, mark)
        interval = theirs.confidence_interval(0.9)
        ours = mean_against(x, mark, level=0.9)
        assert facts(ours) == pytest.approx((x.mean(), interval.low, interval.high, p_value_by_hand(x - mark), 25))
        assert ours.p_value >= theirs.pvalue * (1 - 1e-12)
        assert ours.above == (x.mean() > mark)
        assert (ours.mark, ours.level) == (mark, 0.9)


def test_of_a_ratio_it_is_students_test_of_the_difference_from_what_the_mark_says():
    """Fieller: x / y is the mark where x - mark * y has the mean 0; the interval is that of the linearised ratio."""
    rng = np.random.default_rng(1)
    y = rng.normal(2.0, 0.5, 40)
    x = 0.6 * y + rng.normal(0, 0.3, 40)
    ratio = sum(x) / sum(y)
    variance = sum((a - ratio * b) ** 2 for a, b in zip(x, y, strict=True)) / 39
    half = scipy_stats.t(39).ppf(0.975) * np.sqrt(variance / 40) / (sum(y) / 40)
    for mark in (0.0, 0.5, 0.7):
        p_value = p_value_by_hand([a - mark * b for a, b in zip(x, y, strict=True)])
        expected = (ratio, ratio - half, ratio + half, p_value, 40)
        assert facts(ratio_against(x, y, mark)) == pytest.approx(expected)


def test_of_a_crossed_mean_it_adds_the_variances_of_models_and_texts():
    """Cochran and Cox: the quantile is the mean of those for models and for texts, weighted by their variances."""
    values = np.random.default_rng(2).normal(size=(4, 30)) + np.arange(4)[:, None] * 0.3
    by_model = [np.mean([values[model, text] for text in range(30)]) for model in range(4)]
    by_text = [np.mean([values[model, text] for model in range(4)]) for text in range(30)]
    first, second = np.var(by_model, ddof=1) / 4, np.var(by_text, ddof=1) / 30
    error = np.sqrt(first + second)

    def quantile(p_value):
        of_models, of_texts = (scipy_stats.t(freedom).isf(p_value / 2) for freedom in (3, 29))
        return (first * of_models + second * of_texts) / (first + second)

    half = quantile(0.05) * error
    for mark in (0.0, 0.4, -5.0):
        distance = abs(values.mean() - mark) / error
        p_value = scipy_optimize.brentq(lambda p, distance=distance: quantile(p) - distance, 1e-12, 1, xtol=1e-15)
        expected = (values.mean(), values.mean() - half, values.mean() + half, p_value, 30)
        assert facts(crossed_against(values, mark)) == pytest.approx(expected, rel=1e-6)
    assert crossed_against(values, values.mean()).p_value == pytest.approx(1.0)


def test_the_interval_of_a_crossed_mean_ends_where_the_p_value_is_small():
    values = np.random.default_rng(8).normal(size=(3, 30))
    plain = crossed_against(values, 0.0, level=0.9)
    for end in (plain.low, plain.high):
        assert crossed_against(values, end).p_value == pytest.approx(0.1)
    far = [crossed_against(values, mark).p_value for mark in (0.5, 1.0, 1e3, 1e6)]
    assert far == sorted(far, reverse=True)
    assert 0 < far[-1] < 1e-6


def agrees(one, other):
    """The same up to rounding."""
    return facts(one) == pytest.approx(facts(other), rel=1e-6, abs=1e-9)


@given(arrays(float, st.integers(2, 30), elements=NUMBERS), NUMBERS, st.randoms())
def test_order_and_what_is_missing_change_nothing(x, mark, random):
    assume(x.std() > 1e-3)
    shuffled = [*x.tolist(), np.nan, np.inf]
    random.shuffle(shuffled)
    assert agrees(mean_against(shuffled, mark), mean_against(x, mark))


@given(arrays(float, st.integers(2, 30), elements=NUMBERS), NUMBERS)
def test_a_mean_mirrored_at_its_mark_is_as_unlikely(x, mark):
    assume(x.std() > 1e-3)
    ours, mirrored = mean_against(x, mark), mean_against(2 * mark - x, mark)
    assert mirrored.p_value == pytest.approx(ours.p_value, rel=1e-6, abs=1e-9)
    assert 2 * mark - mirrored.value == pytest.approx(ours.value, abs=1e-9)
    assert mirrored.high - mirrored.low == pytest.approx(ours.high - ours.low)


@given(arrays(float, st.integers(2, 30), elements=NUMBERS), NUMBERS)
def test_the_interval_of_a_mean_ends_where_the_p_value_is_small(x, mark):
    assume(x.std() > 1e-3)
    ours = mean_against(x, mark)
    assert 0 <= ours.p_value <= 1
    assume(abs(ours.p_value - 0.05) > 1e-6)
    if ours.p_value < 0.05:
        assert not ours.low < mark < ours.high
    if ours.low < mark < ours.high:
        assert ours.p_value > 0.05


def test_a_share_is_judged_exactly():
    for n, k, mark in ((30, 30, 0.75), (30, 20, 0.75), (30, 0, 0.5), (40, 23, 0.5), (7, 6, 0.5)):
        ours = share_against([1.0] * k + [0.0] * (n - k) + [np.nan], mark)

        def few_and_many(share, n=n, k=k):
            chances = [math.comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(n + 1)]
            return sum(chances[: k + 1]), sum(chances[k:])

        assert facts(ours) == pytest.approx((k / n, ours.low, ours.high, min(1, 2 * min(few_and_many(mark))), n))
        assert few_and_many(ours.low)[1] == pytest.approx(0.025 if k else 1.0)
        assert few_and_many(ours.high)[0] == pytest.approx(0.025 if k < n else 1.0)
    assert share_against([1.0, np.nan], 0.5) is None


def test_what_carries_a_ratio_is_counted():
    """Of twenty texts with a cost of 1 and eighty without, twenty."""
    y = np.array([1.0] * 20 + [0.0] * 80)
    assert ratio_against(0.5 * y, y, 0.25).carriers == pytest.approx(20)
    assert ratio_against(y + 1, y + 1, 0.25).carriers < 100
    assert mean_against(y, 0.25).carriers == np.inf


@pytest.mark.parametrize("texts", [100, 300])
@pytest.mark.parametrize("moving", [0.1, 0.3, 1.0])
def test_few_texts_that_carry_a_ratio_do_not_deny_it_too_often(texts, moving):
    """A method that names the right word in a quarter of the texts, the mark being a quarter: of 2,000 such methods.

    With Student's p-value alone it is denied in up to 12 of 100 cases (100 texts of which 5 % move). What fewer than 30
    texts carry, an audit does not decide.
    """
    rng = np.random.default_rng([texts, int(10 * moving)])
    shape = 2000, texts
    best = np.where(rng.random(shape) < moving, rng.beta(5, 1, shape), np.abs(rng.normal(0, 0.005, shape)))
    own = np.where(rng.random(shape) < 0.25, best, 0.0)
    found = [ratio_against(a, b, 0.25) for a, b in zip(own, best, strict=True)]
    p_values = np.array([one.p_value for one in found if one is not None and one.carriers >= 30])
    assert (p_values < 0.05).sum() <= 0.06 * 2000
    assert (p_values < 0.004).sum() <= 0.008 * 2000


def test_a_ratio_over_ones_is_a_mean():
    x = np.random.default_rng(3).normal(size=20)
    assert agrees(ratio_against(x, np.ones(20), 0.2), mean_against(x, 0.2))


@given(st.floats(0.01, 100))
def test_a_ratio_has_no_unit(scale):
    rng = np.random.default_rng(4)
    x, y = rng.normal(1, 1, 20), rng.normal(3, 1, 20)
    assert agrees(ratio_against(scale * x, scale * y, 0.4), ratio_against(x, y, 0.4))


def test_models_and_texts_in_another_order_change_nothing():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(4, 20))
    other = values[rng.permutation(4)][:, rng.permutation(20)]
    assert agrees(crossed_against(other, 0.1), crossed_against(values, 0.1))


def test_a_ratio_leaves_out_units_that_miss_either_number():
    rng = np.random.default_rng(6)
    x, y = rng.normal(1, 1, 20), rng.normal(3, 1, 20)
    assert ratio_against([*x, np.nan, 1.0], [*y, 3.0, np.nan], 0.4) == ratio_against(x, y, 0.4)


def test_a_crossed_mean_leaves_out_models_and_texts_without_values():
    values = np.random.default_rng(7).normal(size=(4, 20))
    framed = np.full((5, 22), np.nan)
    framed[1:, 2:] = values
    assert crossed_against(framed, 0.1) == crossed_against(values, 0.1)
    holes = values.copy()
    holes[0, 3] = np.nan
    assert crossed_against(holes, 0.1).value == pytest.approx(np.nanmean(holes))


@pytest.mark.parametrize("values", [[], [1.0], [1.0, np.nan], [np.nan, np.nan]])
def test_fewer_than_two_values_say_nothing(values):
    assert mean_against(values, 0.0) is None
    assert ratio_against(values, np.ones(len(values)), 0.0) is None
    assert ratio_against(np.ones(len(values)), values, 0.0) is None


@pytest.mark.parametrize("shape", [(0, 5), (1, 5), (5, 1), (5, 0)])
def test_fewer_than_two_models_or_texts_say_nothing(shape):
    values = np.random.default_rng(0).normal(size=shape)
    assert crossed_against(values, 0.0) is None
    assert crossed_against(np.full((3, 4), np.nan), 0.0) is None


@pytest.mark.parametrize(("value", "p_value"), [(0.7, 2 * 0.5**6), (-3.0, 2 * 0.5**6), (0.2, 1.0)])
def test_values_all_the_same_are_judged_by_a_sign_test(value, p_value):
    for found in (
        mean_against([value] * 6, 0.2),
        ratio_against([2 * value] * 6, [2.0] * 6, 0.2),
        crossed_against([[value] * 6] * 3, 0.2),
    ):
        assert facts(found) == pytest.approx((value, value, value, p_value, 6))


def test_two_equal_values_are_no_evidence_at_all():
    assert mean_against([1.0, 1.0], 0.0).p_value == 0.5


@pytest.mark.parametrize("below", [[0.0] * 9, [1e-10] * 9, [-1.0] * 9, [1.0, -1.0] * 8, [0.1, *[0.0] * 8]])
def test_nothing_is_divided_by_what_may_be_zero(below):
    assert ratio_against(np.linspace(0, 1, len(below)), below, 0.5) is None


def rates(found, truth):
    """How often the interval has the true value in it, and how often the p-value denies it."""
    known = [one for one in found if one is not None]
    covered = np.mean([one.low <= truth <= one.high for one in known])
    return covered, np.mean([one.p_value < 0.05 for one in known])


@pytest.mark.parametrize("texts", TEXTS)
def test_the_interval_of_a_mean_covers_as_often_as_it_says(texts):
    data = np.random.default_rng(texts).normal(0.3, 2.0, (1500, texts))
    covered, denied = rates([mean_against(x, 0.3) for x in data], 0.3)
    assert 0.92 <= covered <= 0.98
    assert denied <= 0.065


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("below", [0.3, 1.0])  # the spread of what is divided by, its mean being 1
def test_the_interval_of_a_ratio_covers_as_often_as_it_says(texts, below):
    rng = np.random.default_rng(texts)
    y = rng.normal(1.0, below, (1500, texts))
    x = 0.8 * y + rng.normal(0, 0.5, y.shape)
    found = [ratio_against(a, b, 0.8) for a, b in zip(x, y, strict=True)]
    assert np.mean([one is not None for one in found]) > 0.9
    covered, denied = rates(found, 0.8)
    assert 0.92 <= covered <= 0.98
    assert denied <= 0.065


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("models", MODELS)
def test_the_interval_of_a_crossed_mean_covers_at_least_as_often_as_it_says(texts, models):
    """Means of models vary ten times as much as those of texts: there degrees of freedom by Satterthwaite fail most."""
    rng = np.random.default_rng([texts, models])
    spread, draws = np.sqrt(10 * models / texts), 700
    values = 0.3 + spread * rng.normal(size=(draws, models, 1)) + rng.normal(size=(draws, 1, texts))
    values = values + 0.5 * rng.normal(size=(draws, models, texts))
    covered, denied = rates([crossed_against(table, 0.3) for table in values], 0.3)
    assert covered >= 0.92
    assert denied <= 0.065


@pytest.mark.parametrize("texts", TEXTS)
def test_noise_of_single_cells_alone_is_on_the_safe_side(texts):
    values = np.random.default_rng(texts).normal(0.3, 1.0, (200, 3, texts))
    assert rates([crossed_against(table, 0.3) for table in values], 0.3)[1] <= 0.04
