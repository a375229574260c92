"""Searches that take their time: many tokens, ascent, and the published search."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from tests.protocols.attention.test_adversary import divergence, problems, solve, vertices, view_of
from trueness.kinds.text.attention import ascent, corners
from trueness.kinds.text.attention.adversary import vertex_adversary
from trueness.kinds.text.attention.ascent import _feasible, ascended, best_adversary
from trueness.kinds.text.attention.search import Search, search


@settings(max_examples=60, deadline=None)
@given(problem=problems(most=4))
def test_no_point_of_a_fine_grid_does_better(problem):
    scores, low, high, attention = problem
    steps = {1: 1, 2: 400, 3: 60, 4: 24}[len(scores)]
    best = -1.0
    for parts in itertools.product(range(steps + 1), repeat=len(scores) - 1):
        if sum(parts) <= steps:
            point = np.array([*parts, steps - sum(parts)]) / steps
            if low <= point @ scores <= high:
                best = max(best, divergence(point, attention))
    value = float(solve(*problem).divergence)
    assert best <= value + 1e-9
    if high - low >= 1.0 and np.abs(scores).max() < 1:  # a wide slab holds grid points near every vertex
        assert best == pytest.approx(value, abs=0.05)


def test_many_tokens_and_little_memory_give_the_same_vertex():
    rng = np.random.default_rng(0)
    size = 150
    scores, attention = rng.normal(0, 1, size), rng.dirichlet(np.ones(size))
    low = attention @ scores + 10.0 - 10.0
    problem = (scores, low, low, attention)  # no single token fits: pairs decide
    whole, frugal = solve(*problem), solve(*problem, max_bytes=1)
    best = max(divergence(v, attention) for v in vertices(scores, low, low))
    assert float(whole.divergence) == pytest.approx(best, abs=1e-9)
    assert [float(getattr(frugal, name)) for name in ("divergence", "first", "second")] == [
        float(getattr(whole, name)) for name in ("divergence", "first", "second")
    ]


@pytest.mark.parametrize(("classes", "head"), [(3, "linear"), (3, "query"), (6, "query"), (3, "concat")])
def test_ascent_is_feasible_improves_on_pairs_and_is_hardly_beaten(classes, head):
    """Pairs alone are far from the best of three classes; many random feasible points do not beat the ascent."""
    with torch.no_grad():
        view, model = view_of(classes, head, seed=1, sizes=(4, 7, 9))
        pairs, found = vertex_adversary(view, 0.01), best_adversary(view, 0.01)
        assert (found.divergence >= pairs.divergence).all()
        assert (found.divergence <= found.upper + 1e-12).all()
        assert (found.change <= 0.01 + 1e-9).all()
        assert (found.attention >= 0).all()
        assert torch.allclose(found.attention.sum(dim=-1), torch.ones(3).double())
        assert (found.attention[~view.mask] == 0).all()
        changed = model(view.batch, attention=found.attention).logits.softmax(dim=-1)
        assert torch.allclose((changed - view.probability).abs().sum(dim=-1) / 2, found.change, atol=1e-6)
        literal = [divergence(a.numpy(), b.numpy()) for a, b in zip(found.attention, view.attention, strict=True)]
        assert found.divergence.numpy() == pytest.approx(literal, abs=1e-6)
        # Random directions, each as far as the change of output allows.
        generator = torch.Generator().manual_seed(0)
        drawn = torch.rand(3, 2000, view.mask.shape[1], generator=generator).double() ** 8 * view.mask[:, None]
        rivals = _feasible(view, drawn / drawn.sum(dim=-1, keepdim=True), 0.01)
        assert float((rivals.divergence.amax(dim=-1) - found.divergence).max()) < 0.005
        again = best_adversary(view, 0.05, found.attention)
        assert (again.divergence >= found.divergence - 1e-9).all(), "more is allowed"
    if classes == 6:
        assert float((found.divergence - pairs.divergence).mean()) > 0.05


@pytest.mark.parametrize(("classes", "head", "size"), [(4, "linear", 25), (3, "linear", 12), (6, "query", 20)])
def test_four_times_the_work_finds_hardly_more(classes, head, size, monkeypatch):
    with torch.no_grad():
        view, _ = view_of(classes, head, seed=2, sizes=(size,) * 5)
        pairs = vertex_adversary(view, 0.01)
        found = ascended(view, pairs, 0.01)
        for module, name, value in ((corners, "STARTS", 48), (corners, "ROUNDS", 12), (ascent, "STARTS", 48)):
            monkeypatch.setattr(module, name, value)
        monkeypatch.setattr(ascent, "STEPS", 400)
        long = ascended(view, pairs, 0.01, found.attention)
    assert float((long.divergence - found.divergence).mean()) < 0.003
    assert float(found.divergence.mean()) > float(pairs.divergence.mean()) + 0.01


@pytest.mark.parametrize("form", ["code", "text"])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_never_beats_the_exact_solution_and_comes_near(form, seed):
    with torch.no_grad():
        view, model = view_of(2, seed=seed, sizes=(6, 7, 5, 8))
        exact = vertex_adversary(view, 0.01)
    found = search(view, Search(form=form), seed=seed)
    value, which = found.best(0.01)
    assert (value <= exact.divergence + 1e-6).all()
    assert ((which >= 0) == (value > 0)).all()
    loose, _ = found.best(1.0)
    assert (loose >= value).all()
    assert all(parameter.grad is None for parameter in model.parameters())
