"""A quantity is declared once; its scores say how to read them."""

import math

import pytest

from trueness.protocols.scoring import Cell, Quantity, columns, of_each, share
from trueness.stats import Interval, Reason, Undefined, t_interval

CELL = Cell("texts", "net", target="the gold class")


def test_a_score_says_what_was_declared_and_where():
    tau = Quantity("tau", "higher is better", 0.0, 1.0)
    (score,) = tau.of("class 1").score(CELL, "mine", t_interval([0.2, 0.4]), variant="as-published")
    assert (score.quantity, score.dataset, score.model, score.method) == ("tau, class 1", "texts", "net", "mine")
    assert (score.direction, score.null, score.best) == ("higher is better", 0.0, 1.0)
    assert (score.target, score.variant, score.n, score.note) == ("the gold class", "as-published", 2, "")
    assert score.value == pytest.approx(0.3)
    assert tau.of(None) == tau


def test_what_depends_on_the_data_goes_before_what_was_declared():
    (score,) = share("precision", null=0.5, best=1.0).score(CELL, "mine", t_interval([0.2, 0.4]), null=0.0, best=0.9)
    assert (score.null, score.best) == (0.0, 0.9)


def test_bounds_are_cut_to_the_range_and_the_value_is_not():
    wide = Interval(0.7, -0.2, 1.6, 3, 3, 0.95)
    (cut,), (whole,) = share("a share").score(CELL, "mine", wide), Quantity("any").score(CELL, "mine", wide)
    assert (cut.low, cut.value, cut.high) == (0.0, 0.7, 1.0)
    assert (whole.low, whole.high) == (-0.2, 1.6)
    assert (share("a share").least, Quantity("any").most) == (0.0, math.inf)


def test_nothing_comes_of_an_undefined_value():
    assert not list(Quantity("any").score(CELL, "mine", t_interval([])))


@pytest.mark.parametrize(
    ("values", "reason"),
    [([0.5, 0.5], "no interval: the same value every time"), ([0.5], "no interval: it is undefined")],
)
def test_a_missing_interval_is_explained_between_the_notes(values, reason):
    (score,) = Quantity("any").score(CELL, "mine", t_interval(values), note="first", after="last")
    assert score.low is None
    assert score.high is None
    first, said, last = score.note.split("; ")
    assert (first, last) == ("first", "last")
    assert said.startswith(reason)


def test_an_interval_as_columns():
    nothing = Undefined(Reason.CONSTANT)
    assert columns(Interval(0.5, nothing, nothing, 4, 4, 0.95)) == {"mean": 0.5, "low": None, "high": None, "n": 4}


def test_warnings_and_abstentions_name_the_cell_and_its_part():
    assert CELL.warn("code", "why").where == "texts, net"
    assert CELL.warn("code", "why", "mine", "plain").where == "texts, net, mine, plain"
    assert CELL.abstain("tau", "why", "mine").where == "texts, net, mine"
    assert of_each([CELL, Cell("more", "net")], lambda cell: [cell.dataset, cell.model]) == (
        "texts",
        "net",
        "more",
        "net",
    )
