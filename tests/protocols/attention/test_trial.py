from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from tests.models.test_training import DATA, QUICK, SMALL, corpus
from trueness.kinds.text.attention import trial as trials
from trueness.kinds.text.attention.ascent import best_adversary
from trueness.kinds.text.attention.correlation import padded, seed_spread
from trueness.kinds.text.attention.search import improved
from trueness.kinds.text.attention.trial import Settings, attention_trial
from trueness.kinds.text.models.families import train
from trueness.protocols.similarity import null_deviation

HOW = Settings(epsilon=0.05, epsilons=(0.0, 0.2), permutations=10, search_steps=30, examples=3)


@pytest.fixture(scope="module")
def model():
    return train("bilstm-additive", DATA, recipe=QUICK, **SMALL)


@pytest.fixture(scope="module")
def trial(model):
    return attention_trial(model, DATA["test"], HOW, seed=1)


def test_every_class_has_a_gradient(trial):
    for predicted in (0, 1):
        part = trial.records[trial.records["predicted"] == predicted]
        assert part["tau: attention, full-gradient"].notna().any()


def test_adversaries_grow_with_epsilon_and_exceed_the_search(trial):
    records = trial.records
    assert (records["adversary 0"] <= records["adversary 0.05"] + 1e-9).all()
    assert (records["adversary 0.05"] <= records["adversary 0.2"] + 1e-9).all()
    assert (records["search"] <= records["adversary 0.05"] + 1e-6).all()
    assert (records["search@jw2019"] <= records["adversary 0.05"] + 1e-6).all()
    assert (records["change"] <= 0.05 + 1e-6).all()
    assert records["exact"].all()
    assert (records["alone"] <= records["length"]).all()
    assert (records["deciding"] >= 1).all(), "attention is an average: some token agrees with it"
    assert records[["first", "second"]].min().min() >= 0
    assert (records[["first", "second"]].max(axis=1) < records["length"]).all()


def test_examples_are_spread_over_the_divergence(trial):
    shown = trial.examples
    assert len(shown) == 3
    assert shown["divergence"].is_monotonic_increasing
    lowest, highest = trial.records["adversary 0.05"].min(), trial.records["adversary 0.05"].max()
    assert (shown["divergence"].iloc[0], shown["divergence"].iloc[-1]) == (lowest, highest)
    for row in shown.itertuples():
        assert tuple(row.words) == DATA["test"][row.instance].tokens
        assert sum(row.attention) == pytest.approx(1, abs=1e-3)
        assert sum(row.adversarial) == pytest.approx(1, abs=1e-3)


def test_the_search_can_be_left_out_and_nothing_shown(model):
    frugal = attention_trial(model, DATA["test"][:5], Settings(permutations=5, search_steps=0, examples=0))
    assert "search" not in frugal.records
    assert len(frugal.examples) == 0


def test_pairs_of_texts_get_an_interval():
    data = corpus(pairs=True)
    model = train("bilstm-additive", data, recipe=QUICK, head="query", **SMALL)
    records = attention_trial(model, data["test"][:10], HOW).records
    assert not records["exact"].any()
    assert (records["adversary 0.05"] <= records["upper 0.05"]).all()
    assert (records["search"] <= records["adversary 0.05"] + 1e-9).all(), "the best found includes the search"
    assert "permutation_closed" not in records


def test_the_null_deviation_is_that_of_random_rankings():
    rng = np.random.default_rng(0)
    taus = [kendalltau(rng.permutation(12), rng.permutation(12)).statistic for _ in range(3000)]
    assert null_deviation(12) == pytest.approx(np.std(taus), rel=0.05)
    assert np.isinf(null_deviation(1))


def test_spread_between_seeds():
    sizes = np.array([3, 2], dtype=np.int32)
    same = {"sizes": sizes, "attention": np.array([0.5, 0.3, 0.2, 0.6, 0.4])}
    other = {"sizes": sizes, "attention": np.array([0.2, 0.3, 0.5, 0.4, 0.6])}
    equal = seed_spread([same, same])
    assert equal["reliability: attention"].tolist() == [1, 1]
    assert equal["divergence between seeds"].tolist() == pytest.approx([0, 0], abs=1e-12)
    apart = seed_spread([same, other, same])
    # With the next seed: same-other, other-same, same-same. The divergence is over all pairs.
    assert apart["reliability: attention"].tolist() == pytest.approx([-1 / 3, -1 / 3])
    assert (apart["largest divergence between seeds"] > apart["divergence between seeds"]).all()
    assert len(seed_spread([same])) == 0
    block, mask = padded(same["attention"], sizes)
    assert block.shape == (2, 3)
    assert mask.sum() == 5


def test_each_epsilon_begins_where_the_one_before_ended_and_takes_what_the_search_found(monkeypatch):
    data = corpus(pairs=True)
    model = train("bilstm-additive", data, recipe=QUICK, head="query", **SMALL)
    begun, ended, asked = [], [], []

    def best(view, epsilon, begin):
        begun.append(begin)
        return best_adversary(view, epsilon, begin)

    def better(adversary, found, epsilon):
        asked.append(epsilon)
        ended.append(improved(adversary, replace(found, divergence=found.divergence + 1.0), epsilon))
        return ended[-1]

    monkeypatch.setattr(trials, "best_adversary", best)
    monkeypatch.setattr(trials, "improved", better)
    records = attention_trial(model, data["test"][:4], HOW).records
    assert asked == [0.0, 0.05, 0.2]
    assert all(torch.equal(after, before.attention) for before, after in zip(ended, begun[1:], strict=False))
    assert sorted(records["adversary 0.2"]) == pytest.approx(sorted(ended[-1].divergence.tolist()))
    assert (records["adversary 0.2"] > 1).all(), "that of the search, made larger here"
