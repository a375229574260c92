import itertools

import numpy as np
import pytest
import torch

from tests.models.test_attentive import VOCABULARY, build
from tests.protocols.roar.by_hand import retraining
from tests.protocols.roar.test_hiding import texts
from tests.protocols.roar.test_step import TRAIN, Words, one_decides
from tests.registries import put
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.protocols.roar import bounds
from trueness.protocols.roar.bounds import Drops, attainable, normalised
from trueness.protocols.roar.companion import ReferenceValues, inner_values, measure
from trueness.protocols.roar.hiding import Amount


def drops_of(size, seed=0):
    rng = np.random.default_rng(seed)
    words = list(VOCABULARY.words[5:])
    example = TextExample(tuple(rng.choice(words, size)), 1)
    network = build("bilstm", "additive")
    with torch.no_grad():  # so that hiding a token changes something
        network.output.weight.mul_(40)
    return Drops(network, EncodedSplit([example], VOCABULARY).batch([0]), "gold"), network, example


def literal(network, example, order):
    """A(order): hide one token after the other and look."""
    batch = EncodedSplit([example], VOCABULARY).batch([0])
    whole = network(batch).logits.softmax(-1)[0, 1]
    total, where = 0.0, torch.zeros_like(batch.mask)
    for token in order:
        where[0, token + 1] = True
        total += float(whole - network(batch.hide(where)).logits.softmax(-1)[0, 1])
    return total / len(order)


def test_all_orders_of_short_texts_are_searched():
    drops, network, example = drops_of(4)
    with torch.no_grad():
        known = [literal(network, example, order) for order in itertools.permutations(range(4))]
        assert drops.along(np.array([2, 0, 3, 1])) == pytest.approx(literal(network, example, [2, 0, 3, 1]), abs=1e-6)
    found = attainable(drops)
    assert found.exact
    assert (found.low, found.high) == pytest.approx((min(known), max(known)), abs=1e-6)


def test_a_wide_beam_is_exact_and_a_narrow_one_inside(monkeypatch):
    drops, _, _ = drops_of(5, seed=3)
    exact = attainable(drops)
    monkeypatch.setattr(bounds, "EXACT", 1)
    wide, narrow = attainable(drops, beam=200), attainable(drops, beam=1)
    assert not wide.exact
    assert (wide.low, wide.high) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert exact.low - 1e-9 <= narrow.low
    assert narrow.high <= exact.high + 1e-9


class Counted(Drops):
    """How many sets were looked at."""

    looks = 0

    def __call__(self, sets):
        self.looks += len(sets)
        return super().__call__(sets)


@pytest.mark.parametrize("size", [11, 12, 17])
def test_without_a_beam_orders_are_by_both_ends_and_cost_as_two_explanations(size):
    drops, network, example = drops_of(size, seed=size)
    counted = Counted(network, EncodedSplit([example], VOCABULARY).batch([0]), "gold")
    found = attainable(counted, beam=0)

    def odds(hidden):
        batch = EncodedSplit([example], VOCABULARY).batch([0])
        where = torch.zeros_like(batch.mask)
        where[0, [place + 1 for place in hidden]] = True
        with torch.no_grad():
            chance = float(network(batch.hide(where)).logits.double().softmax(-1)[0, 1])
        return np.log(chance / (1 - chance))

    everything = list(range(size))
    effect = [
        odds([]) - odds([place]) + odds([other for other in everything if other != place]) - odds(everything)
        for place in everything
    ]
    falling = sorted(everything, key=lambda place: -effect[place])
    wanted = [drops.along(np.array(order)) for order in (falling[::-1], falling)]
    assert not found.exact
    assert (found.low, found.high) == pytest.approx((min(wanted), max(wanted)), abs=1e-6)
    assert counted.looks < 4 * size  # those of two explanations, by importance and reversed


def test_without_a_beam_most_of_the_range_is_found(monkeypatch):
    drops, _, _ = drops_of(9, seed=5)
    exact = attainable(drops)
    monkeypatch.setattr(bounds, "EXACT", 1)
    found = attainable(drops, beam=0)
    spread = exact.high - exact.low
    assert exact.low - 1e-9 <= found.low <= exact.low + 0.1 * spread
    assert exact.high - 0.1 * spread <= found.high <= exact.high + 1e-9


def test_the_best_order_is_1_and_the_worst_0():
    drops, _, _ = drops_of(4, seed=1)
    found = attainable(drops)
    orders = list(itertools.permutations(range(4)))
    by_value = sorted(orders, key=lambda order: drops.along(np.array(order)))
    for order, wanted in ((by_value[-1], 1.0), (by_value[0], 0.0)):
        scores = np.zeros(4)
        scores[list(order)] = [4, 3, 2, 1]
        comprehensive, _ = normalised(drops, scores, found)
        assert comprehensive == pytest.approx(wanted, abs=1e-6)
        # Sufficiency hides the least important first: the order reversed, and low is good.
        _, sufficient = normalised(drops, scores[::1].max() + 1 - scores, found)
        assert sufficient == pytest.approx(1 - wanted, abs=1e-6)


def test_a_model_that_ignores_its_words_has_no_bounds():
    drops, network, example = drops_of(4)
    with torch.no_grad():
        network.output.weight.zero_()
    drops = Drops(network, EncodedSplit([example], VOCABULARY).batch([0]), "gold")
    assert np.isnan(normalised(drops, np.arange(4.0), attainable(drops))).all()


def test_usual_texts_have_uniform_p_values_and_others_small_ones():
    rng = np.random.default_rng(0)
    reference, same, other = (
        [torch.from_numpy(rng.normal(mean, 1, (400, units))) for mean, units in ((shift, 6), (0, 2))]
        for shift in (0, 0, 3)
    )
    usual = ReferenceValues(reference)
    assert np.mean(usual.p_values(same) < 0.05) < 0.1
    assert np.mean(usual.p_values(same)) == pytest.approx(0.5, abs=0.08)
    assert np.mean(usual.p_values(other) < 0.05) > 0.8


def test_p_values_are_those_of_the_equations():
    rng = np.random.default_rng(1)
    # Units of few values have ties.
    reference, seen = ([rng.normal(size=(31, 4)), rng.integers(0, 3, (31, 3)).astype(float)] for _ in range(2))
    order = np.random.default_rng(0).permutation(31)
    fit, rest = order[::2], order[1::2]

    def statistic(layers, row):
        fisher = 0.0
        for layer, known in zip(layers, reference, strict=True):
            p = []
            for unit in range(known.shape[1]):
                below = sum(known[other, unit] < layer[row, unit] for other in fit)
                share = (below + 0.5) / (len(fit) + 1)
                p.append(2 * min(share, 1 - share))
            simes = min(len(p) * one / (rank + 1) for rank, one in enumerate(sorted(p)))
            fisher -= np.log(min(simes, 1.0))
        return fisher

    calibration = [statistic(reference, row) for row in rest]
    wanted = [
        (1 + sum(one >= statistic(seen, row) - 1e-12 for one in calibration)) / (1 + len(rest)) for row in range(31)
    ]
    usual = ReferenceValues([torch.from_numpy(layer) for layer in reference])
    assert usual.p_values([torch.from_numpy(layer) for layer in seen]) == pytest.approx(wanted)


def test_texts_sorted_by_label_do_not_hide_what_is_unusual():
    rng = np.random.default_rng(0)

    def layers(shift, size=400):
        parts = [rng.normal(-5, 1, (size // 2, 4)), rng.normal(5, 1, (size // 2, 4))]
        return [torch.from_numpy(np.concatenate(parts) + shift)]

    usual = ReferenceValues(layers(0))
    assert np.mean(usual.p_values(layers(0)) < 0.05) < 0.12
    assert np.mean(usual.p_values(layers(6)) < 0.05) > 0.4


def test_inner_values_keep_the_order_of_the_texts():
    network, split = build("bilstm", "additive"), EncodedSplit(texts(), VOCABULARY)
    mean, most, logits = inner_values(network, split)
    batch = split.batch([5])
    with torch.no_grad():
        seen = network(batch)
    states = seen.states[0][batch.mask[0]]
    assert mean[5] == pytest.approx(states.mean(0).numpy(), abs=1e-5)
    assert most[5] == pytest.approx(states.amax(0).numpy(), abs=1e-5)
    assert logits[5] == pytest.approx(seen.logits[0].numpy(), abs=1e-5)


def test_one_model_trained_under_masks_tells_good_explainers_from_bad(monkeypatch):
    data = one_decides(twice=False)
    put(monkeypatch, TEXT_EXPLAINERS, "perfect", Words(data, ("no", "yes")))
    how = {"target": "gold", "signed": False, "bounded": 4, "beam": 2}
    amounts = [Amount(0.1), Amount(0.5)]
    methods = {"perfect": TEXT_EXPLAINERS["perfect"], "random": None}
    methods["attention-rollout"] = TEXT_EXPLAINERS["attention-rollout"]
    perfect, random, refused = measure(retraining(TRAIN, data), [0], methods, amounts, **how)
    assert perfect["test"][0]["accuracy"] > 0.95
    assert perfect["test"][1]["accuracy"] < 0.65
    assert random["test"][1]["accuracy"] > 0.8
    assert perfect["test"][-1] == random["test"][-1], "all hidden"
    assert len(perfect["unusual"]) == 2
    assert "attention-rollout" in refused["refused"]
    mean = [np.mean([pair[0] for pair in one["bounded"] if pair[0] is not None]) for one in (perfect, random)]
    assert mean[0] > mean[1]
