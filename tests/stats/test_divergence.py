import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trueness.stats import Reason, Undefined, differentiable, jensen_shannon, kl_divergence, total_variation


@st.composite
def distributions(draw, zeros=True):
    n = draw(st.integers(2, 8))
    weights = [
        np.array(draw(st.lists(st.integers(0 if zeros else 1, 9), min_size=n, max_size=n)), dtype=float) for _ in "pq"
    ]
    for w in weights:
        w[draw(st.integers(0, n - 1))] += 1
    return tuple(w / w.sum() for w in weights)


def literal_kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


@given(distributions())
def test_total_variation_and_jensen_shannon_equal_their_definitions(pair):
    p, q = pair
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    assert total_variation(p, q)[0] == pytest.approx(0.5 * sum(abs(a - b) for a, b in zip(p, q, strict=True)))
    assert jensen_shannon(p, q)[0] == pytest.approx(
        0.5 * literal_kl(p, middle) + 0.5 * literal_kl(q, middle), abs=1e-12
    )


@given(distributions())
def test_kl_equals_its_definition_or_is_infinite(pair):
    p, q = pair
    if any(b == 0 < a for a, b in zip(p, q, strict=True)):
        assert kl_divergence(p, q)[0] == Undefined(Reason.INFINITE)
    else:
        assert kl_divergence(p, q)[0] == pytest.approx(literal_kl(p, q), abs=1e-12)


@given(distributions())
def test_laws(pair):
    p, q = pair
    assert total_variation(p, p)[0] == 0
    assert jensen_shannon(p, p)[0] == pytest.approx(0, abs=1e-15)
    assert jensen_shannon(p, q)[0] == pytest.approx(jensen_shannon(q, p)[0], abs=1e-15)
    assert 0 <= jensen_shannon(p, q)[0] <= math.log(2)
    assert 0 <= total_variation(p, q)[0] <= 1
    assert jensen_shannon(p, q)[0] <= math.log(2) * total_variation(p, q)[0] + 1e-12  # Lin's bound


def test_disjoint_distributions_are_at_the_upper_bound():
    assert total_variation([1.0, 0.0], [0.0, 1.0])[0] == 1
    assert jensen_shannon([1.0, 0.0], [0.0, 1.0])[0] == pytest.approx(math.log(2))


def test_masked_outcomes_do_not_count():
    p, q = [[0.5, 0.5, 9.0]], [[0.25, 0.75, -4.0]]
    assert total_variation(p, q, [[True, True, False]])[0] == pytest.approx(0.25)


@pytest.mark.parametrize("measure", [total_variation, kl_divergence, jensen_shannon])
@pytest.mark.parametrize(
    ("p", "reason"),
    [
        (np.zeros((1, 0)), Reason.EMPTY),
        ([[1.0]], Reason.SINGLE),
        ([[0.5, 0.6]], Reason.NOT_A_DISTRIBUTION),
        ([[1.5, -0.5]], Reason.NOT_A_DISTRIBUTION),
        ([[np.nan, 1.0]], Reason.NOT_FINITE),
    ],
)
def test_degenerate_input_is_undefined(measure, p, reason):
    assert measure(p, p)[0] == Undefined(reason)


@given(distributions(zeros=False))
def test_torch_twins_agree(pair):
    p, q = pair
    for name, checked in (
        ("total_variation", total_variation),
        ("kl_divergence", kl_divergence),
        ("jensen_shannon", jensen_shannon),
    ):
        twin = getattr(differentiable, name)(torch.tensor(p), torch.tensor(q))
        assert float(twin) == pytest.approx(checked(p, q)[0], abs=1e-12)


def test_torch_twins_have_finite_gradients_at_zero_probability():
    logits = torch.tensor([[0.0, -torch.inf, 1.0]], requires_grad=True)
    p = torch.softmax(logits, -1)
    q = torch.tensor([[0.5, 0.0, 0.5]])
    for name in ("total_variation", "kl_divergence", "jensen_shannon"):
        value = getattr(differentiable, name)(p, q)
        (gradient,) = torch.autograd.grad(value.sum(), p, retain_graph=True)
        assert torch.isfinite(value).all()
        assert torch.isfinite(gradient).all()


def test_jensen_shannon_gradient_is_right():
    p = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64, requires_grad=True)
    q = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: differentiable.jensen_shannon(x, q), (p,))


def test_tiny_probabilities_do_not_underflow():
    p, q = torch.softmax(torch.tensor([103.0, 0.0]), -1), torch.softmax(torch.tensor([110.0, 0.0]), -1)
    p.requires_grad_()
    value = differentiable.jensen_shannon(p, q)
    value.backward()
    assert float(value.detach()) == pytest.approx(0, abs=1e-6)
    assert torch.isfinite(p.grad).all()
    tiny = torch.tensor([1.0, 1.4e-45])
    assert torch.isfinite(differentiable.kl_divergence(torch.tensor([0.5, 0.5]), tiny))
    assert jensen_shannon([[1.0, 5e-324]], [[1.0, 0.0]])[0] == pytest.approx(0, abs=1e-12)


def test_huge_values_are_no_distribution_and_no_warning():
    assert total_variation([[1e308, 1e308]], [[0.5, 0.5]])[0] == Undefined(Reason.NOT_A_DISTRIBUTION)
