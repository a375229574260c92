"""What would settle an open trial, and what is said of a model that has learned nothing."""

from dataclasses import replace

import numpy as np
import pytest

from trueness.audits.judging import judge, no_better
from trueness.audits.measured import Line, Measured
from trueness.kinds.contract import Words
from trueness.stats.marks import Against


def check(name, n, p_value):
    return Measured(name, "a measure", Against(0.3, 0.2, 0.4, 0.25, p_value, n, 0.95))


def test_it_is_said_of_the_check_that_is_open_with_its_own_examples():
    line = Line("removal costs", (check("sure", 500, 1e-9), check("open", 100, 0.2)))
    found = judge({"mine": [line]}, ())["mine"]
    assert found.decision == "cannot tell"
    assert "“open” with about" in found.settle
    assert "examples instead of 100 would settle it" in found.settle


def test_more_models_than_were_trained_may_settle_what_is_planted():
    few = Measured("planted words", "a measure", None, reason="1 of the models used the evidence, two are needed")
    found = judge({"mine": [Line("finds planted evidence", (few,), models=4)]}, ())["mine"]
    assert "--set planted_models=8" in found.settle
    silent = judge({"mine": [Line("finds planted evidence", (replace(few, reason="nothing to explain"),))]}, ())["mine"]
    assert silent.settle == "“finds planted evidence”: Planted words: nothing to explain."


def test_a_reason_tells_what_other_checks_of_its_trial_say():
    low = Measured("on the companion", "cost", Against(-0.3, -0.4, -0.2, 0.25, 1e-9, 100, 0.95))
    found = judge({"mine": [Line("removal costs", (check("on this model", 500, 1e-9), low))]}, ())["mine"]
    (trial,) = found.trials
    assert trial.answer == "fail"
    assert trial.reason.startswith("Cost: -0.30 (-0.40 to -0.20), below the mark 0.25.")
    assert trial.reason.endswith(" But on this model 0.30 (pass).")
    both = judge({"mine": [Line("removal costs", (check("one", 500, 1e-9), check("two", 500, 1e-9)))]}, ())["mine"]
    assert "But" not in both.trials[0].reason


@pytest.mark.parametrize(("value", "high"), [(0.9, 1.0), (1.02, 1.06)])
def test_an_interval_ends_where_the_scale_does_unless_the_value_is_beyond_it(value, high):
    found = Against(value, value - 0.1, value + (0.04 if value > 1 else 0.2), 0.25, 1e-9, 100, 0.95)
    judged = judge({"mine": [Line("repeats itself", (Measured("edit", "a ratio", found, best=1.0),))]}, ())["mine"]
    assert judged.trials[0].checks[0].high == pytest.approx(high)


def test_rounding_is_told_as_zero():
    found = Against(7.6e-15, -5.2e-15, 1e-14, 0.25, 1e-9, 100, 0.95)
    judged = judge({"mine": [Line("depends on the model", (Measured("fall", "a fall", found),))]}, ())["mine"]
    (check,) = judged.trials[0].checks
    assert [str(number) for number in (check.value, check.low, check.high)] == ["0.0"] * 3


def test_what_few_examples_carry_is_not_decided_and_the_size_to_raise_is_named():
    few = Against(0.9, 0.8, 1.0, 0.25, 1e-9, 100, 0.95, carriers=10.0)
    line = Line("removal costs", (Measured("hidden", "cost", few, size="companion_examples"),))
    found = judge({"mine": [line]}, ())["mine"]
    assert found.decision == "cannot tell"
    assert "about 10 of 100 examples carry nearly all of it" in found.trials[0].reason
    assert "(--set companion_examples=300 --set examples=300)" in found.settle
    fewer = Measured("hidden", "cost", replace(few, n=50))
    assert (
        "with about 150 examples instead of 50" in judge({"mine": [Line("removal costs", (fewer,))]}, ())["mine"].settle
    )
    enough = replace(few, carriers=30.0)
    line = Line("removal costs", (Measured("hidden", "cost", enough),))
    assert judge({"mine": [line]}, ())["mine"].decision == "may be shown"


def test_what_no_verdict_depends_on_and_nothing_was_measured_of_was_not_possible():
    line = Line("removal costs", (check("one", 500, 1e-9),))
    away = Line("depends on the model", missing="a function has no weights", required=False)
    found = judge({"mine": [line, away]}, ())["mine"]
    assert found.decision == "may be shown"
    assert [trial.possible for trial in found.trials] == [True, False]
    needed = judge({"mine": [line, replace(away, required=True)]}, ())["mine"]
    assert needed.decision == "cannot tell"
    assert [trial.possible for trial in needed.trials] == [True, True]


def test_of_checks_of_which_one_suffices_the_nearest_is_advised():
    line = Line("informative", (check("far", 100, 0.9), check("near", 100, 0.2)), rule="any")
    assert "“near” with about" in judge({"mine": [line]}, ())["mine"].settle
    assert "“far” with" not in judge({"mine": [line]}, ())["mine"].settle


def test_a_value_at_its_mark_is_not_to_be_settled():
    found = judge({"mine": [Line("removal costs", (check("open", 100, 0.95),))]}, ())["mine"]
    assert "more examples would hardly settle it" in found.settle


def test_a_model_that_the_most_frequent_class_equals_is_named():
    labels = np.array([0, 0, 0, 1] * 10)
    (warning,) = no_better(0.75, labels)
    assert "right on 75%, always the most frequent class would be on 75%" in warning
    assert no_better(0.76, labels) == []
    assert no_better(0.0, labels[:20]) == [], "few texts"
    assert no_better(1.0, np.zeros(40, dtype=int)) == [], "one class tells nothing of the other"


@pytest.mark.parametrize(("low", "told"), [(0.26, True), (0.24, False)])
def test_an_interval_clear_of_the_mark_that_is_not_enough_is_explained(low, told):
    found = Against(0.3, low, 0.34, 0.25, 0.06, 100, 0.95)
    (trial,) = judge({"mine": [Line("removal costs", (Measured("one", "cost", found),))]}, ())["mine"].trials
    assert ("beyond the mark before the corrections" in trial.reason) is told


def test_advice_is_given_in_the_words_of_the_kind():
    words = Words("image", "images", "square", "squares")
    found = judge({"mine": [Line("removal costs", (check("open", 100, 0.2),))]}, (), 200, words)["mine"]
    assert "images instead of 100 would settle it" in found.settle
    assert found.trials[0].checks[0].unit == "images"
