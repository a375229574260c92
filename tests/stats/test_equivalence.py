"""Agreement with a published value, and margins, by hand."""

import math

import pytest

from trueness.stats import equivalence, margin_of_deviations, margin_of_runs


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.37, 0.43, "agrees"),
        (0.35, 0.45, "agrees"),
        (0.34, 0.43, "cannot tell"),
        (0.0, 1.0, "cannot tell"),
        (0.46, 0.60, "differs"),
        (0.10, 0.34, "differs"),
        (0.45, 0.60, "cannot tell"),
        (None, None, "cannot tell"),
    ],
)
def test_agreement_is_equivalence_within_the_margin(low, high, outcome):
    """Around 0.40 and within 0.05; the wide interval that once agreed cannot tell."""
    assert equivalence(low, high, 0.40, 0.05 + 1e-12) == outcome


def test_margins_by_hand():
    assert margin_of_runs([0.4, 0.2], [0.3, 0.4]) == pytest.approx(math.sqrt((0.01 + 0.04) / 2))
    assert margin_of_deviations([0.3, 0.4], 2) == pytest.approx(math.sqrt(0.125))
    with pytest.raises(ValueError, match="same cells"):
        margin_of_runs([], [])
    with pytest.raises(ValueError, match="number of runs"):
        margin_of_deviations([0.1], 0)


def test_a_margin_is_told_where_it_is_refused():
    with pytest.raises(ValueError, match=r"^a margin must be above 0 and finite, not -0\.1$"):
        equivalence(0.0, 1.0, 0.5, -0.1)


def test_what_is_no_interval_or_no_number():
    for low, high, published in ((math.nan, 0.3, 0.4), (0.5, math.nan, 0.4), (0.1, 0.2, math.nan)):
        assert equivalence(low, high, published, 0.05) == "cannot tell"
    with pytest.raises(ValueError, match=r"cannot go from 0\.9 to 0\.1"):
        equivalence(0.9, 0.1, 0.4, 0.05)
    with pytest.raises(ValueError, match="finite"):
        equivalence(-math.inf, math.inf, 0.4, math.inf)


def test_one_end_alone_tells_nothing():
    assert equivalence(None, 0.1, 0.5, 0.2) == "cannot tell"
    assert equivalence(0.9, None, 0.5, 0.2) == "cannot tell"


def test_the_ends_of_the_margin_belong_to_it():
    assert equivalence(0.25, 0.75, 0.5, 0.25) == "agrees"
    assert equivalence(0.75, 0.9, 0.5, 0.25) == "cannot tell", "it touches the margin"
    assert equivalence(0.1, 0.25, 0.5, 0.25) == "cannot tell"
