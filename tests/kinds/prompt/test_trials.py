"""The trials on functions whose used passage is known: what is right passes, and what sees no model fails."""

import numpy as np
import pytest

from tests.kinds.prompt.subjects import first_copier, last_copier, questions, stubborn
from trueness.kinds import KINDS
from trueness.kinds.prompt.audit import FOILS, edit, edited, oddities
from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples
from trueness.kinds.prompt.models.functions import open_function
from trueness.kinds.prompt.scenes import decided, scenes_of
from trueness.kinds.prompt.trials import FOUND, LOST, cited_are_used, finds_used, found_in

KIND = KINDS["prompt"]
RIGHT = ("kernel-shap[n_samples=64]",)


def share_found(function, explainer, name, seed=0, count=20):
    model = open_function(function)
    scenes = decided(model, scenes_of(questions(count), name, seed))
    return float(found_in(model, scenes, KIND.explainers[explainer]).mean())


@pytest.mark.parametrize("function", [first_copier, last_copier])
@pytest.mark.parametrize("name", ["unique", "conflict", "redundant"])
def test_coalitions_find_the_copied_passage_in_every_scene(function, name):
    assert share_found(function, RIGHT[0], name) > 0.95


@pytest.mark.parametrize("function", [first_copier, last_copier])
def test_leave_one_out_finds_a_fact_that_stands_once_and_not_one_that_stands_twice(function):
    assert share_found(function, "leave-one-out", "unique") == 1.0
    assert share_found(function, "leave-one-out", "conflict") == 1.0
    assert share_found(function, "leave-one-out", "redundant") == pytest.approx(1 / 3)


@pytest.mark.parametrize("function", [first_copier, last_copier])
def test_true_citations_pass_every_scene(function):
    assert [share_found(function, "citations", name) for name in ("unique", "conflict", "redundant")] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("foil", [*FOILS, "position-first"])
@pytest.mark.parametrize("function", [first_copier, last_copier])
def test_what_sees_no_model_fails_the_conflict_in_95_of_100_repetitions(foil, function):
    failed = sum(share_found(function, foil, "conflict", seed) < FOUND for seed in range(100))
    assert failed >= 95


def test_a_constant_explanation_gets_the_share_of_chance():
    from trueness.explainers.contract import as_explainer

    same = as_explainer(lambda model, batch, target: batch.mask.double(), "same")
    model = open_function(first_copier)
    for name, chance in (("unique", 1 / 6), ("conflict", 1 / 6), ("redundant", 2 / 6)):
        assert found_in(model, decided(model, scenes_of(questions(20), name)), same).mean() == pytest.approx(chance)


def test_a_trial_says_in_how_many_scenes_the_answer_followed():
    findings, notes = finds_used(open_function(stubborn), questions(8), KIND.explainers["leave-one-out"])
    assert all(np.isnan(one.values).all() for one in findings)
    assert notes[0] == "unique: in 0 of 8 scenes the answer followed the planted value."
    findings, notes = finds_used(open_function(first_copier), questions(8), KIND.explainers["leave-one-out"])
    assert [one.null for one in findings] == pytest.approx([1 / 6, 1 / 6, 2 / 6])
    assert notes[-1] == "redundant: in 8 of 8 scenes the answer followed one copy alone."


def cited_questions():
    """Each with a fact, and the answer and citation that the first copier gives."""
    model = open_function(first_copier)
    scenes = scenes_of(questions(12), "unique", seed=2)
    asked = [PromptExample(one.prompt.question, one.prompt.contexts) for one in scenes]
    return model, model.answered(asked)


def test_cited_passages_are_dropped_beside_as_many_others():
    model, answered = cited_questions()
    (finding,), notes = cited_are_used(model, answered, KIND.explainers["citations"])
    assert finding.values.mean() > 0.9 > LOST
    assert notes[0].startswith("0 of 12 answers cite no passage, 0 cite all")
    wrong = PromptExamples(
        PromptExample(one.question, one.contexts, one.answer, ((one.citations[0] + 1) % 6,)) for one in answered
    )
    (finding,), _ = cited_are_used(model, wrong, KIND.explainers["citations"])
    assert finding.values.mean() < LOST
    assert cited_are_used(model, answered, KIND.explainers["leave-one-out"]) == ((), ())


def test_the_harmless_edit_puts_passages_into_another_order_and_scores_back():
    example = PromptExample("Who?", ("a", "b", "c", "d"), "x", (2,), order=(3, 0, 1, 2))
    changed = edited(example)
    assert sorted(changed.contexts) == ["a", "b", "c", "d"]
    assert changed.contexts != example.contexts
    assert changed.contexts[changed.citations[0]] == "c"
    assert changed.order[changed.contexts.index("b")] == 0
    model, scores = open_function(first_copier), np.array([float(ord(text)) for text in changed.contexts])
    assert KIND.view.scores(model, PromptExamples([changed]), 0, scores) == [97.0, 98.0, 99.0, 100.0]
    assert KIND.view.contents(model, PromptExamples([changed]))[0].units == ("a", "b", "c", "d")
    assert edited(edited(example)).contexts != changed.contexts
    (full,), (count,) = edit([PromptExample("a fine film", answer="x")])
    assert (full.question, count) == ("a fine film.", 2)


def test_what_is_odd_about_prompts_is_counted():
    some = PromptExamples(
        [
            PromptExample("Who won?", (), "Ann"),
            PromptExample("Who won?", ("It rained.",), "Benedict"),
            PromptExample("Who won?", ("Ann won.", "It rained."), "Ann"),
        ]
    )
    found = oddities(open_function(first_copier), some)
    assert found["have a single passage, which no other can outrank"] == 1
    assert found["have no passage: the words of the question are explained"] == 1
    assert found["have words that are in none of their passages"] == 1
