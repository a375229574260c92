"""Why an audit cannot tell: the true reason, and what would settle it."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from trueness.api.audited import check_done
from trueness.audits import sizes
from trueness.audits.assemble import _changes
from trueness.audits.judging import _needed, _way, _Ways, judge
from trueness.audits.measured import Measured, Measurements
from trueness.audits.rule import levels
from trueness.audits.trials import DEPENDS, INFORMATIVE, REMOVAL, REPEATS, lines_of
from trueness.engine.summary import Failure, Summary
from trueness.errors import UserError
from trueness.kinds.contract import Words
from trueness.protocols.best_order import Reference

WORDS = Words("text", "texts", "word", "words", "a full stop is added or taken away")


def measured(**how):
    """Of an explainer that costs all there is to cost in every text."""
    texts = {name: np.ones(60) for name in ("cost", "soft_cost", "ceiling", "edited", "alone", "change")}
    found = {**texts, "moved": 1.0, "words": WORDS, **how}
    best = [np.maximum(found[name], 0) for name in ("cost", "soft_cost")]
    most = Reference(*best, chance=np.zeros((len(best[0]), 2)) - 0.1, alone=np.ones((len(best[0]), 3)))
    return Measurements(**{"reference": most, **found})


def verdict(facts, foils=(), rows=0, **how):
    return judge(lines_of(facts, foils, missing_planted="no", planted_required=False, **how), foils, rows, WORDS)


def test_few_texts_that_carry_a_cost_are_named_and_more_texts_advised():
    cost = np.where(np.arange(60) < 3, 0.8, 0.0)
    found = verdict({"mine": measured(cost=cost, soft_cost=cost)})["mine"]
    trial = found.trial(REMOVAL)
    assert trial.answer == "cannot tell"
    assert trial.reason.endswith("the threshold 0.25 (about 3 of 60 texts carry nearly all of it).")
    assert "with about 40 texts instead of 3" in found.settle, "those in which hiding words changes anything"
    assert "--set examples=800" in found.settle
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


def test_an_explanation_that_says_the_same_of_every_word_has_no_order_to_judge():
    facts = {"zeros": measured(flat=np.arange(60) < 58), "others": measured(flat=np.arange(60) < 30)}
    found = verdict(facts, trained=3)
    why = "It gives every word of 58 of 60 texts the same score, so that there is no order to judge."
    for name in (REMOVAL, REPEATS):
        assert found["zeros"].trial(name).reason == why
        assert found["others"].trial(name).answer == "pass"
    assert found["zeros"].decision == "cannot tell"
    assert why in found["zeros"].settle
    stays = verdict({"zeros": measured(flat=np.ones(60, dtype=bool), change=np.zeros(60))})["zeros"]
    assert (stays.decision, stays.decided_by) == ("must not be shown", DEPENDS), "it never looks at the weights"


COSTS = {
    **{
        "units": 20.0,
        "look": 1e-5,
        "learn": 1e-5,
        "open": 0.1,
        "layers": 0,
        "explainers": {"leave-one-out": 1e-5},
        "random": [],
    },
    **{"trains": False, "retrains": False, "passes": (6.0, 3.0)},
}


def test_more_texts_than_there_are_are_not_advised():
    facts = {"mine": measured(cost=np.where(np.arange(60) < 54, 1.0, 0.0), reference=measured().reference)}
    for rows, told in ((0, False), (60, True), (100_000, False)):
        settle = verdict(facts, rows=rows)["mine"].settle
        assert "texts instead of 60 would settle it" in settle
        assert ("but only 60 can be explained, so that more data are needed" in settle) == told
    found = sizes.choose(COSTS, 60, 60, 1, budget=None, asked={"examples": 1000}, words=WORDS)
    assert "940 of 1,000 texts were not explained: there are only 60" in found.left_out


def test_what_no_audit_does_unasked_is_not_laid_upon_the_budget():
    many = sizes.choose(COSTS, 583, 583, 1, budget=600.0, asked={}, words=WORDS)
    assert "83 of 583 texts were not explained (no more are unless asked for, --set examples=583)" in many.left_out
    all_of_them = sizes.choose(COSTS, 583, 583, 1, budget=600.0, asked={"examples": 583}, words=WORDS)
    assert not [one for one in all_of_them.left_out if "not explained" in one]


def records(falls):
    """What `audit/randomised` left of one method, in any order of rows."""
    rows = [
        {"order": order, "smooth": smooth, "seed": seed, "instance": text, "ceiling": 1.0, "output change": 0.4}
        | {"similarity": (1.0 - fall) if order == "all at once" and not smooth else 9.0}
        for order, smooth in (("all at once", 0), ("top-down", 0), ("all at once", 3))
        for seed, some in enumerate(falls)
        for text, fall in enumerate(some)
    ]
    return pd.DataFrame(rows).iloc[::-1]


def test_random_orders_of_the_weights_that_disagree_leave_it_open():
    """Three of eight leave the explanation as it is: texts alone would be sure of the mean."""
    falls = np.repeat([0.0, 0.0, 0.0, 0.7, 0.7, 0.7, 0.4, 0.4], 60).reshape(8, 60)
    found = _changes(records(falls))
    assert found["change"] == pytest.approx(falls)
    assert found["moved"] == pytest.approx(0.4)
    check = verdict({"mine": measured(change=found["change"])})["mine"].trial(DEPENDS).checks[0]
    assert check.answer == "cannot tell"
    assert check.low < 0.25 < check.high
    sure = verdict({"mine": measured(change=np.tile(falls.mean(axis=0), 2))})["mine"].trial(DEPENDS).checks[0]
    assert sure.answer == "pass"
    one = _changes(records(falls[3:4]))["change"]
    assert one == pytest.approx(falls[3]), "a single order speaks of itself"


def test_advice_counts_what_more_of_one_size_can_do():
    """Of a mean over draws and texts more of one leave the error of the other."""
    rng = np.random.default_rng(3)
    texts, draws = rng.normal(0, 0.35, 60), rng.normal(0, 0.02, 5)
    both = measured(change=0.36 + texts + draws[:, None])
    check = lines_of({"mine": both}, (), missing_planted="no", planted_required=False)["mine"][0].checks[0]
    assert check.size == "shuffled_examples"
    number = _needed(check, _Ways(4, 60, 60, WORDS))
    evidence, level = check.found.evidence, levels(4).passes
    assert evidence.p_above(0.25, times=number / 60) <= level
    assert evidence.p_above(0.25, times=(number - 20) / 60) > level
    unlike = measured(change=0.6 + texts / 10 + 10 * draws[:, None])
    told = verdict({"mine": unlike})["mine"].settle
    assert re.search(r"with about \d+ random orders of the weights instead of 5", told)
    wide = measured(change=0.3 + texts + 3 * draws[:, None])
    told = verdict({"mine": wide})["mine"].settle
    assert "with more random orders of the weights and more texts may settle it (--set shuffles=10" in told
    again = verdict({"lime": measured(random=True, change=rng.normal(0.35, 0.3, 60))})["lime"]
    assert re.search(r"--set shuffled_examples=(\d+) --set repeat_examples=\1", again.settle)


def test_advice_on_planted_words_names_models():
    """Models disagree, so that more texts would not help: neither shuffles of weights nor their texts are named."""
    rng = np.random.default_rng(0)
    foil = rng.uniform(0.4, 0.6, (3, 60))
    own = np.clip(foil + 0.12 + np.array([[-0.08], [0.0], [0.08]]), 0, 1)
    nothing = {"cost": np.zeros(60), "soft_cost": np.zeros(60)}
    facts = {"mine": measured(detection=own, **nothing), "foil": measured(detection=foil, **nothing)}
    checks = lines_of(facts, ["foil"], missing_planted="no", trained=3)["mine"]
    (check,) = [
        one for line in checks if line.trial == INFORMATIVE for one in line.checks if one.name == "planted words"
    ]
    assert check.found.evidence.by_units > 0.9
    known = _Ways(required=1, rows=60, examples=60, words=WORDS)
    assert re.fullmatch(
        r"“planted words” with about \d+ models instead of 3 .* \(--set planted_models=\d+\)\.",
        _way(20, 3, check, known),
    )
    assert (
        _way(np.inf, 3, check, known)
        == "“planted words” with more models and more texts may settle it (--set planted_models=6)."
    )


def test_a_slow_method_gets_its_share_of_more_texts():
    """Asked about 60 of 120 texts, it is asked about half of however many there are."""
    cost = np.where(np.arange(60) < 3, 0.8, 0.0)
    slow, fast = (measured(cost=np.tile(cost, times), soft_cost=np.tile(cost, times)) for times in (1, 2))
    alone, beside = (verdict(facts)["slow"].settle for facts in ({"slow": slow}, {"slow": slow, "fast": fast}))
    assert "with about 40 texts instead of 3" in alone
    assert "--set examples=800" in alone
    assert "with about 40 texts instead of 3" in beside
    assert "--set examples=1600" in beside
    slow = measured(cost=cost, soft_cost=cost, companion=cost, companion_best=cost)
    told = verdict({"slow": slow, "fast": fast})["slow"].trial(REMOVAL)
    check = Measured("companion", "", None, size="companion_examples", asked=60)
    assert told.answer == "cannot tell"
    assert "(--set companion_examples=600 --set examples=1200)" in _way(
        600, 60, check, _Ways(1, 0, 120, WORDS, slow=2.0)
    )
    assert "(--set companion_examples=300)" in _way(300, 60, check, _Ways(1, 0, 500, WORDS))
    few = verdict({"slow": slow, "fast": fast}, rows=500)["slow"].settle
    assert "only 500 can be explained" in few


def test_advice_on_edits_counts_texts_that_cannot_be_edited():
    edited = np.where(np.arange(60) % 4 == 3, 0.9, np.nan)
    told = verdict({"mine": measured(random=True, edited=edited)})["mine"].settle
    assert "“after a harmless edit” with about 30 texts instead of 15" in told
    assert "(--set repeat_examples=120 --set edit_examples=120 --set examples=120)" in told
    capped = np.where(np.arange(60) < 15, 0.9, np.nan)  # all that were edited could be
    told = verdict({"mine": measured(edited=capped)})["mine"].settle
    assert "(--set repeat_examples=30 --set edit_examples=30)" in told


@pytest.mark.parametrize(("failed", "kept"), [("ab", False), ("a", True), ((None,), False)])
def test_what_is_kept_is_told_where_some_explainers_did_not_fail(failed, kept):
    tasks = [SimpleNamespace(parameters={} if name is None else {"explainer": name}) for name in failed]
    verdict = SimpleNamespace(parameters={"explainers": ["a", "b"]})
    failures = [Failure(task, "mine.py:a failed, mine.py line 3: ValueError.", "", mendable=True) for task in tasks]
    with pytest.raises(UserError, match=r"line 3: ValueError\.") as told:
        check_done(Summary(failures=failures, blocked=[verdict]))
    assert ("The results of the other explainers are kept" in str(told.value)) is kept
