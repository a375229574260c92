"""Shapley values of a Gaussian process over masks, against the process written out over all coalitions."""

import itertools
import math

import numpy as np
import pytest
import torch

from tests.models.test_attentive import batch_of, build, examples
from trueness.explainers import KernelShap
from trueness.explainers.between_copies import filled_shapley


def process(keep, said, relative):
    """What the likeliest process with rates of these relative sizes says to any mask."""
    best = None

    def alike(one, other, rates):
        return math.exp(-rates[one != other].sum())

    for rate in np.exp(np.linspace(-6, 1.5, 16)):
        rates = rate * relative
        covariance = np.array([[alike(one, other, rates) for other in keep] for one in keep]) + 1e-6 * np.eye(len(keep))
        inverse, ones = np.linalg.inv(covariance), np.ones(len(keep))
        mean = ones @ inverse @ said / (ones @ inverse @ ones)
        variance = (said - mean) @ inverse @ (said - mean) / len(said)
        likelihood = -len(said) / 2 * math.log(variance) - np.linalg.slogdet(covariance)[1] / 2
        if best is None or likelihood > best[0]:
            best = likelihood, rates, mean, inverse @ (said - mean)
    _, rates, mean, weight = best
    return lambda mask: mean + weight @ np.array([alike(one, mask, rates) for one in keep])


def shapley(game, tokens):
    """The mean over all orders of what a token adds."""
    values = np.zeros(tokens)
    for order in itertools.permutations(range(tokens)):
        keep = np.zeros(tokens, dtype=bool)
        before = game(keep)
        for token in order:
            keep[token] = True
            after = game(keep)
            values[token] += (after - before) / math.factorial(tokens)
            before = after
    return values


def rough(tokens, seed=0):
    """A sigmoid of a sum of words, pairs and threes."""
    rng = np.random.default_rng(seed)
    groups = [rng.choice(tokens, size, replace=False) for size in (1, 2, 3) for _ in range(tokens)]
    weights = rng.normal(size=len(groups))

    def game(keep):
        return 1 / (
            1 + math.exp(-sum(weight * keep[group].all() for weight, group in zip(weights, groups, strict=True)))
        )

    return game


def filled(keep, game):
    shown = torch.from_numpy(keep).double()
    said = torch.tensor([game(one) for one in keep], dtype=torch.float64)
    ends = [torch.tensor(game(np.full(keep.shape[1], shown)), dtype=torch.float64) for shown in (True, False)]
    return filled_shapley(shown, said, *ends).numpy()


def test_values_are_those_of_the_likeliest_process():
    tokens, game = 5, rough(5)
    keep = np.random.default_rng(1).random((14, tokens)) < 0.5
    ends = np.array([[True] * tokens, [False] * tokens])
    asked = np.concatenate([ends, keep])
    said = np.array([game(one) for one in asked])
    first = np.abs(shapley(process(asked, said, np.ones(tokens)), tokens))
    relative = np.sqrt(np.maximum(first / first.max(), 0.05))
    wanted = shapley(process(asked, said, relative / relative.mean()), tokens)
    wanted += (game(ends[0]) - game(ends[1]) - wanted.sum()) / tokens
    assert filled(keep, game) == pytest.approx(wanted, abs=1e-9)


def test_asked_about_all_coalitions_the_values_are_exact():
    tokens, game = 6, rough(6)
    keep = np.array(list(itertools.product([False, True], repeat=tokens)))[1:-1]
    assert filled(keep, game) == pytest.approx(shapley(game, tokens), abs=1e-5)


def test_a_sum_of_words_needs_few_copies():
    weights = np.random.default_rng(0).normal(size=30)
    drawn = KernelShap(70).draw(30, torch.Generator().manual_seed(0)).numpy()
    assert filled(drawn, lambda keep: float(keep @ weights)) == pytest.approx(weights, abs=0.02)


def test_less_is_left_to_chance_than_by_regression_alone():
    model, batch = build(), batch_of(examples(sizes=(9,), pairs=False))
    exact = KernelShap(510).attribute(model, batch)
    errors = {True: 0.0, False: 0.0}
    for seed, how in itertools.product(range(6), errors):
        scores = KernelShap(80, seed=seed, filled=how).attribute(model, batch)
        assert torch.allclose(scores.sum(), exact.sum(), atol=1e-6)
        errors[how] += float((scores - exact).square().sum())
    assert errors[True] < errors[False]


def test_company_changes_nothing_and_exact_values_stay():
    model, some = build(), examples(sizes=(9, 3), pairs=False)
    batch = batch_of(some)
    method, target = KernelShap(60, filled=True), model(batch).logits.argmax(-1)
    scores = method.attribute(model, batch)
    assert torch.equal(scores[1], KernelShap(60).attribute(model, batch)[1])
    for row, example in enumerate(some):
        alone = method.attribute(model, batch_of([example]), int(target[row]))
        assert torch.allclose(alone[0], scores[row, : alone.shape[1]], atol=1e-8)


def test_a_model_that_says_the_same_to_all_gets_zeros():
    keep = np.random.default_rng(1).random((20, 8)) < 0.5
    assert filled(keep, lambda _: 0.25) == pytest.approx(np.zeros(8), abs=1e-12)
