"""What would settle an open trial, and what is said of a model that has learned nothing."""

from dataclasses import replace

import numpy as np
import pytest

from tests.audit.evidence import at, known
from trueness.audits.judging import in_order, judge, no_better
from trueness.audits.measured import Line, Measured, Measurements
from trueness.audits.trials import REMOVAL
from trueness.kinds.contract import Words
from trueness.protocols.best_order import Reference
from trueness.stats.thresholds import Mean, Ratio, ThresholdTest


def check(name, found):
    return Measured(name, "a measure", found)


SURE, NEAR, FAR = at(1e-9, n=500), at(0.05), at(0.3)


def test_it_is_said_of_the_check_that_is_open_with_its_own_texts():
    line = Line("removal costs", (check("sure", SURE), check("open", FAR)))
    found = judge({"mine": [line]}, ())["mine"]
    assert found.decision == "cannot tell"
    assert "“open” with about" in found.settle
    assert "examples instead of 100 would settle it" in found.settle


def test_so_many_texts_as_advised_would_settle_it_and_fewer_would_not():
    """By giving the same values so often."""
    values = np.random.default_rng(0).uniform(0, 0.6, 60)
    for threshold in (values.mean() - 0.04, values.mean() + 0.04):
        found = judge({"mine": [Line(REMOVAL, (check("one", ThresholdTest(Mean(values), threshold)),))]}, ())["mine"]
        number = int(found.settle.split("about ")[1].split()[0].replace(",", ""))

        def decided(texts, threshold=threshold):
            more = ThresholdTest(Mean(np.resize(np.tile(values, 60), texts)), threshold)
            return judge({"mine": [Line(REMOVAL, (check("one", more),))]}, ())["mine"].decision != "cannot tell"

        whole = round(number / 60) * 60
        assert decided(whole + 60)
        assert not decided(whole - 120)


def test_more_models_than_were_trained_may_settle_what_is_planted():
    few = Measured("planted words", "a measure", None, reason="1 of the models used the evidence, two are needed")
    found = judge({"mine": [Line("finds planted evidence", (few,), models=4)]}, ())["mine"]
    assert "--set planted_models=8" in found.settle
    silent = judge({"mine": [Line("finds planted evidence", (replace(few, reason="nothing to explain"),))]}, ())["mine"]
    assert silent.settle == "“finds planted evidence”: Planted words: nothing to explain."


def test_a_reason_tells_what_other_checks_of_its_trial_say():
    low = Measured("on the companion", "cost", known(-0.3, error=0.02))
    found = judge({"mine": [Line("removal costs", (check("on this model", known(0.3)), low))]}, ())["mine"]
    (trial,) = found.trials
    assert trial.answer == "fail"
    assert trial.reason.startswith("Cost: -0.30 (-0.36 to -0.24), below the threshold 0.25.")
    assert trial.reason.endswith(" But on this model 0.30 (pass).")
    both = judge({"mine": [Line("removal costs", (check("one", SURE), check("two", SURE)))]}, ())["mine"]
    assert "But" not in both.trials[0].reason


@pytest.mark.parametrize(("value", "high"), [(0.9, 1.0), (1.02, 1.048)])
def test_an_interval_ends_where_the_scale_does_unless_the_value_is_beyond_it(value, high):
    found = known(value, error=0.01 if value > 1 else 0.1)
    judged = judge({"mine": [Line("repeats itself", (Measured("edit", "a ratio", found, best=1.0),))]}, ())["mine"]
    assert judged.trials[0].checks[0].high == pytest.approx(high, abs=1e-3)


def test_rounding_is_told_as_zero():
    found = known(7.6e-15, error=1e-15)
    judged = judge({"mine": [Line("depends on the model", (Measured("fall", "a fall", found),))]}, ())["mine"]
    (check,) = judged.trials[0].checks
    assert [str(number) for number in (check.value, check.low, check.high)] == ["0.0"] * 3


def test_what_few_texts_carry_is_open_and_the_size_to_raise_is_named():
    best = np.where(np.arange(100) < 3, 1.0, 0.0)
    few = ThresholdTest(Ratio(best, best), 0.25)
    found = judge({"mine": [Line("removal costs", (Measured("hidden", "cost", few, size="companion_examples"),))]}, ())[
        "mine"
    ]
    assert found.decision == "cannot tell"
    assert "about 3 of 100 examples carry nearly all of it" in found.trials[0].reason
    assert "--set companion_examples=" in found.settle
    many = ThresholdTest(Ratio(np.tile(best, 20), np.tile(best, 20)), 0.25)
    assert judge({"mine": [Line("removal costs", (check("hidden", many),))]}, ())["mine"].decision == "may be shown"


def test_what_no_verdict_depends_on_and_nothing_was_measured_of_was_not_possible():
    line = Line("removal costs", (check("one", SURE),))
    away = Line("depends on the model", missing="a function has no weights", required=False)
    found = judge({"mine": [line, away]}, ())["mine"]
    assert found.decision == "may be shown"
    assert [trial.possible for trial in found.trials] == [True, False]
    needed = judge({"mine": [line, replace(away, required=True)]}, ())["mine"]
    assert needed.decision == "cannot tell"
    assert [trial.possible for trial in needed.trials] == [True, True]


def test_of_checks_of_which_one_suffices_the_nearest_is_advised():
    line = Line("informative", (check("far", FAR), check("near", NEAR)), rule="any")
    assert "“near” with about" in judge({"mine": [line]}, ())["mine"].settle
    assert "“far” with" not in judge({"mine": [line]}, ())["mine"].settle


def test_a_value_at_its_threshold_is_not_to_be_settled():
    found = judge({"mine": [Line("removal costs", (check("open", at(0.48)),))]}, ())["mine"]
    assert "more examples would hardly settle it" in found.settle


def test_a_model_that_the_most_frequent_class_equals_is_named():
    labels = np.array([0, 0, 0, 1] * 10)
    (warning,) = no_better(0.75, labels)
    assert "right on 75%, always the most frequent class would be on 75%" in warning
    assert no_better(0.76, labels) == []
    assert no_better(0.0, labels[:20]) == [], "few texts"
    assert no_better(1.0, np.zeros(40, dtype=int)) == [], "one class tells nothing of the other"


def test_ties_by_hand():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, 100)

    def facts(cost):
        empty = np.zeros(0)
        most = Reference(empty, empty, empty, empty)
        return Measurements(
            reference=most, cost=cost, soft_cost=cost, change=empty, moved=0, ceiling=empty, alone=empty, edited=empty
        )

    def passed(value):
        return [Line(REMOVAL, [check("on this model", known(value))])]

    costs = {"a": 0.9 + noise, "b": 0.9 + noise[::-1], "c": 0.5 + noise, "d": 0.1 + noise}
    lines = {"d": passed(0.0), "c": passed(0.5), "b": passed(0.8), "a": passed(0.9), "foil": passed(1.0)}
    ordered, ties = in_order(judge(lines, ["foil"]), {**{n: facts(c) for n, c in costs.items()}, "foil": facts(noise)})
    assert [one.explainer for one in ordered] == ["a", "b", "c", "d", "foil"]
    assert ties == [("a", "b")]


def test_advice_is_given_in_the_words_of_the_kind():
    words = Words("image", "images", "square", "squares")
    found = judge({"mine": [Line("removal costs", (check("open", NEAR),))]}, (), 0, words)["mine"]
    assert "images instead of" in found.settle
    assert found.trials[0].checks[0].unit == "images"
