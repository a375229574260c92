"""Conclusions checked place by place, by hand."""

import numpy as np
import pytest
from scipy import stats

from trueness.protocols.claim_helpers import (
    MOST_EVIDENCE,
    Decision,
    as_decision,
    claim,
    decide,
    evidence,
    gains,
    mostly,
    shown,
    together,
    verdict,
)
from trueness.stats import t_interval


def of(text, places, how=claim, **more):
    (found,) = how(text, places, **more)
    return found.verdict, found.evidence


def around(mean, deviation=0.1, n=5):
    """Numbers with this mean and deviation."""
    values = np.linspace(-1, 1, n)
    return t_interval(mean + deviation * values / values.std(ddof=1))


def test_a_claim_holds_where_it_holds_everywhere():
    yes, no, open_ = Decision(True), Decision(False, 0.0), Decision(None)
    assert of("it", [("a", (yes, "1")), ("b", (True, "2"))]) == ("supported", "holds on 2 of 2 datasets. a: 1; b: 2")
    assert of("it", [("a", (yes, "1")), ("b", (open_, "2"))]) == ("cannot tell", "holds on 1 of 2 datasets. b: 2; a: 1")
    assert of("it", [("a", (yes, "1")), ("b", (no, "2"))], what="models") == (
        "not supported",
        "holds on 1 of 2 models, fails on b. b: 2; a: 1",
    )
    assert of("it", [("a", None), ("b", (True, "2"))])[1] == "holds on 1 of 1 datasets. b: 2"
    assert list(claim("it", [("a", None)])) == []


def test_a_failure_counts_after_holm_s_correction():
    """0.02 alone is less than 0.025; beside three others, whose chances are larger, it is not."""
    failing = Decision(False, 0.02)
    assert of("it", [("a", (failing, ""))])[0] == "not supported"
    others = [(name, (Decision(None, 0.9), "")) for name in "bcd"]
    assert of("it", [("a", (failing, "")), *others])[0] == "cannot tell"
    assert of("it", [("a", (Decision(False, 0.006), "")), *others])[0] == "not supported"
    # What cannot be told does not count, whatever its chance.
    assert of("it", [("a", (Decision(None, 0.0), ""))])[0] == "cannot tell"


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        ([True, True, False], "supported"),
        ([True, True, None], "supported"),
        ([True, False], "not supported"),
        ([True, None], "cannot tell"),
        ([None, None, False], "cannot tell"),
        ([None, False], "not supported"),
    ],
)
def test_mostly_is_more_than_half(decisions, expected):
    places = [(str(number), (one, "")) for number, one in enumerate(decisions)]
    found, told = of("it", places, mostly)
    assert found == expected
    assert told.startswith(f"holds on {decisions.count(True)} of {len(decisions)} datasets, fails on ")


def test_many_failures_are_named_up_to_three():
    places = [(name, (False, "")) for name in "abcde"]
    assert "fails on a, b, c and 2 more." in of("it", places)[1]


def test_evidence_is_short_and_tells_how_much_is_missing():
    parts = ["x" * 100, "y" * 100, "z" * 100]
    told = evidence("counts.", parts)
    assert told == f"counts. {parts[0]}; {parts[1]}; and 1 more"
    assert len(told) <= MOST_EVIDENCE
    assert evidence("counts.", ["x" * 400]) == "counts."
    exact = "x" * (MOST_EVIDENCE - len("counts. "))
    assert evidence("counts.", [exact]) == f"counts. {exact}"


def test_decisions_by_an_interval():
    assert decide(around(0.5), above=0).holds is True
    assert decide(around(-0.5), above=0).holds is False
    assert decide(around(0.05), above=0).holds is None
    assert decide(around(0.5), below=1).holds is True
    assert decide(around(0.5), below=0).holds is False
    assert decide(around(0.5, n=2), above=0).holds is None, "two seeds"
    assert decide(around(0.5, n=3), above=0).holds is True, "three seeds"
    assert decide(t_interval([0.5] * 5), above=0).holds is True, "the same everywhere"
    assert decide(t_interval([0.5] * 5), above=0.5).holds is None
    assert decide(t_interval([]), above=0).holds is None


@pytest.mark.parametrize("mean", [-0.3, -0.02, 0.02, 0.3])
def test_the_chance_is_that_of_a_one_sided_t_test(mean):
    values = mean + np.linspace(-0.2, 0.2, 6)
    expected = stats.ttest_1samp(values, 0.0, alternative="less").pvalue
    assert decide(t_interval(values), above=0).chance == pytest.approx(expected)
    expected = stats.ttest_1samp(values, 0.1, alternative="greater").pvalue
    assert decide(t_interval(values), below=0.1).chance == pytest.approx(expected)


def test_several_conclusions_together():
    assert together([True, Decision(True, 0.9)]).holds is True
    assert together([True, None]).holds is None
    assert together([True, None, False]).holds is False
    assert together([]) == Decision(True, 1.0)
    assert together([Decision(True, 0.01), Decision(True, 0.2)]).chance == pytest.approx(0.02)
    assert together([Decision(True, 0.6), Decision(True, 0.7)]).chance == 1.0


def test_what_was_counted_is_sure():
    assert as_decision(False) == Decision(False, 0.0)
    assert as_decision(True) == Decision(True, 1.0)
    assert as_decision(None) == Decision(None, 1.0)
    assert not Decision(None)
    assert not Decision(False)


def test_words():
    assert [verdict(one) for one in (True, False, None)] == ["supported", "not supported", "cannot tell"]
    found = around(0.5)
    assert shown(found) == f"0.500 ({found.low:.3f} to {found.high:.3f})"
    assert shown(t_interval([0.5] * 5)) == "0.500 (the same everywhere)"
    assert shown(t_interval([0.5])) == "0.500 (no interval)"
    assert shown(t_interval([])) == "undefined"
    assert gains(t_interval([])) is None
    held, said = gains(around(0.5), " points")
    assert held
    assert said.startswith("gains 0.500 (")
    assert said.endswith(" points")
    assert gains(around(0.01, 0.0001))[0].holds is None, "the limit is a gain of 0.01"
