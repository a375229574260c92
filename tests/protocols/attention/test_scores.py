"""Scores of records made by hand: every one with its interval, n, direction, null value, best value and note."""

import math

import numpy as np
import pytest

from tests.protocols.attention.by_hand import ADVERSARY, TAU, P, cell, frames
from trueness.kinds.text.attention.correlation import PAIRS, PSEUDO, seed_spread
from trueness.kinds.text.attention.scores import scores
from trueness.kinds.text.attention.summary import cells_of
from trueness.stats import crossed_interval, of_pairs, t_interval

FIRST = "attention, gradient@jw2019"
LN2 = math.log(2)
HIGHER, LOWER = "higher is better", "lower is better"


def found(**changes):
    return {(score.quantity, score.method): score for score in scores(cell(**changes))}


@pytest.fixture(scope="module")
def by():
    return found()


def read(score):
    return score.variant, score.direction, score.null, score.best, score.note


def test_scores_come_in_the_order_of_the_paper(by):
    class_wise = [f"{name}{of}" for of in ("", *(f", predicted class {n}" for n in (0, 1))) for name in "tsd"]
    names = {"t": "Kendall tau", "s": "share significant", "d": "deviation of Kendall tau"}
    expected = []
    for pair, (first, second) in PAIRS.items():
        expected += [(names[one[0]] + one[1:], pair) for one in class_wise]
        expected.append(("share within the null band", pair))
        expected += [("rank-biased overlap", pair)] if first == "attention" else []
        expected += [] if "leave-one-out@jw2019" in (first, second) else [("noise ceiling of Kendall tau", pair)]
    expected += [
        ("largest weight times length", "learned attention"),
        ("median change of output when attention is permuted", "permutations"),
        ("median change of output when attention is permuted", "closed form (normal approximation)"),
        ("largest divergence within epsilon", "search@jw2019"),
        ("largest divergence within epsilon", "search"),
        ("largest divergence within epsilon", "exact"),
        ("tokens that could carry the decision alone", "exact"),
        ("tokens that alone give the same output", "exact"),
        ("divergence between seeds", "retraining"),
        ("test f1", "learned attention"),
        ("test f1", "uniform attention"),
        ("test f1", "gain over uniform attention"),
    ]
    assert list(by) == expected
    assert {score.target for score in by.values()} == {"the predicted class"}
    assert {(score.dataset, score.model) for score in by.values()} == {("texts", "bilstm-additive")}


def test_tau_is_the_mean_over_seeds_and_instances(by):
    tau = by["Kendall tau", FIRST]
    expected = crossed_interval(TAU)
    assert (tau.value, tau.low, tau.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert tau.n == 2, "seeds"
    assert read(tau) == ("as-published", HIGHER, 0.0, 1.0, "over 2 seeds of 4 instances")


def test_each_predicted_class_is_scored_on_its_own(by):
    assert by["Kendall tau, predicted class 0", FIRST].value == pytest.approx(np.mean([0.1, 0.3, 0.3]))
    one = by["Kendall tau, predicted class 1", FIRST]
    assert one.value == pytest.approx(np.mean([0.2, 0.4, 0.2, 0.5]))
    assert one.note == "over 2 seeds of 3 instances", "the undefined one is left out"


def test_p_values_up_to_the_level_are_significant(by):
    share = by["share significant", FIRST]
    assert share.value == pytest.approx(crossed_interval(np.where(np.isnan(P), np.nan, P <= 0.05)).value)
    assert share.low == 0.0, "cut to the range"
    assert read(share) == ("as-published", HIGHER, 0.05, 1.0, "over 2 seeds of 4 instances")


def test_the_deviation_is_that_of_each_seed(by):
    deviation = by["deviation of Kendall tau", FIRST]
    each = [np.std([0.1, 0.2, 0.3, 0.4]), np.std([0.3, 0.2, 0.5])]
    assert deviation.value == pytest.approx(np.mean(each))
    assert (deviation.low, deviation.high) == pytest.approx((t_interval(each).low, t_interval(each).high))
    assert read(deviation) == ("as-published", "neither", None, None, "over 2 seeds")


def test_the_null_band_holds_what_unrelated_rankings_of_that_length_give(by):
    lengths = np.array([10, 20, 30, 40])
    band = 1.96 * np.sqrt(2 * (2 * lengths + 5) / (9 * lengths * (lengths - 1)))
    inside = np.where(np.isnan(TAU), np.nan, np.abs(TAU) <= band)
    assert 0 < np.nanmean(inside) < 1
    score = by["share within the null band", FIRST]
    assert score.value == pytest.approx(crossed_interval(inside).value)
    assert read(score) == ("as-published", LOWER, 0.95, 0.0, "over 2 seeds of 4 instances")


def test_what_the_authors_did_not_compute_is_no_reproduction(by):
    variants = {pair: by["Kendall tau", pair].variant for pair in PAIRS}
    corrected = {pair for pair, variant in variants.items() if variant == "corrected"}
    assert corrected == {pair for pair in PAIRS if "full-gradient" in pair}
    assert by["rank-biased overlap", "attention, full-gradient"].variant == "corrected"
    assert by["noise ceiling of Kendall tau", "attention, full-gradient"].variant == "corrected"
    assert by["share within the null band", "attention, full-gradient"].variant == "corrected"
    assert by["deviation of Kendall tau", "attention, full-gradient"].variant == "corrected"
    assert by["share significant, predicted class 0", "attention, full-gradient"].variant == "corrected"


def test_overlap_and_ceiling(by):
    overlap = by["rank-biased overlap", FIRST]
    assert overlap.value == pytest.approx(crossed_interval(TAU / 2).value)
    assert read(overlap) == ("as-published", HIGHER, 0.0, 1.0, "over 2 seeds of 4 instances")
    ceiling = by["noise ceiling of Kendall tau", FIRST]
    assert ceiling.value == pytest.approx(math.sqrt(0.81 * 0.64))
    assert (ceiling.low, ceiling.high, ceiling.n, ceiling.level) == (None, None, 2, 0.95)
    assert read(ceiling) == (
        "as-published",
        "neither",
        None,
        None,
        "no interval: it is undefined, because it is not a mean of independent values; what two explanations as "
        "unsteady between seeds as these reach if their noise is independent; those of one model share its noise and "
        "may agree more",
    )
    below = by["noise ceiling of Kendall tau", "attention, full-gradient"]
    assert below.value == 0.0, "a reliability below 0 is none"


def test_permutations_are_as_published_and_the_closed_form_is_ours(by):
    quantity = "median change of output when attention is permuted"
    sampled, closed = by[quantity, "permutations"], by[quantity, "closed form (normal approximation)"]
    assert (sampled.value, closed.value) == pytest.approx((0.3, 0.35))
    assert read(sampled) == ("as-published", HIGHER, 0.0, None, "over 2 seeds of 4 instances")
    assert read(closed) == ("corrected", HIGHER, 0.0, None, "over 2 seeds of 4 instances")


def test_adversaries_are_told_with_what_they_may_change(by):
    quantity, over = "largest divergence within epsilon", "over 2 seeds of 4 instances; "
    published, ours, exact = (by[quantity, method] for method in ("search@jw2019", "search", "exact"))
    mean = ADVERSARY.mean()
    assert (published.value, ours.value, exact.value) == pytest.approx((mean - 0.05, mean - 0.1, mean))
    allowed = over + "epsilon 0.02"
    how = "counted up to a change of 0.05, as the authors' code does"
    assert read(published) == ("as-published", LOWER, None, 0.0, over + how)
    assert read(ours) == ("corrected", LOWER, None, 0.0, allowed)
    assert read(exact) == ("corrected", LOWER, None, 0.0, allowed)
    assert exact.high == LN2, "cut to the range"
    deciding = by["tokens that could carry the decision alone", "exact"]
    alone = by["tokens that alone give the same output", "exact"]
    assert (deciding.value, alone.value) == (7.5, 3.0)
    same = "all attention on one of them leads to the same class"
    assert read(deciding) == ("corrected", "neither", None, None, over + same)
    assert read(alone) == ("corrected", "neither", None, None, allowed)


def test_without_an_exact_solution_there_is_an_upper_bound():
    by = found(exact=False)
    methods = [method for quantity, method in by if quantity == "largest divergence within epsilon"]
    assert methods == ["search@jw2019", "search", "best found", "upper bound"]
    upper = by["largest divergence within epsilon", "upper bound"]
    assert upper.value == pytest.approx(ADVERSARY.mean() + 0.0031)
    assert read(upper) == ("corrected", LOWER, None, 0.0, "over 2 seeds of 4 instances; epsilon 0.02")


def test_what_was_not_measured_has_no_score():
    records, spread, metrics = frames()
    gone = ["search", "search@jw2019", "permutation_closed", f"overlap: {FIRST}"]
    (some,) = cells_of(
        records.drop(columns=gone),
        spread.drop(columns="divergence between seeds"),
        metrics[metrics["model"] != "bilstm-uniform"],
        epsilons={"texts": 0.02},
    )
    by = {(score.quantity, score.method): score for score in scores(some)}
    assert [method for quantity, method in by if quantity == "largest divergence within epsilon"] == ["exact"]
    assert ("rank-biased overlap", FIRST) not in by
    assert ("rank-biased overlap", "attention, full-gradient") in by
    assert ("median change of output when attention is permuted", "permutations") in by
    assert ("median change of output when attention is permuted", "closed form (normal approximation)") not in by
    assert not {"retraining", "uniform attention", "gain over uniform attention"} & {method for _, method in by}


def test_seeds_apart_counts_seeds_and_says_of_how_many_instances(by):
    score = by["divergence between seeds", "retraining"]
    assert (score.value, score.n, score.low, score.high) == (pytest.approx(0.2), 2, None, None)
    said = "over 2 seeds, each with each, of 3 instances"
    assert read(score)[:4] == ("corrected", "neither", None, None)
    assert said in read(score)[4], "one pair of seeds says nothing of others"


def test_seeds_apart_vary_over_seeds():
    """Each two of four seeds: the mean is that of the pairs, the interval is crossed over seeds and instances."""
    rng = np.random.default_rng(0)
    pairs = rng.uniform(0.1, 0.3, (6, 4))
    records, spread, metrics = frames()
    parts = of_pairs(pairs, 4)
    columns = {f"{PSEUDO}{seed}": part for seed, part in enumerate(parts)}
    (some,) = cells_of(records, spread.assign(**columns), metrics, epsilons={"texts": 0.02})
    score = {(score.quantity, score.method): score for score in scores(some)}["divergence between seeds", "retraining"]
    expected = crossed_interval(parts)
    assert (score.value, score.n) == (pytest.approx(pairs.mean()), 4)
    assert (score.low, score.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


@pytest.mark.parametrize(("unlike", "least", "most"), [(0.1, 0.90, 0.99), (0.3, 0.78, 0.95)])
def test_intervals_of_seeds_apart_cover_seeds(unlike, least, most):
    """Attention of each seed is sharper or flatter by itself; the truth is what very many seeds give.

    Where seeds are very unlike, divergences are skewed and the coverage is less, which docs/statistics.md says; over
    instances alone it was .6 and .2.
    """
    rng, instances, number = np.random.default_rng(1), 60, 5
    text = rng.normal(size=(instances, 8))
    sizes = np.full(instances, 8)

    def spread(seeds):
        noisy = text + 0.3 * rng.normal(size=(seeds, instances, 8))
        weights = np.exp(noisy * np.exp(unlike * rng.normal(size=(seeds, 1, 1))))
        return seed_spread([{"sizes": sizes, "attention": block.ravel()} for block in weights])

    truth = np.mean([spread(10)["divergence between seeds"].mean() for _ in range(40)])
    found = [crossed_interval(spread(number).filter(like=PSEUDO).to_numpy().T) for _ in range(200)]
    assert least <= np.mean([one.low <= truth <= one.high for one in found]) <= most


def test_performance_with_learned_and_with_uniform_attention(by):
    learned, uniform, gain = (
        by["test f1", f"{name} attention"] for name in ("learned", "uniform", "gain over uniform")
    )
    assert (learned.value, uniform.value, gain.value) == pytest.approx((0.93, np.mean([0.8, 0.82, 0.1]), 0.12))
    assert learned.high == 1.0
    assert read(learned) == ("as-published", HIGHER, None, 1.0, "over 2 seeds")
    assert read(uniform) == ("corrected", HIGHER, None, 1.0, "over 3 seeds")
    assert read(gain) == ("corrected", HIGHER, 0.0, None, "over 2 seeds")
    assert gain.low == pytest.approx(t_interval([0.11, 0.13]).low), "paired by seed"
    _, _, metrics = frames()
    assert not any(quantity.startswith("test") for quantity, _ in found(metrics=metrics.iloc[:0]))


def test_of_one_seed_the_instances_are_counted():
    by = found(seeds=1)
    assert by["Kendall tau", FIRST].note == "over 4 instances"
    assert by["Kendall tau", FIRST].n == 1
    assert ("noise ceiling of Kendall tau", FIRST) not in by


def test_many_classes_are_scored_as_a_whole():
    assert ("Kendall tau, predicted class 2", FIRST) not in found(classes=3), "nothing is predicted so"
    assert ("Kendall tau, predicted class 1", FIRST) in found(classes=3)
    assert ("Kendall tau, predicted class 1", FIRST) not in found(classes=4)
