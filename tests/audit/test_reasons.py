"""Why an audit cannot tell: the true reason, and what would settle it."""

import numpy as np
import pytest

from trueness.audits import sizes
from trueness.audits.judging import judge
from trueness.audits.measured import Measurements
from trueness.audits.trials import INFORMATIVE, REMOVAL, REPEATS, lines_of


def measured(**how):
    """Of an explainer that costs all there is to cost in every text."""
    texts = {name: np.ones(60) for name in ("cost", "soft_cost", "ceiling", "edited", "alone", "change")}
    return Measurements(**{**texts, "moved": 1.0, **how})


def verdict(facts, foils=(), **how):
    return judge(lines_of(facts, foils, missing_planted="no", planted_required=False), foils, **how)


def test_few_texts_that_carry_a_cost_are_named_and_more_texts_advised():
    cost = np.where(np.arange(60) < 3, 0.8, 0.0)
    found = verdict({"mine": measured(cost=cost, soft_cost=cost)})["mine"]
    trial = found.trial(REMOVAL)
    assert trial.answer == "cannot tell"
    assert trial.reason == (
        "On this model: about 3 of 60 texts carry nearly all of what hiding words costs this model, "
        "too few to decide anything."
    )
    assert "with about 600 texts instead of 60" in found.settle
    none = verdict({"mine": measured(cost=0 * cost, soft_cost=0 * cost)})["mine"]
    assert "hardly changes what this model says" in none.trial(REMOVAL).reason


@pytest.mark.parametrize(
    ("edited", "ceiling", "reason"),
    [
        (np.nan, 1.0, "no text could be edited without changing what the model says"),
        (0.5, 0.0, "the method does not even repeat itself on the same text"),
    ],
)
def test_what_edits_could_not_show_is_not_the_methods_fault(edited, ceiling, reason):
    facts = measured(random=True, edited=np.full(60, edited), ceiling=np.full(60, ceiling))
    (check,) = [one for one in verdict({"mine": facts})["mine"].trial(REPEATS).checks if one.name.startswith("after")]
    assert check.reason == reason


def test_too_few_models_are_not_too_few_texts():
    lead = np.linspace(0.5, 0.6, 60)[None]
    facts = {"mine": measured(detection=lead + 0.3, cost=np.zeros(60), soft_cost=np.zeros(60))}
    facts["foil"] = measured(detection=lead, cost=np.zeros(60), soft_cost=np.zeros(60))
    checks = verdict(facts, ["foil"])["mine"].trial(INFORMATIVE).checks
    reasons = {one.name: one.reason for one in checks}
    assert reasons["planted words"] == "1 of the models used the evidence, two are needed"


def test_what_no_audit_does_unasked_is_not_laid_upon_the_budget():
    costs = {"look": 1e-5, "learn": 1e-5, "open": 0.1, "layers": 0, "explainers": {"leave-one-out": 1e-5}}
    many = sizes.choose(costs, 583, 1, trains=False, budget=600.0, asked={})
    assert "83 of 583 texts were not explained (no more are unless asked for, --set texts=583)" in many.left_out
    all_of_them = sizes.choose(costs, 583, 1, trains=False, budget=600.0, asked={"texts": 583})
    assert not [one for one in all_of_them.left_out if "not explained" in one]
