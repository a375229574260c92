"""What would settle an open trial, and what is said of a model that has learned nothing."""

import numpy as np

from trueness.audits.judging import judge, no_better
from trueness.audits.trials import Line, Measured
from trueness.stats.marks import Against


def check(name, n, p_value):
    return Measured(name, "a measure", Against(0.3, 0.2, 0.4, 0.25, p_value, n, 0.95))


def test_it_is_said_of_the_check_that_is_open_with_its_own_texts():
    line = Line("removal costs", (check("sure", 500, 1e-9), check("open", 100, 0.2)))
    found = judge({"mine": [line]}, ())["mine"]
    assert found.decision == "cannot tell"
    assert "texts instead of 100 would settle it" in found.settle


def test_a_value_at_its_mark_is_not_to_be_settled():
    found = judge({"mine": [Line("removal costs", (check("open", 100, 0.95),))]}, ())["mine"]
    assert "more texts would hardly settle it" in found.settle


def test_a_model_that_the_most_frequent_class_equals_is_named():
    labels = np.array([0, 0, 0, 1] * 10)
    (warning,) = no_better(0.75, labels)
    assert "right on 75%, always the most frequent class would be on 75%" in warning
    assert no_better(0.76, labels) == []
    assert no_better(0.0, labels[:20]) == [], "few texts"
    assert no_better(1.0, np.zeros(40, dtype=int)) == [], "one class tells nothing of the other"
