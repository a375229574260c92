"""Shapley values and LIME of a Gaussian process over masks, against the process written out over all masks."""

import itertools
import math

import numpy as np
import pytest
import torch

from tests.memory import peak_bytes
from tests.models.test_attentive import batch_of, build, examples
from trueness.errors import UserError
from trueness.explainers.between_copies import _bytes_of, filled_lime, filled_shapley, spread_out
from trueness.explainers.masked_copies import KernelShap, Lime


def alike(one, other, rates):
    return math.exp(-rates[one != other].sum()) + np.mean(np.where(one == other, 1, -1)) + 1


def alike_in_the_odd_part(one, other, rates):
    same, opposite = (math.exp(-rates[one != each].sum()) for each in (other, ~other))
    return (same - opposite) / (1 - math.exp(-rates.sum())) + np.mean(np.where(one == other, 1, -1))


def process(keep, odd, relative, alike=alike_in_the_odd_part):
    """What the likeliest process with rates of these relative sizes says to any mask."""
    best = None
    for rate in np.exp(np.linspace(-6, 1.5, 16)):
        rates = rate * relative
        covariance = np.array([[alike(one, other, rates) for other in keep] for one in keep]) + 1e-6 * np.eye(len(keep))
        inverse = np.linalg.inv(covariance)
        variance = odd @ inverse @ odd / len(odd)
        likelihood = -len(odd) / 2 * math.log(variance) - np.linalg.slogdet(covariance)[1] / 2
        if best is None or likelihood > best[0]:
            best = likelihood, rates, inverse @ odd
    _, rates, weight = best
    return lambda mask: weight @ np.array([alike(one, mask, rates) for one in keep])


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


def paired(half):
    return np.stack([half, ~half], axis=1).reshape(-1, half.shape[1])


def filled(half, game):
    keep = paired(half)
    said = torch.tensor([game(one) for one in keep], dtype=torch.float64)
    ends = [torch.tensor(game(np.full(keep.shape[1], shown)), dtype=torch.float64) for shown in (True, False)]
    return filled_shapley(torch.from_numpy(keep).double(), said, *ends).numpy()


@pytest.mark.parametrize("tokens", [3, 5, 6])
def test_values_are_those_of_the_likeliest_process(tokens):
    game = rough(tokens)
    half = np.random.default_rng(1).random((7, tokens)) < 0.5
    asked = np.concatenate([np.full((1, tokens), True), half])
    odd = np.array([(game(one) - game(~one)) / 2 for one in asked])
    first = np.abs(shapley(process(asked, odd, np.ones(tokens)), tokens))
    relative = np.sqrt(np.maximum(first / first.max(), 0.05))
    wanted = shapley(process(asked, odd, relative / relative.mean()), tokens)
    wanted += (game(asked[0]) - game(~asked[0]) - wanted.sum()) / tokens
    assert filled(half, game) == pytest.approx(wanted, abs=1e-7)


def test_asked_about_all_coalitions_the_values_are_exact():
    tokens, game = 6, rough(6)
    keep = np.array(list(itertools.product([False, True], repeat=tokens)))[1:32]
    assert filled(keep, game) == pytest.approx(shapley(game, tokens), abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_an_output_that_jumps_does_not_hide_the_scores(seed):
    weights = 8 * np.random.default_rng(seed).normal(size=100)
    half = KernelShap(1600).draw(100, torch.Generator().manual_seed(seed)).numpy()[::2]
    found = filled(half, lambda keep: float(1 / (1 + np.exp(-(keep @ weights)))))
    assert np.linalg.norm(found) > 0.5
    assert np.corrcoef(found, weights)[0, 1] > 0.9


def test_words_and_pairs_need_few_copies():
    rng = np.random.default_rng(0)
    weights, pairs = rng.normal(size=30), rng.normal(size=29)
    truth = weights + (np.append(pairs, 0) + np.insert(pairs, 0, 0)) / 2
    half = KernelShap(120).draw(30, torch.Generator().manual_seed(0)).numpy()[::2]
    found = filled(half, lambda keep: float(keep @ weights + (keep[1:] & keep[:-1]) @ pairs))
    assert found == pytest.approx(truth, abs=0.01)


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
    half = np.random.default_rng(1).random((20, 8)) < 0.5
    assert filled(half, lambda _: 0.25) == pytest.approx(np.zeros(8), abs=1e-12)


def all_masks(tokens):
    return np.array(list(itertools.product([False, True], repeat=tokens)))


def nearness(keep, width=0.25):
    return np.exp(-((1 - np.sqrt(keep.mean(axis=1))) ** 2) / (2 * width**2))


def regression(game, tokens):
    """LIME over all masks."""
    keep = all_masks(tokens)
    inputs = np.column_stack([keep, np.ones(len(keep))]) * np.sqrt(nearness(keep))[:, None]
    said = np.array([game(one) for one in keep]) * np.sqrt(nearness(keep))
    return np.linalg.lstsq(inputs, said)[0][:-1]


def lime(keep, game):
    tokens = keep.shape[1]
    near = torch.from_numpy(nearness(np.tri(tokens + 1, tokens, -1)))
    said = torch.tensor([game(one) for one in keep], dtype=torch.float64)
    return filled_lime(torch.from_numpy(keep).double(), said, near).numpy()


@pytest.mark.parametrize("tokens", [1, 2, 3, 5, 6])
def test_scores_of_lime_are_those_of_the_likeliest_process(tokens):
    game = rough(tokens) if tokens > 2 else lambda keep: float(keep.sum() ** 2)
    keep = np.random.default_rng(1).random((9, tokens)) < 0.5
    said = np.array([game(one) for one in keep])
    first = np.abs(regression(process(keep, said - said.mean(), np.ones(tokens), alike), tokens))
    relative = np.sqrt(np.maximum(first / first.max(), 0.05))
    wanted = regression(process(keep, said - said.mean(), relative / relative.mean(), alike), tokens)
    assert lime(keep, game) == pytest.approx(wanted, abs=1e-6)


def test_asked_about_all_masks_lime_is_exact():
    game = rough(6)
    assert lime(all_masks(6), game) == pytest.approx(regression(game, 6), abs=1e-4)


def test_lime_of_a_model_that_says_the_same_to_all_is_zero():
    keep = np.random.default_rng(1).random((20, 8)) < 0.5
    assert lime(keep, lambda _: 0.25) == pytest.approx(np.zeros(8), abs=1e-12)


def test_lime_of_a_very_long_text_is_finite():
    keep = np.random.default_rng(1).random((6, 1200)) < 0.5
    assert np.isfinite(lime(keep, lambda mask: float(mask[:600].mean()))).all()


def test_lime_filled_in_leaves_less_to_chance():
    model, batch = build(), batch_of(examples(sizes=(9,), pairs=False))
    exact = Lime(30_000, ridge=1e-6).attribute(model, batch)
    errors = {True: 0.0, False: 0.0}
    for seed, how in itertools.product(range(6), errors):
        scores = Lime(80, seed=seed, complements=True, filled=how, ridge=1e-6).attribute(model, batch)
        errors[how] += float((scores - exact).square().sum())
    assert errors[True] < errors[False] / 2


def test_company_changes_nothing_of_lime():
    model, some = build(), examples(sizes=(9, 3), pairs=False)
    batch = batch_of(some)
    method, target = Lime(60, filled=True), model(batch).logits.argmax(-1)
    scores = method.attribute(model, batch)
    for row, example in enumerate(some):
        alone = method.attribute(model, batch_of([example]), int(target[row]))
        assert torch.allclose(alone[0], scores[row, : alone.shape[1]], atol=1e-7)


def test_of_the_choices_the_least_alike_is_taken():
    rng = np.random.default_rng(0)
    choices = rng.random((12, 5, 7)) < 0.5
    chosen = [choices[0, 0]]
    for each in choices[1:]:
        like = [sum(float((2.0 * mask - 1) @ (2.0 * other - 1)) ** 2 for other in chosen) for mask in each]
        chosen.append(each[int(np.argmin(like))])
    assert torch.equal(spread_out(torch.from_numpy(choices)), torch.from_numpy(np.array(chosen)))


def test_what_is_taken_is_drawn_evenly():
    draws = [Lime(6, filled=True).draw(2, torch.Generator().manual_seed(seed)) for seed in range(500)]
    masks = torch.stack(draws)[:, -1].long() @ torch.tensor([1, 2])
    assert torch.all((masks.bincount(minlength=4) / 500 - 0.25).abs() < 0.07)
    sizes = KernelShap(40, filled=True).draw(11, torch.Generator().manual_seed(0)).sum(dim=1)
    assert sizes.bincount().tolist() == [0, *[4] * 10]


@pytest.mark.parametrize(
    "method",
    [
        KernelShap(4098, filled=True),
        KernelShap(60, filled=True, max_bytes=1000),
        Lime(2050, filled=True),
        Lime(60, filled=True, max_bytes=1000),
        Lime(60, filled=True, width=0.1),
    ],
)
def test_more_than_it_can_take_is_refused(method):
    model, batch = build(), batch_of(examples(sizes=(13,), pairs=False))
    with pytest.raises(UserError, match=r"smaller n_samples|width of at least"):
        method.attribute(model, batch)


@pytest.mark.parametrize(("copies", "tokens"), [(32, 24), (16, 300), (128, 512), (400, 20)])
@pytest.mark.parametrize("kind", [Lime, KernelShap])
def test_it_takes_no_more_than_it_says(kind, copies, tokens):
    method, ends = kind(copies, filled=True), torch.zeros(1, dtype=torch.float64)

    def work():
        keep = method.draw(tokens, torch.Generator().manual_seed(0))
        said = torch.sin(torch.arange(len(keep), dtype=torch.float64))
        method.solve(keep.double()[None], said[None], ends + 1, ends, torch.tensor([float(tokens)]))

    rows = copies if kind is Lime else copies // 2
    assert peak_bytes(work) <= 1.2 * _bytes_of(rows, tokens)


def test_auto_fills_in_where_there_is_room():
    assert KernelShap("auto").few(13).filled
    assert not Lime("auto", filled=True).few(13).filled, "it takes more copies than can be filled in"
    assert not KernelShap("auto", max_bytes=1 << 20).few(13).filled, "whatever the number of copies it comes to"
