import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from trueness.stats import Reason, Undefined, difference_interval, mean_interval, t_interval
from trueness.stats.intervals import within


def test_it_is_scipys_bca_interval():
    x = np.random.default_rng(3).exponential(size=25)
    theirs = scipy_stats.bootstrap((x,), np.mean, method="BCa", n_resamples=999, rng=np.random.default_rng(7))
    ours = mean_interval(x, resamples=999, seed=7)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval))
    assert ours.value == pytest.approx(x.mean())
    assert (ours.n, ours.clusters) == (25, 25)


def test_it_covers_the_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        interval = mean_interval(rng.exponential(size=40), resamples=600)
        covered.append(interval.low <= 1.0 <= interval.high)
    assert 0.88 <= np.mean(covered) <= 0.98


def test_memory_bound_does_not_change_the_interval():
    x = np.random.default_rng(1).standard_normal(30)
    assert mean_interval(x, max_bytes=1) == mean_interval(x)


def test_copies_within_a_cluster_add_no_information():
    means = np.random.default_rng(2).standard_normal(12)
    copied, labels = np.repeat(means, 5), np.repeat([f"seed {i}" for i in range(12)], 5)
    clustered, plain = mean_interval(copied, clusters=labels), mean_interval(means)
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), abs=1e-3)
    assert (clustered.n, clustered.clusters) == (60, 12)
    naive = mean_interval(copied)
    assert naive.high - naive.low < 0.6 * (clustered.high - clustered.low)


def test_clusters_of_unequal_size_keep_the_mean_of_all_values():
    values, labels = [1.0, 2.0, 3.0, 10.0], [0, 0, 0, 1]
    assert mean_interval(values, clusters=labels).value == 4.0


@settings(max_examples=20, deadline=None)
@given(st.integers(20, 40), st.integers(0, 1000))
def test_paired_difference_is_the_mean_of_differences(n, seed):
    a, b = np.random.default_rng(seed).standard_normal((2, n))
    assert difference_interval(a, b, resamples=200) == mean_interval(a - b, resamples=200)
    shifted = difference_interval(a + 5, b, resamples=200)
    assert shifted.low == pytest.approx(difference_interval(a, b, resamples=200).low + 5, abs=0.02)


def test_degenerate_data_have_no_interval():
    empty = mean_interval([])
    assert (empty.value, empty.low, empty.n) == (Undefined(Reason.EMPTY), Undefined(Reason.EMPTY), 0)
    single = mean_interval([3.0])
    assert (single.value, single.low) == (3.0, Undefined(Reason.SINGLE))
    constant = mean_interval([2.0] * 9)
    assert (constant.value, constant.high) == (2.0, Undefined(Reason.CONSTANT))
    one_cluster = mean_interval([1.0, 2.0], clusters=["a", "a"])
    assert (one_cluster.value, one_cluster.low) == (1.5, Undefined(Reason.ONE_CLUSTER))
    alike = mean_interval([1.0, 3.0, 3.0, 1.0], clusters=[0, 0, 1, 1])
    assert (alike.value, alike.low) == (2.0, Undefined(Reason.CONSTANT))


def test_nan_and_unpaired_input_are_refused():
    with pytest.raises(ValueError, match="finite"):
        mean_interval([1.0, np.nan])
    with pytest.raises(ValueError, match="paired"):
        difference_interval([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="cluster labels"):
        mean_interval([1.0, 2.0], clusters=[1])


def test_undefined_values_are_refused_not_read_as_numbers():
    from trueness.stats import Measured, holm

    measured = Measured([0.0, 0.5, 0.25], {Reason.CONSTANT: [True, False, False]})
    for function in (mean_interval, holm):
        with pytest.raises(ValueError, match="undefined"):
            function(measured.values)
    assert mean_interval(measured.compressed()).n == 2


def test_rounding_is_no_spread():
    nearly = mean_interval([0.1, 0.2, 0.3, 0.2], clusters=[0, 0, 0, 1])
    assert nearly.low == Undefined(Reason.CONSTANT)


def test_levels_and_sizes_are_checked():
    for level in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="level"):
            mean_interval([1.0, 2.0], level=level)
    assert mean_interval([1e308, 1e308, 1.5e308]).value == pytest.approx(1.1666e308, rel=1e-3)
    assert mean_interval([1.0, 2.0, 4.0], clusters=[[0], [1], [2]]).clusters == 3


def test_students_interval():
    from scipy.stats import t

    values = np.array([0.3, 0.5, 0.1, 0.4, 0.45])
    ours = t_interval(values)
    theirs = t.interval(0.95, 4, loc=values.mean(), scale=values.std(ddof=1) / np.sqrt(5))
    assert (ours.low, ours.high) == pytest.approx(theirs)
    assert (ours.value, ours.n) == (pytest.approx(0.35), 5)
    assert t_interval([1.0]).low.reason is Reason.SINGLE
    assert t_interval([1.0, 1.0]).low.reason is Reason.CONSTANT
    assert t_interval([]).value.reason is Reason.EMPTY
    with pytest.raises(ValueError, match="finite"):
        t_interval([np.nan, 1.0])


def test_bounds_that_the_quantity_can_have():
    interval = mean_interval([0.0, 0.1, 1.0, 0.9, 1.0])
    cut = within(interval, 0.5, 0.7)
    assert (cut.low, cut.high) == (0.5, 0.7)
    assert (cut.value, cut.n, cut.clusters, cut.level) == (interval.value, 5, 5, 0.95)
    assert within(interval, -1.0, 2.0) == interval
    nothing = mean_interval([1.0])
    assert within(nothing, 0.0, 1.0) == nothing
