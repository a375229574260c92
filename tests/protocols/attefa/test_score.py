import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trueness.protocols.attefa.score import (
    Point,
    attefa,
    attefa_star,
    constant_change,
    two_groups,
    type_ceiling,
)
from trueness.stats import Reason

LN2 = math.log(2)


def test_the_score_reproduces_table_4():
    """Mock-1, MLP, seed 10: TVD 0.222, JSD 0.393, AtteFa 0.784; seed 50: 0.244, 0.393, 0.860."""
    assert attefa(2 * 0.222, 0.393) == pytest.approx(0.784, abs=2e-3)
    assert attefa(2 * 0.244, 0.393) == pytest.approx(0.860, abs=2e-3)
    assert attefa(2 * 0.025, 0.693) == pytest.approx(0.050, abs=1e-3)
    assert attefa(0.9, 0.1) == 1.0
    assert attefa(0.0, 0.0).reason is Reason.NO_DIVERGENCE


def test_the_area_by_hand():
    assert attefa_star([Point(0.0, LN2)], ceiling=LN2, constant=0.4) == 0.0
    assert attefa_star([Point(0.4, LN2)], ceiling=LN2, constant=0.4) == 1.0
    # Half of the way is free, the whole way costs a quarter of the constant predictor.
    points = [Point(0.0, LN2 / 2), Point(0.1, LN2)]
    assert attefa_star(points, ceiling=LN2, constant=0.4) == pytest.approx(0.5 * 0.25)
    # What nobody reaches is charged in full.
    assert attefa_star([Point(0.0, LN2 / 2)], ceiling=LN2, constant=0.4) == pytest.approx(0.5)
    assert attefa_star([], ceiling=LN2, constant=0.4).reason is Reason.EMPTY
    assert attefa_star([Point(0, 0)], ceiling=0.0, constant=0.4).reason is Reason.NO_DIVERGENCE
    assert attefa_star([Point(0, 0)], ceiling=LN2, constant=0.0).reason is Reason.SURE_OF_NOTHING


points = st.lists(st.builds(Point, st.floats(0, 1), st.floats(0, LN2)), min_size=1, max_size=6)


@given(points, st.floats(0.05, 0.5), st.builds(Point, st.floats(0, 1), st.floats(0, LN2)))
def test_another_twin_can_only_lower_the_area(some, constant, extra):
    before = attefa_star(some, ceiling=LN2, constant=constant)
    after = attefa_star([*some, extra], ceiling=LN2, constant=constant)
    assert 0 <= after <= before + 1e-12 <= 1 + 1e-12


@given(points, st.floats(0.05, 0.5))
def test_the_area_is_that_under_the_cheapest_twin_beyond(some, constant):
    grid = (np.arange(2000) + 0.5) / 2000
    cost = [min([constant] + [point.change for point in some if point.divergence / LN2 >= share]) for share in grid]
    literal = min(np.mean(cost) / constant, 1.0)
    assert attefa_star(some, ceiling=LN2, constant=constant) == pytest.approx(literal, abs=1e-3)


def test_the_constant_predictor():
    p = np.array([0.1, 0.2, 0.9])
    assert constant_change(np.stack([1 - p, p], axis=1)) == pytest.approx((0.1 + 0.0 + 0.7) / 3)
    three = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert constant_change(three) == pytest.approx(2 / 3)


def test_two_groups_of_seeds():
    assert two_groups([0.47, 0.48, 0.003, 0.002, 0.46, 0.001, 0.47, 0.48, 0.004])
    assert not two_groups([0.1, 0.12, 0.09, 0.11, 0.13, 0.1, 0.12, 0.1, 0.11])
    assert not two_groups([0.1, 0.9])
    between = [0.0] * 20 + [1.0] + [2.0] * 21
    assert not two_groups(between), "the gap is no wider than a group"
    assert two_groups([value if value != 1 else 0.9 for value in between])
    assert not two_groups([0.3] * 9)
    rng = np.random.default_rng(0)
    assert np.mean([two_groups(rng.normal(0, 1, 9)) for _ in range(500)]) < 0.02


def test_the_ceiling_of_an_encoder_without_context_by_hand():
    """One informative token with mass 0.77 among nine fillers: 0.39, as all nine seeds of Mock-1 in Table 4."""
    tokens = torch.tensor([[7] + [5] * 9])
    mask = torch.ones_like(tokens, dtype=torch.bool)
    attention = torch.tensor([[0.77] + [0.23 / 9] * 9])
    assert float(type_ceiling(attention, tokens, mask)) == pytest.approx(0.393, abs=0.01)
    distinct = torch.tensor([[0, 1, 2, 0]])
    inside = torch.tensor([[False, True, True, False]])
    value = type_ceiling(torch.tensor([[0.0, 0.5, 0.5, 0.0]]), distinct, inside)
    expected = 0.5 * LN2 * 0.5 + 0.5 * (math.log(2 / 1.5) + 0.5 * math.log(1 / 1.5))
    assert float(value) == pytest.approx(expected)
