import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness.stats import Reason, Undefined, area_between_curves


def literal_equation_3(x, p, b):
    top = bottom = 0.0
    for i in range(len(x) - 1):
        dx = x[i + 1] - x[i]
        top += 0.5 * dx * ((b[i] - p[i]) + (b[i + 1] - p[i + 1]))
        bottom += 0.5 * dx * ((b[i] - b[-1]) + (b[i + 1] - b[-1]))
    return top / bottom


@st.composite
def curves(draw):
    n = draw(st.integers(2, 11))
    values = st.floats(0, 1).map(lambda v: round(v, 4))
    p, b = (np.array(draw(st.lists(values, min_size=n, max_size=n))) for _ in "pb")
    b[0] = 2.0  # the baseline starts above its end, and so does the measure
    p[0] = b[0]
    return np.linspace(0, 1, n), p, b


@given(curves())
def test_it_equals_equation_3(drawn):
    x, p, b = drawn
    area = area_between_curves(x, p, b)
    if area.value.defined[0]:
        assert area.value[0] == pytest.approx(literal_equation_3(x, p, b))


def test_landmarks():
    x = np.linspace(0, 1, 5)
    baseline = np.array([1.0, 0.9, 0.8, 0.7, 0.5])
    assert area_between_curves(x, baseline, baseline).value[0] == 0
    immediate = np.array([1.0, 0.5, 0.5, 0.5, 0.5])
    area = area_between_curves(x, immediate, baseline)
    assert area.value[0] == pytest.approx(area.best[0])
    assert area.best[0] < 1
    above = np.array([1.0, 1.0, 1.0, 1.0, 0.5])
    assert area_between_curves(x, above, baseline).value[0] < 0


def test_step_size_does_not_matter_for_straight_curves():
    coarse, fine = np.linspace(0, 1, 3), np.linspace(0, 1, 21)
    line = lambda x, end: 1 + (end - 1) * x  # noqa: E731
    values = [area_between_curves(x, line(x, 0.2), line(x, 0.5)).value[0] for x in (coarse, fine)]
    assert values[0] == pytest.approx(values[1])


def test_rows_are_independent_and_a_flat_baseline_is_undefined():
    x = [0.0, 0.5, 1.0]
    area = area_between_curves(
        x, [[1, 0.5, 0.5], [0.5, 0.5, 0.5], [1, np.nan, 0]], [[1, 0.8, 0.5], [0.5, 0.5, 0.5], [1, 1, 0]]
    )
    assert area.value[0] == pytest.approx(literal_equation_3(x, [1, 0.5, 0.5], [1, 0.8, 0.5]))
    assert area.value[1] == Undefined(Reason.FLAT_BASELINE)
    assert area.value[2] == Undefined(Reason.NOT_FINITE)


def test_degenerate_curves():
    assert area_between_curves([], np.zeros((1, 0)), np.zeros((1, 0))).value[0] == Undefined(Reason.EMPTY)
    assert area_between_curves([0.0], [[1.0]], [[1.0]]).value[0] == Undefined(Reason.SINGLE)
    with pytest.raises(ValueError, match=r"^the masking ratios must be finite and increase$"):
        area_between_curves([0, 0], [[1, 1]], [[1, 1]])
    with pytest.raises(ValueError, match="ratios"):
        area_between_curves([0, 1], [[1, 1, 1]], [[1, 1, 1]])


def test_best_is_never_below_what_is_reached():
    late = area_between_curves([0.25, 0.5, 1], [[0.5, 0.5, 0.5]], [[0.9, 0.8, 0.5]])
    assert late.value[0] == pytest.approx(late.best[0]) == 1.0
    with pytest.raises(ValueError, match="finite"):
        area_between_curves([0, np.inf], [[1, 1]], [[1, 1]])
