"""For whom an explanation holds: by hand, and on models whose right explanation is known."""

import numpy as np
import pytest
import torch

from tests.audit.corruptions import (
    Blind,
    Exact,
    InvertedFor,
    Noise,
    TopLast,
    Unnamed,
    lean,
    make_leaning,
    negated,
    with_word,
)
from tests.audit.oracle import audit, make_texts, measure
from trueness.audits.judging import judge
from trueness.audits.slices import (
    IN_MOST,
    MOST,
    STRONGEST,
    Corrected,
    deciding,
    examples_needed,
    named,
    reaches,
    share_above,
    top_alone,
)
from trueness.audits.trials import REMOVAL, REPEATS, lines_of
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.protocols.best_order import Singles, reference
from trueness.protocols.faithfulness import removal
from trueness.protocols.randomisation import explained


def checks(judged):
    return {check.name: check for check in judged.trial(REMOVAL).checks}


@pytest.fixture(scope="module")
def found():
    """An audit of 300 texts, one in five of the class “good”."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(5)
    model, texts = make_leaning(rng), make_texts(rng, 300)
    lean(model, texts, 0.2)
    methods = {
        "right": Exact(),
        "noise in 30%": Noise(0.3),
        "inverted for the rare class": InvertedFor(1),
        "top last": TopLast(),
    }
    facts = measure(model, texts, {**methods, "random": Noise(1.0)})
    return model, texts, facts, judge(lines_of(facts, ("random",), planted_required=False), ("random",))


def test_what_is_right_may_be_shown_and_for_whom_is_told(found):
    right = found[3]["right"]
    assert right.decision == "may be shown"
    assert checks(right)[IN_MOST].value == pytest.approx(1.0)
    assert right.holds.startswith("For at least 9 in 10 examples in which hiding units changes what the model says")
    assert "class bad and class good each by itself" in right.holds


def test_noise_in_three_texts_of_ten_is_not_shown(found):
    wrong = found[3]["noise in 30%"]
    assert wrong.decision != "may be shown"
    assert checks(wrong)[IN_MOST].value == pytest.approx(0.7, abs=0.07), "the share of the texts in which it is right"
    assert checks(wrong)["on this model"].answer == "pass", "the mean does not tell"
    assert wrong.trial(REPEATS).answer == "pass", "nor does asking again"


def test_what_is_upside_down_for_a_rare_class_must_not_be_shown(found):
    wrong = found[3]["inverted for the rare class"]
    assert wrong.decision == "must not be shown"
    each = checks(wrong)
    assert (each["class good"].answer, each["class bad"].answer) == ("fail", "pass")
    assert "Not for class good." in wrong.holds


def test_the_top_word_shown_last_is_missed(found):
    wrong = found[3]["top last"]
    assert wrong.decision == "must not be shown"
    assert checks(wrong)[STRONGEST].value < 0


def test_no_number_changes_when_another_explainer_is_left_out(found):
    *_, facts, whole = found
    for name in ("right", "noise in 30%", "top last"):
        alone = judge(lines_of({name: facts[name]}, ("random",), planted_required=False), ("random",))[name]
        beside = whole[name]
        needed = [(trial.name, trial.answer, trial.checks) for trial in beside.trials if trial.required]
        assert [(trial.name, trial.answer, trial.checks) for trial in alone.trials if trial.required] == needed
        assert (alone.decision, alone.holds) == (beside.decision, beside.holds)


def test_the_best_order_is_that_of_the_right_explanation(found):
    facts = found[2]
    assert facts["right"].cost == pytest.approx(facts["right"].reference.cost, abs=1e-6)
    assert (facts["noise in 30%"].cost <= facts["right"].reference.cost + 1e-6).all()


def test_what_one_unit_does_alone_by_hand():
    """Log odds of a sum of weights fall by the weight of a word that is hidden, as seen from the class."""
    rng = np.random.default_rng(0)
    model, texts = make_leaning(rng, scale=0.3), make_texts(rng, 5)
    split = EncodedSplit(texts, model.coder)  # all are looked at as “bad”
    most = reference(model.network, split)
    scores, mask = explained(model.network, split, Exact())
    assert most.alone[mask] == pytest.approx(scores[mask], abs=1e-5)
    assert np.isnan(most.alone[~mask]).all()
    assert most.cost == pytest.approx(removal(model.network, split, scores, mask).cost, abs=1e-6)
    singles = most.singles(scores, mask)
    assert (singles.place == 0).all()
    assert singles.units.tolist() == [len(text.tokens) for text in texts]


def test_blind_to_not_and_an_unnamed_shortcut():
    rng = np.random.default_rng(1)
    model = make_leaning(rng)
    texts = negated(rng, model, make_texts(rng, 300), 0.4)
    lean(model, texts, 0.5)
    negation, _ = audit(model, texts, {"right": Exact(), "blind": Blind()})
    assert (negation["right"].decision, negation["blind"].decision) == ("may be shown", "must not be shown")
    assert checks(negation["blind"])["what “not” decides"].answer == "fail"
    model = make_leaning(rng, scale=0.6, shortcut=2.4)
    texts = with_word(rng, make_texts(rng, 300), "shortcut", 0.4)
    cut, _ = audit(model, texts, {"right": Exact(), "silent": Unnamed()})
    assert (cut["right"].decision, cut["silent"].decision) == ("may be shown", "must not be shown")
    assert cut["silent"].holds == "Not for what “shortcut” decides."


def test_small_slices_are_told_and_not_required():
    rng = np.random.default_rng(2)
    model, few = make_leaning(rng), make_texts(rng, 150)
    lean(model, few, 0.06)
    gold = np.zeros(150, dtype=int)
    facts = measure(model, few, {"right": Exact(), "inverted for a few texts": InvertedFor(1)}, gold=gold)
    judged = judge(lines_of(facts, (), planted_required=False), ())
    for one in judged.values():
        assert "class good" not in checks(one)
        assert "class bad" in checks(one)
        (told,) = [note for note in one.trial(REMOVAL).notes if note.startswith("Not judged")]
        assert "class good (9 examples; about" in told
        assert "wrong predictions (9 examples; about" in told
    assert judged["right"].decision == "may be shown"
    assert told in judged["right"].holds


# --- by hand


def test_a_share_is_corrected_for_chance():
    reached, chance = np.array([1.0] * 7 + [0.0] * 3), np.full(10, 0.25)
    assert share_above(reached, chance, MOST).value == pytest.approx((0.7 - 0.25) / 0.75)
    assert share_above(np.full(4, np.nan), np.full(4, np.nan), MOST) is None


def test_examples_with_nothing_to_explain_do_not_count():
    chance = np.array([[0.1, -0.1], [0.3, -0.3], [0.0, 0.0]])
    reached, by_chance = reaches(np.array([0.3, 0.2, 0.0]), np.array([0.9, 1.0, 0.001]), chance)
    assert reached[:2].tolist() == [1.0, 0.0]
    assert by_chance[:2].tolist() == [0.0, 0.5]
    assert np.isnan(reached[2])
    assert np.isnan(by_chance[2])


def test_the_top_unit_and_the_strongest_one():
    alone = np.array([[2.0, 0.6, 0.1, -1.0, np.nan], [-1.0, -2.0, -0.1, -0.2, -0.3]])
    strong, chance = top_alone(np.array([0.6, -0.1]), alone)
    assert strong[0] == 1.0
    assert chance[0] == 0.5, "two of the four units do a quarter of what the strongest does"
    assert np.isnan(strong[1]), "where nothing speaks for the class there is no strongest unit"
    names, by_chance = named(Singles(np.zeros(2), np.array([0.0, 1.0]), np.array([4, 4])), np.array([True, True]))
    assert names.tolist() == [1.0, 0.0]
    assert by_chance.tolist() == [0.25, 0.25]


def test_units_that_decide_many_texts():
    (one,) = deciding(["not"] * 30 + ["good"] * 29)
    assert one[0] == "not"
    assert one[1].sum() == 30


@pytest.mark.parametrize("threshold", [-0.5, 0.0, 0.5, 0.8, 1.0, 1.2])
def test_bounds_of_a_corrected_share_hold_whatever_the_values(threshold):
    every = np.array([(r, p) for r in (0.0, 1.0) for p in np.linspace(0, 1, 11)])
    inside = Corrected(every[:, 0] - every[:, 1], 1 - every[:, 1]).beside(threshold)  # raises outside of its bounds
    assert inside.values.max() <= inside.most + 1e-9
    assert inside.values.min() >= inside.least - 1e-9


def test_so_many_examples_as_are_said_to_be_needed_do():
    chance = np.random.default_rng(0).choice([0.0, 0.25, 0.5], 1000)
    needed = int(examples_needed(chance))
    assert 30 <= needed < 200
    assert examples_needed(np.full(10, 1.0)) == np.inf
    assert examples_needed(np.zeros(0)) == np.inf
