"""Parts of the searches for adversarial attention, one by one, on small networks."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.protocols.attention.test_adversary import divergence, vertices, view_of
from trueness.kinds.text.attention import ascent
from trueness.kinds.text.attention.adversary import Vertices, slab, vertex_adversary
from trueness.kinds.text.attention.ascent import _best, _climb, _feasible, _little_attention, ascended, best_adversary
from trueness.kinds.text.attention.correlation import correlations, padded, seed_spread
from trueness.kinds.text.attention.permutation import PermutedLogit
from trueness.kinds.text.attention.search import Found, Search, improved, search
from trueness.kinds.text.attention.view import AttentionView


@pytest.fixture
def view():
    return view_of(3, seed=1, sizes=(4, 6))[0]


def doubles(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_the_slab_by_hand():
    low, high = slab(doubles(0.6), doubles(0.4), 0.1)
    assert float(low) == pytest.approx(math.log(0.5 / 0.5))
    assert float(high) == pytest.approx(math.log(0.7 / 0.3))
    low, high = slab(doubles(0.05), doubles(0.95), 0.1)
    assert (float(low), float(high)) == (-math.inf, pytest.approx(math.log(0.15 / 0.85)))
    low, high = slab(doubles(0.95), doubles(0.05), 0.1)
    assert (float(low), float(high)) == (pytest.approx(math.log(0.85 / 0.15)), math.inf)


def test_vertices_as_weights():
    found = Vertices(doubles(0.1, 0.2), torch.tensor([0, 2]), torch.tensor([1, 2]), doubles(0.3, 1.0))
    assert found.attention(3).tolist() == [[0.3, 0.7, 0.0], [0.0, 0.0, 1.0]]
    twice = Vertices.joined([found, found])
    assert twice.first.tolist() == [0, 2, 0, 2]
    assert twice.weight.tolist() == [0.3, 1.0, 0.3, 1.0]


@torch.no_grad()
def test_mixtures_of_two_are_the_best_of_a_grid(view):
    """All pairs of tokens at all weights of the grid, literally."""
    found, epsilon = vertex_adversary(view, 0.1), 0.1
    weights = [0.0, *(1 / (1 + np.exp(-np.linspace(-8, 8, 33)))), 1.0]
    for row, size in enumerate((4, 6)):
        observed, best = view.attention[row].numpy(), 0.0
        for one in range(1, size + 1):
            for other in range(1, size + 1):
                for weight in weights:
                    point = np.zeros(len(observed))
                    point[one] += weight
                    point[other] += 1 - weight
                    if one == other and weight not in (0.0, 1.0):
                        continue
                    changed = view.outputs(torch.tensor(point)[None, None].expand(2, -1, -1))[row, 0]
                    if float((changed - view.probability[row]).abs().sum()) / 2 <= epsilon:
                        best = max(best, divergence(point, observed))
        assert float(found.divergence[row]) == pytest.approx(best, abs=1e-6)
        assert float(found.upper[row]) >= best


@torch.no_grad()
def test_each_candidate_is_moved_to_the_border(view):
    candidates = torch.zeros(2, 2, view.mask.shape[1], dtype=torch.float64)
    candidates[:, 0] = view.attention  # feasible as it is
    candidates[:, 1, 1] = 1.0
    found = _feasible(view, candidates, 0.02)
    assert torch.allclose(found.attention[:, 0], view.attention)
    assert found.divergence[:, 0].tolist() == pytest.approx([0, 0], abs=1e-12)
    change = (view.outputs(found.attention)[:, 1] - view.probability).abs().sum(-1) / 2
    share = ((found.attention[:, 1] - view.attention) / (candidates[:, 1] - view.attention))[:, 1]
    for row in range(2):
        assert float(change[row]) <= 0.02
        assert share[row] == 1 or float(change[row]) == pytest.approx(0.02, abs=1e-6)
        expected = divergence(found.attention[row, 1].numpy(), view.attention[row].numpy())
        assert float(found.divergence[row, 1]) == pytest.approx(expected)
    free = _feasible(view, candidates, 1.0)
    assert torch.allclose(free.attention, candidates)
    coarse = _feasible(view, candidates, 0.02, halvings=0)
    shares = ((coarse.attention[:, 1] - view.attention) / (candidates[:, 1] - view.attention))[:, 1]
    assert set(shares.round(decimals=6).tolist()) <= {0.0, *(round(1 - less, 6) for less in ascent._SHORT_OF)}


@torch.no_grad()
def test_the_best_are_those_that_diverge_most_once_they_are_feasible(view):
    candidates = torch.rand(2, 70, view.mask.shape[1], generator=torch.Generator().manual_seed(0)).double() ** 8
    candidates = candidates * view.mask[:, None]
    candidates = candidates / candidates.sum(dim=-1, keepdim=True)
    best = _best(view, candidates, 0.05)
    assert best.shape == (2, 12, view.mask.shape[1])
    apart = _feasible(view, candidates, 0.05, halvings=3).divergence
    for row in range(2):
        chosen = sorted(range(70), key=lambda at: -float(apart[row, at]))[:12]
        assert torch.equal(best[row], candidates[row, chosen])
    assert torch.equal(_best(view, candidates[:, :3], 0.05).sort(dim=1).values, candidates[:, :3].sort(dim=1).values)


@torch.no_grad()
def test_the_first_start_is_where_there_is_little_attention(view):
    logits = _little_attention(view, torch.Generator().manual_seed(0))
    assert logits.shape == (2, 24, view.mask.shape[1])
    assert torch.allclose(logits[:, 0], -(view.attention + 1e-3).log())
    noise = logits[:, 1:] - logits[:, :1]
    spread = noise.flatten(0).view(2, 23, -1).std(dim=(0, 2))
    assert float(spread[22] / spread[0]) > 5, "wider and wider"


def test_climbing_ends_at_distributions_that_diverge_more(view, monkeypatch):
    monkeypatch.setattr(ascent, "STEPS", 30)
    with torch.no_grad():
        begin = torch.zeros(2, 3, view.mask.shape[1], dtype=torch.float64)
        found = _climb(view, begin, 1.0)
    assert torch.allclose(found.sum(-1), torch.ones(2, 3, dtype=torch.float64))
    assert (found[~view.mask[:, None].expand_as(found)] == 0).all()
    even = (view.mask / view.mask.sum(-1, keepdim=True)).double()
    for row in range(2):
        observed = view.attention[row].numpy()
        assert divergence(found[row, 0].numpy(), observed) > divergence(even[row].numpy(), observed)


def test_what_is_exact_or_allows_nothing_is_left_alone(view):
    with torch.no_grad():
        linear = view_of(2, sizes=(4, 6))[0]
        exact = vertex_adversary(linear, 0.05)
        assert ascended(linear, exact, 0.05) is exact
        still = vertex_adversary(view, 0.0)
        assert ascended(view, still, 0.0) is still


@torch.no_grad()
def test_the_ascent_keeps_what_is_better(view, monkeypatch):
    monkeypatch.setattr(ascent, "STEPS", 5)
    pairs = vertex_adversary(view, 0.05)
    found = ascended(view, pairs, 0.05)
    better = found.divergence > pairs.divergence
    assert (found.divergence >= pairs.divergence).all()
    assert ((found.first == -1) == (better | (pairs.first == -1))).all()
    assert ((found.second == -1) == (better | (pairs.second == -1))).all()
    assert (found.upper >= found.divergence).all()
    change = (view.outputs(found.attention[:, None])[:, 0] - view.probability).abs().sum(-1) / 2
    assert torch.allclose(change, found.change)
    far = ascended(view, pairs, 0.3, found.attention)
    assert (far.divergence >= found.divergence - 1e-9).all(), "it begins from one within less"


def test_the_best_found_within_epsilon():
    attention = torch.eye(3, dtype=torch.float64)[None].expand(2, -1, -1)
    found = Found(doubles([0.1, 0.3, 0.5], [0.1, 0.2, 0.3]), doubles([0.0, 0.02, 0.03], [0.5, 0.6, 0.7]), attention)
    value, at = found.best(0.02)
    assert (value.tolist(), at.tolist()) == ([0.3, 0.0], [1, -1])
    assert found.best(0.5)[1].tolist() == [2, 0]


@torch.no_grad()
def test_what_the_search_finds_replaces_what_is_weaker(view):
    adversary = vertex_adversary(view, 0.05)
    width = view.mask.shape[1]
    attention = torch.eye(width, dtype=torch.float64)[:3][None].expand(2, -1, -1)
    value = adversary.divergence
    apart = torch.stack([value * 0 + 9, value + doubles(0.1, -0.1), value * 0], dim=1)
    found = improved(adversary, Found(apart, doubles([0.9, 0.01, 0.0], [0.9, 0.01, 0.0]), attention), 0.05)
    assert found.divergence.tolist() == pytest.approx([float(value[0]) + 0.1, float(value[1])])
    assert found.attention[0].tolist() == attention[0, 1].tolist()
    assert torch.equal(found.attention[1], adversary.attention[1])
    assert found.change.tolist() == [0.01, float(adversary.change[1])]
    assert (found.first.tolist(), found.second.tolist()) == (
        [-1, int(adversary.first[1])],
        [-1, int(adversary.second[1])],
    )
    assert float(found.upper[0]) == max(float(adversary.upper[0]), float(value[0]) + 0.1)
    exact = vertex_adversary(view_of(2, sizes=(4, 6))[0], 0.05)
    assert improved(exact, Found(apart, apart * 0, attention), 0.05) is exact


@pytest.mark.parametrize("classes", [2, 3])
def test_a_search_of_no_steps_is_where_it_began(classes):
    with torch.no_grad():
        view = view_of(classes, seed=1, sizes=(4, 6))[0]
    found = search(view, Search(steps=0, noise=2.0, candidates=3), seed=4)
    rows, width = view.mask.shape
    noise = torch.randn(rows, 3, width, generator=torch.Generator().manual_seed(4))
    expected = torch.softmax((2.0 * noise).masked_fill(~view.mask[:, None], -torch.inf), dim=-1).double()
    assert torch.allclose(found.attention, expected, atol=1e-6)
    assert torch.allclose(found.attention.sum(-1), torch.ones(2, 3, dtype=torch.float64), atol=1e-12)
    for row in range(2):
        for place in range(3):
            point = found.attention[row, place]
            literal = divergence(point.numpy(), view.attention[row].numpy())
            assert float(found.divergence[row, place]) == pytest.approx(literal, abs=1e-9)
    change = (view.outputs(found.attention) - view.probability[:, None]).abs().sum(-1) / 2
    assert torch.allclose(change, found.change)


def test_one_step_of_the_search_is_one_of_adam():
    """With AMSGrad the first step moves every logit by the learning rate against its gradient's sign."""
    with torch.no_grad():
        view = view_of(2, seed=1, sizes=(4,))[0]
    still, moved = (search(view, Search(steps=steps, learning_rate=0.1), seed=0) for steps in (0, 1))
    inside = view.mask[0]
    step = (moved.attention[0, :, inside].log() - still.attention[0, :, inside].log()).numpy()
    apart = step - step[:, :1]  # the normaliser moves all alike
    nearest = np.round(apart / 0.1) * 0.1
    assert apart == pytest.approx(nearest, abs=1e-3)
    assert np.abs(nearest).max() == pytest.approx(0.2)


def test_the_closed_median_by_hand():
    """Half of the permuted log-odds lie within the median change of the observed probability."""
    logit = PermutedLogit(doubles(0.3, 0.7), doubles(0.8, 0.0), doubles(0.5, 1.5))
    found = logit.median_change()
    p = 1 / (1 + math.exp(-0.5))
    rng = np.random.default_rng(0)
    sampled = np.median(np.abs(1 / (1 + np.exp(-rng.normal(0.3, 0.8, 200_000))) - p))
    assert float(found[0]) == pytest.approx(sampled, abs=2e-3)
    expected = abs(1 / (1 + math.exp(-0.7)) - 1 / (1 + math.exp(-1.5)))
    assert float(found[1]) == pytest.approx(expected), "without spread the change is always the same"
    p, far = 1 / (1 + math.exp(-2.2)), PermutedLogit(doubles(-3.0), doubles(0.5), doubles(2.2))
    down = float(far.median_change())
    assert down == pytest.approx(p - 1 / (1 + math.exp(3.0)), abs=1e-4), "so much more would be beyond 1"


def test_columns_of_correlations_by_hand():
    mask = np.array([[True, True, True], [True, True, False]])
    up, down = np.array([[1.0, 2, 3], [1, 2, 9]]), np.array([[3.0, 2, 1], [2, 2, 0]])
    scores = {"attention": up, "gradient@jw2019": up, "full-gradient": down, "leave-one-out@jw2019": down}
    found = correlations(scores, mask)
    assert found["tau: attention, gradient@jw2019"].tolist() == [1.0, 1.0]
    assert found["tau: attention, full-gradient"][0] == -1.0
    assert np.isnan(found["tau: attention, full-gradient"][1]), "constant"
    assert found["overlap: attention, gradient@jw2019"][0] == pytest.approx(1.0)
    assert [name for name in found if name.startswith("overlap")] == [
        "overlap: attention, gradient@jw2019",
        "overlap: attention, full-gradient",
        "overlap: attention, leave-one-out@jw2019",
    ]
    assert found["p: gradient@jw2019, leave-one-out@jw2019"][0] == pytest.approx(1 / 3)


def test_spread_of_two_seeds_names_every_score():
    sizes = np.array([3, 2], dtype=np.int32)
    runs = [
        {"sizes": sizes, "gradient": np.array(some), "attention": np.array(weights), "adversarial": np.zeros(5)}
        for some, weights in (
            ([1.0, 2, 3, 1, 2], [0.5, 0.3, 0.2, 0.6, 0.4]),
            ([1.0, 3, 2, 1, 1], [0.2, 0.3, 0.5, 0.6, 0.4]),
        )
    ]
    found = seed_spread(runs)
    assert list(found) == [
        "instance",
        "reliability: attention",
        "divergence between seeds",
        "largest divergence between seeds",
        "reliability: gradient",
    ]
    assert found["instance"].tolist() == [0, 1]
    assert found["reliability: attention"].tolist() == [-1.0, 1.0]
    assert found["reliability: gradient"].tolist()[0] == pytest.approx(1 / 3)
    assert np.isnan(found["reliability: gradient"].tolist()[1])
    expected = divergence(np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5]))
    for name in ("divergence between seeds", "largest divergence between seeds"):
        assert found[name].tolist() == pytest.approx([expected, 0.0], abs=1e-12)
    block, mask = padded(runs[0]["gradient"], sizes)
    assert block.tolist() == [[1, 2, 3], [1, 2, 0]]
    assert mask.tolist() == [[True, True, True], [True, True, False]]


@torch.no_grad()
def test_the_bound_is_the_least_over_pairs_of_classes_and_what_is_possible_at_all():
    """Literally: under the constraint on the predicted class and one other alone, all vertices are tried."""
    epsilon, binding = 0.005, set()
    for seed in range(12):
        view, model = view_of(3, seed=seed, sizes=(4, 6))
        for parameter in model.parameters():
            parameter.mul_(0.5)  # so that no class is nearly impossible
        view = AttentionView(model, view.batch)
        found = vertex_adversary(view, epsilon)
        for row, size in enumerate((4, 6)):
            inside = slice(1, size + 1)
            observed, probability = view.attention[row, inside].numpy(), view.probability[row]
            first, *others = probability.argsort(descending=True).tolist()
            bounds = [divergence(np.eye(size)[observed.argmin()], observed)]
            for other in others:
                low, high = (float(end) for end in slab(probability[first], probability[other], epsilon))
                classes = torch.full((2,), first), torch.full((2,), other)
                scores = view.log_odds(*classes)[row, inside].numpy()
                bounds.append(max(divergence(point, observed) for point in vertices(scores, low, high)))
            binding.add(int(np.argmin(bounds)))
            assert float(found.upper[row]) == pytest.approx(max(min(bounds), float(found.divergence[row])), abs=1e-7)
    assert binding >= {1, 2}, "either other class decides somewhere"
    query = view_of(3, "query", seed=1, sizes=(4, 6))[0]
    free = vertex_adversary(query, epsilon)
    for row, size in enumerate((4, 6)):
        observed = query.attention[row, 1 : size + 1].numpy()
        alone = divergence(np.eye(size)[observed.argmin()], observed)
        assert float(free.upper[row]) == pytest.approx(alone, abs=1e-7), "any other head: all weight on one token"


@torch.no_grad()
def test_every_candidate_of_the_ascent_counts(monkeypatch):
    """Where walks and the ascent end, the same without negligible weights, and where it was told to begin."""
    view = view_of(3, "query", seed=1, sizes=(4, 6))[0]
    width = view.mask.shape[1]
    pairs = replace(vertex_adversary(view, 1.0), divergence=torch.zeros(2, dtype=torch.float64))
    still = view.attention[:, None]
    point = torch.zeros(2, 1, width, dtype=torch.float64)
    point[:, 0, 1], point[:, 0, 2] = 1 - 5e-4, 5e-4
    alone = torch.zeros(2, 1, width, dtype=torch.float64)
    alone[:, 0, 1] = 1.0

    def reached(climbed, walked, begin=None, again=still, drawn=still):
        def walks(view, epsilon, begin=None, rounds=6):
            return walked if begin is None else again

        monkeypatch.setattr(ascent, "_climb", lambda *_: climbed)
        monkeypatch.setattr(ascent, "corners", walks)
        monkeypatch.setattr(ascent, "_drawn", lambda *_: drawn)
        return ascended(view, replace(pairs, attention=view.attention), 1.0, begin).attention

    assert torch.allclose(reached(point, still), alone[:, 0]), "without negligible weights"
    with monkeypatch.context() as patch:
        patch.setattr(view, "attention", alone[:, 0])  # without what is negligible nothing is left that diverges
        assert torch.equal(reached(point, alone, again=alone, drawn=alone), point[:, 0]), "where it climbed to"
    assert torch.equal(reached(still, alone), alone[:, 0]), "where walks end"
    assert torch.equal(reached(still, still, again=alone), alone[:, 0]), "where walks end that begin elsewhere"
    assert torch.equal(reached(still, still, alone[:, 0]), alone[:, 0]), "where it was told to begin"
    assert torch.equal(reached(still, still), view.attention), "nothing else is tried"
    assert torch.equal(reached(still, still, drawn=alone), alone[:, 0]), "what was drawn"
    begun = []
    monkeypatch.setattr(ascent, "_climb", lambda _, logits, epsilon: begun.append(logits) or still)
    ascended(view, replace(pairs, attention=view.attention), 1.0, alone[:, 0])
    assert torch.equal(begun[0][:, 25], (alone[:, 0] + 1e-3).log()), "it climbs from there as well"


@torch.no_grad()
def test_nothing_climbs_where_the_head_is_linear(view, monkeypatch):
    monkeypatch.delattr(ascent, "_climb")
    assert view.linear
    assert (best_adversary(view, 0.05).divergence > 0.1).all()
