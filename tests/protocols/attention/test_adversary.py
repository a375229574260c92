import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.test_attentive import batch_of, build, examples
from trueness.kinds.text.attention.adversary import (
    pair_divergence,
    single_divergence,
    slab,
    strongest_in_slab,
    vertex_adversary,
)
from trueness.kinds.text.attention.search import Search, _loss
from trueness.kinds.text.attention.view import AttentionView

LN2 = math.log(2)


def divergence(p, q):
    """Jensen-Shannon, literally."""
    m = (p + q) / 2

    def kl(a):
        return sum(x * math.log(x / y) for x, y in zip(a, m, strict=True) if x > 0)

    return (kl(p) + kl(q)) / 2


def vertices(scores, low, high):
    """All vertices of the simplex cut by a slab, literally: corners inside, and edges where they cross a border."""
    size = len(scores)
    for i in range(size):
        if low <= scores[i] <= high:
            yield np.eye(size)[i]
    for i, j in itertools.combinations(range(size), 2):
        for border in (low, high):
            if (scores[i] - border) * (scores[j] - border) < 0:
                w = (border - scores[j]) / (scores[i] - scores[j])
                yield w * np.eye(size)[i] + (1 - w) * np.eye(size)[j]


def solve(scores, low, high, attention, mask=None, **options):
    scores, attention = (torch.tensor(values, dtype=torch.float64)[None] for values in (scores, attention))
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else torch.tensor(mask)[None]
    bounds = (torch.tensor([bound], dtype=torch.float64) for bound in (low, high))
    return strongest_in_slab(scores, *bounds, attention, mask, **options)


@st.composite
def problems(draw, most=8):
    size = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.normal(0, draw(st.sampled_from([0.1, 1.0, 5.0])), size)
    attention = rng.dirichlet(np.full(size, draw(st.sampled_from([0.05, 0.5, 5.0]))))
    middle = attention @ scores
    below, above = draw(st.sampled_from([0.0, 0.01, 1.0, np.inf])), draw(st.sampled_from([0.0, 0.01, 1.0, np.inf]))
    return scores, middle - below, middle + above, attention


@settings(max_examples=200, deadline=None)
@given(problem=problems())
def test_the_exact_value_equals_the_best_of_all_vertices(problem):
    scores, low, high, attention = problem
    found = solve(*problem)
    best = max((divergence(v, attention) for v in vertices(scores, low - 1e-12, high + 1e-12)), default=-1)
    assert float(found.divergence) == pytest.approx(best, abs=1e-7)
    # The certificate can be checked by hand: it is a distribution, it lies in the slab, and it diverges that much.
    certificate = found.attention(len(scores))[0].numpy()
    assert certificate.sum() == pytest.approx(1)
    assert low - 1e-7 <= certificate @ scores <= high + 1e-7
    assert divergence(certificate, attention) == pytest.approx(float(found.divergence), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(problem=problems(), seed=st.integers(0, 1000))
def test_no_random_point_does_better(problem, seed):
    scores, low, high, attention = problem
    points = np.random.default_rng(seed).dirichlet(np.full(len(scores), 0.3), 300)
    value = float(solve(*problem).divergence)
    for point in points:
        if low <= point @ scores <= high:
            assert divergence(point, attention) <= value + 1e-9


def test_positions_outside_the_mask_are_never_used():
    found = solve([0.0, 0.0, 5.0, -5.0], -1.0, 1.0, [0.0, 0.7, 0.3, 0.0], mask=[False, True, True, False])
    assert {int(found.first), int(found.second)} <= {1, 2}


def test_divergences_of_one_and_two_tokens():
    q = np.array([0.2, 0.5, 0.3])
    assert float(single_divergence(torch.tensor(0.2))) == pytest.approx(divergence(np.array([1.0, 0, 0]), q), abs=1e-6)
    two = pair_divergence(torch.tensor(0.4), torch.tensor(0.2), torch.tensor(0.5))
    assert float(two) == pytest.approx(divergence(np.array([0.4, 0.6, 0]), q), abs=1e-6)
    assert float(single_divergence(torch.tensor(0.0))) == pytest.approx(LN2)
    assert float(single_divergence(torch.tensor(1.0))) == pytest.approx(0.0, abs=1e-7)


@settings(max_examples=50, deadline=None)
@given(p=st.floats(0.001, 0.999), epsilon=st.floats(0.0001, 0.5), seed=st.integers(0, 1000))
def test_the_slab_is_the_constraint_on_two_classes(p, epsilon, seed):
    low, high = (float(end) for end in slab(torch.tensor(p, dtype=torch.float64), torch.tensor(1 - p), epsilon))
    for logit in np.random.default_rng(seed).normal(math.log(p / (1 - p)), 1, 20):
        change = abs(1 / (1 + math.exp(-logit)) - p)
        if abs(change - epsilon) > 1e-4:
            assert (low <= logit <= high) == (change <= epsilon)


def view_of(classes=2, head="linear", seed=0, sizes=(4, 1, 7, 3), **more):
    model = build("bilstm", "additive", head, classes=classes, **more)
    torch.manual_seed(seed)  # the model is drawn anew: `build` has a seed of its own
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter))
        return AttentionView(model, batch_of(examples(sizes, pairs=head != "linear"))), model


@torch.no_grad()
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("classes", "head"), [(2, "linear"), (3, "linear"), (2, "query"), (3, "concat")])
def test_the_adversary_of_a_model(classes, head, seed):
    view, model = view_of(classes, head, seed)
    values = []
    for epsilon in (0.0, 0.01, 0.05, 0.3, 1.0):
        found = vertex_adversary(view, epsilon)
        assert found.exact == (classes == 2 and head == "linear")
        assert (found.change <= epsilon + 1e-6).all()
        assert torch.allclose(found.attention.sum(dim=-1), torch.ones_like(found.divergence))
        assert (found.attention[~view.mask] == 0).all()
        assert (found.divergence <= found.upper + 1e-12).all()
        if found.exact:
            assert torch.equal(found.divergence, found.upper)
        # The model itself agrees with what the adversary claims.
        changed = model(view.batch, attention=found.attention).logits.softmax(dim=-1)
        assert torch.allclose((changed - view.probability).abs().sum(dim=-1) / 2, found.change, atol=1e-9)
        literal = [divergence(a.numpy(), b.numpy()) for a, b in zip(found.attention, view.attention, strict=True)]
        assert found.divergence.numpy() == pytest.approx(literal, abs=1e-6)
        values.append(found.divergence)
    assert all((after >= before - 1e-9).all() for before, after in itertools.pairwise(values)), "grows with epsilon"
    assert (found.alone == view.mask.sum(dim=-1)).all(), "every token may carry a decision that may change at will"


@torch.no_grad()
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_for_more_classes(seed):
    """Random feasible points never exceed the upper bound."""
    view, _ = view_of(3, seed=seed)
    found = vertex_adversary(view, 0.05)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(len(view.mask), 4000, view.mask.shape[1], generator=generator).double() ** 6
    weights = drawn * view.mask[:, None]
    weights = weights / weights.sum(dim=-1, keepdim=True)
    change = (view.outputs(weights) - view.probability[:, None]).abs().sum(dim=-1) / 2
    for row, column in (change <= 0.05).nonzero().tolist():
        value = divergence(weights[row, column].numpy(), view.attention[row].numpy())
        assert value <= float(found.upper[row]) + 1e-9


@torch.no_grad()
def test_epsilon_zero_allows_only_rearrangements_of_equal_logit():
    view, _ = view_of(2, one_logit=True)
    found = vertex_adversary(view, 0.0)
    assert (found.change < 1e-9).all()
    scores = view.log_odds(torch.ones(4, dtype=torch.int64), torch.zeros(4, dtype=torch.int64))
    assert torch.allclose((found.attention * scores).sum(-1), (view.attention * scores).sum(-1), atol=1e-9)


def test_one_token_has_no_adversary():
    with torch.no_grad():
        view, _ = view_of(2, sizes=(1,))
        found = vertex_adversary(view, 0.01)
    assert float(found.divergence) == pytest.approx(0, abs=1e-12)
    assert int(found.alone) == 1


@pytest.mark.parametrize("form", ["code", "text"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_objective_is_the_published_one(form, classes):
    """Against a literal version with loops over candidates (footnotes of `Search`)."""
    rng = np.random.default_rng(0)
    a, observed = rng.dirichlet(np.ones(6), (2, 5)), rng.dirichlet(np.ones(6), 2)
    change = rng.uniform(0, 0.05, (2, 5))
    k, total = 5, 0.0
    for b in range(2):
        for i in range(k):
            total -= divergence(a[b, i], observed[b])
            moved = change[b, i] * (2 if form == "code" and classes == 3 else 1)
            total += (500 if form == "code" else 500 / k) * max(0.0, moved - 0.01)
        if form == "code":
            total -= sum(divergence(a[b, i], a[b, j]) for i in range(k) for j in range(k)) / k**2
        else:
            total -= sum(divergence(a[b, i], a[b, j]) for i in range(k) for j in range(i + 1, k)) / (k * (k - 1))
    ours = _loss(Search(form=form), torch.tensor(a), torch.tensor(observed)[:, None], torch.tensor(change), classes)
    assert float(ours) == pytest.approx(total)
