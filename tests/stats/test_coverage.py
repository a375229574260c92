"""Simulated coverage of every interval that studies use, at the n they use: .92 to .98 for normal data.

Those of the audit (means, ratios, means of models and texts) are in test_thresholds.py. Exact intervals of a share
(Clopper and Pearson) cover at least .95 by construction, up to 1 near 0 and 1.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from trueness.papers.agreement.claims import _difference
from trueness.protocols.claim_helpers import claim, decide
from trueness.stats import (
    Undefined,
    crossed_difference,
    crossed_interval,
    crossed_p_value,
    kendall,
    mean_interval,
    of_pairs,
    t_interval,
    within,
)

TRUTH = 0.3


def coverage(intervals):
    known = [one for one in intervals if not isinstance(one.low, Undefined)]
    return np.mean([one.low <= TRUTH <= one.high for one in known])


def tables(draws, seeds, instances, spreads, rng):
    """Means of seeds, of instances and single cells vary."""
    one, other, noise = spreads
    return (
        TRUTH
        + one * rng.normal(size=(draws, seeds, 1))
        + other * rng.normal(size=(draws, 1, instances))
        + noise * rng.normal(size=(draws, seeds, instances))
    )


@pytest.mark.parametrize("n", [3, 5, 9, 11, 20, 50])
def test_students_interval_over_seeds(n):
    assert 0.92 <= coverage(map(t_interval, np.random.default_rng(n).normal(TRUTH, 0.2, (1500, n)))) <= 0.98


@pytest.mark.parametrize(("n", "share"), [(40, 0.5), (40, 0.3), (40, 0.8), (15, 0.5), (15, 0.3)])
def test_students_interval_of_a_share(n, share):
    """Of runs that reach an accuracy or not; with a share nearer to 0 or 1 it covers less."""
    drawn = np.random.default_rng(n).random((2000, n)) < share
    found = [t_interval(some.astype(float)) for some in drawn]
    covered = [not isinstance(one.low, Undefined) and one.low <= share <= one.high for one in found]
    assert 0.92 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("fall", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("seeds", [3, 9])
def test_students_interval_of_rank_correlations(seeds, fall):
    """A tau over eight datasets for each of a few models."""
    rng, places = np.random.default_rng(seeds), np.arange(8.0)
    scores = rng.normal(size=(400 * seeds, 8)) - fall * places
    tau = kendall(scores, np.broadcast_to(places, scores.shape)).statistic.values.filled(np.nan)
    found = [within(t_interval(some), -1, 1) for some in tau.reshape(400, seeds)]
    truth, known = tau.mean(), [one for one in found if not isinstance(one.low, Undefined)]
    assert len(known) > 380
    assert 0.92 <= np.mean([one.low <= truth <= one.high for one in known]) <= 0.98


SPREADS = {
    "tau, as measured": (0.05, 0.2, 0.2),
    "equal seeds": (0.0, 0.2, 0.2),
    "noise alone": (0.0, 0.0, 0.2),
    "seeds alone": (0.05, 0.0, 0.0),
    "little of seeds": (0.01, 0.2, 0.1),
}


@pytest.mark.parametrize("spreads", SPREADS.values(), ids=SPREADS)
@pytest.mark.parametrize(("seeds", "instances"), [(3, 100), (3, 500), (5, 200), (9, 100), (10, 500)])
def test_crossed_over_seeds_and_instances(seeds, instances, spreads):
    found = tables(500, seeds, instances, spreads, np.random.default_rng([seeds, instances]))
    assert 0.92 <= coverage(map(crossed_interval, found)) <= 0.98
    assert np.mean([crossed_p_value(table - TRUTH) < 0.05 for table in found[:250]]) <= 0.09


@pytest.mark.parametrize(("share", "least"), [(0.3, 0.92), (0.6, 0.92), (0.98, 0.85)])
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_crossed_over_what_holds_or_not(seeds, share, least):
    """Shares of instances, such as those whose tau is significant: seeds and instances differ in their log-odds."""
    rng = np.random.default_rng([seeds, int(100 * share)])
    deviations = 0.8, 2.0
    logits = np.hypot(*deviations) * np.random.default_rng(0).normal(size=100_000)
    middle = brentq(lambda at: expit(at + logits).mean() - share, -20, 20)
    hits = []
    for _ in range(400):
        own, text = (
            size * rng.normal(size=shape) for size, shape in zip(deviations, ((seeds, 1), (1, 500)), strict=True)
        )
        found = crossed_interval((rng.random((seeds, 500)) < expit(middle + own + text)).astype(float))
        hits.append(found.low <= share <= found.high)
    assert least <= np.mean(hits) <= 0.98


def test_intervals_over_instances_alone_do_not_cover_seeds():
    """What agreement had."""
    found = tables(300, 3, 500, SPREADS["tau, as measured"], np.random.default_rng(0))
    assert coverage(t_interval(table.mean(axis=0)) for table in found) < 0.6


def test_holes_do_no_harm():
    rng = np.random.default_rng(4)
    found = tables(400, 3, 100, SPREADS["tau, as measured"], rng)
    found[rng.random(found.shape) < 0.2] = np.nan
    assert 0.92 <= coverage(map(crossed_interval, found)) <= 0.98


@pytest.mark.parametrize("seeds", [3, 5])
def test_pairs_of_seeds(seeds):
    """A method against itself: pairs share seeds. On the safe side: the noise of a pair counts for both its seeds."""
    rng, draws, instances = np.random.default_rng(seeds), 400, 100
    own = 0.04 * rng.normal(size=(draws, seeds, 1))
    pairs = np.stack([own[:, one] + own[:, other] for one, other in itertools.combinations(range(seeds), 2)], axis=1)
    texts = TRUTH + 0.2 * rng.normal(size=(draws, 1, instances))
    cells = pairs + texts + 0.2 * rng.normal(size=(*pairs.shape[:2], instances))
    assert 0.93 <= coverage(crossed_interval(of_pairs(table, seeds)) for table in cells) <= 0.99
    assert of_pairs(cells[0], seeds).mean() == pytest.approx(cells[0].mean())


@pytest.mark.parametrize("spreads", SPREADS.values(), ids=SPREADS)
@pytest.mark.parametrize("seeds", [(3, 3), (3, 10), (10, 5)])
def test_differences_of_models_on_the_same_instances(seeds, spreads):
    """Seeds are others, as many as there are of each; what is common to an instance cancels, what is not stays."""
    rng, (own, both, noise) = np.random.default_rng(seeds), spreads
    shared = both * rng.normal(size=(500, 1, 100))
    one, other = (tables(500, number, 100, (own, both / 2, noise), rng) + shared for number in seeds)
    found = [crossed_difference(a + TRUTH, b) for a, b in zip(one, other, strict=True)]
    assert 0.92 <= coverage(found) <= 0.98


def test_holes_that_depend_on_the_instance_do_no_harm_to_differences():
    rng, (own, both, noise) = np.random.default_rng(6), SPREADS["tau, as measured"]
    shared = both * rng.normal(size=(400, 1, 200))
    one, other = (tables(400, 5, 200, (own, 0.0, noise), rng) + shared for _ in range(2))
    one[(rng.random(one.shape) < 0.4) & (shared > 0)] = np.nan
    assert 0.92 <= coverage(crossed_difference(a + TRUTH, b) for a, b in zip(one, other, strict=True)) <= 0.98


def test_differences_of_datasets():
    """Two means of datasets, of three and of two, each of three seeds."""
    rng = np.random.default_rng(1)
    found = [tables(300, 3, 100, SPREADS["tau, as measured"], rng) for _ in range(5)]
    sides = [
        [[crossed_interval(table[row]) for table in some] for some in (found[:3], found[3:])] for row in range(300)
    ]
    intervals = [_difference(side) for side in sides]
    assert 0.92 <= np.mean([one.low <= 0 <= one.high for one in intervals]) <= 0.99


@pytest.mark.slow
def test_the_bootstrap_needs_more_than_five_values():
    """No study uses BCa any more; with five values it is too narrow."""
    rng = np.random.default_rng(2)
    for n, least, most in ((50, 0.92, 0.98), (5, 0.70, 0.90)):
        data = rng.normal(TRUTH, 0.2, (300, n))
        assert least <= coverage(mean_interval(values, resamples=999) for values in data) <= most, n


def test_one_of_many_places_rarely_fails_by_chance():
    """24 places that lie on the limit: uncorrected, some place fails in 46 of 100 studies."""
    rng, places = np.random.default_rng(3), 24
    raw, verdicts = [], []
    for _ in range(40):
        found = [decide(t_interval(values), above=TRUTH) for values in rng.normal(TRUTH, 0.2, (places, 5))]
        raw.append(any(one.holds is False for one in found))
        (item,) = claim("it lies above", ((f"place {number}", (one, "")) for number, one in enumerate(found)))
        verdicts.append(item.verdict)
    assert np.mean(raw) > 0.3
    assert verdicts.count("not supported") <= 2


def test_a_place_that_surely_fails_still_does():
    far = np.random.default_rng(5).normal(0.0, 0.02, (24, 5))
    found = [decide(t_interval(values), above=TRUTH) for values in far]
    (item,) = claim("it lies above", ((f"place {number}", (one, "far below")) for number, one in enumerate(found)))
    assert item.verdict == "not supported"
    assert item.evidence.startswith("holds on 0 of 24 datasets, fails on place 0, place 1, place 2 and 21 more.")
    assert len(item.evidence) <= 300
    (counted,) = claim("none", [("here", (False, "3 of 9")), ("there", (True, "0 of 9"))])
    assert counted.verdict == "not supported", "what is counted is no sample"
    assert counted.evidence == "holds on 1 of 2 datasets, fails on here. here: 3 of 9; there: 0 of 9"


def test_base_models_that_share_their_others():
    """AtteFa's base models are each compared with the same other seeds: their means are not independent."""
    rng, draws = np.random.default_rng(8), 2000
    seeds = 0.05 * rng.normal(size=(draws, 9))
    noise = 0.05 * rng.normal(size=(draws, 9, 9))
    pairs = TRUTH + seeds[:, :, None] + seeds[:, None] + (noise + noise.transpose(0, 2, 1)) / np.sqrt(2)
    means = np.stack([np.delete(pairs[:, base], base, axis=1).mean(axis=1) for base in range(3)], axis=1)
    assert 0.87 <= coverage(map(t_interval, means)) <= 0.95
