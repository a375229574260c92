import numpy as np
import pytest

from tests.kinds.prompt.subjects import first_copier, last_copier, questions, stubborn
from trueness.kinds.prompt.models.functions import open_function
from trueness.kinds.prompt.scenes import SCENES, decided, followed, planted_scene, scenes_of


@pytest.mark.parametrize("name", SCENES)
def test_the_fact_stands_where_it_is_said_and_editing_it_leaves_no_trace(name):
    for row, example in enumerate(questions(10)):
        scene = planted_scene(example, name, row)
        answer, _, third = scene.values
        holds = [
            place
            for place, text in enumerate(scene.prompt.contexts)
            if f"{scene.prompt.question[12:-1]} is {answer}" in text
        ]
        assert set(holds) == (set(scene.planted[:1]) if name == "conflict" else set(scene.planted))
        edited = scene.edited(*scene.planted)
        whole = " ".join(edited.contexts)
        assert third in whole
        assert third not in " ".join(scene.prompt.contexts)
        if name != "conflict":
            assert answer not in whole
        assert len(scene.planted) == (2 if name in ("conflict", "redundant") else 1)


def test_scenes_follow_from_their_seed_alone():
    examples = questions(4)
    assert planted_scene(examples[1], "conflict", 1) == scenes_of(examples, "conflict")[1]
    assert planted_scene(examples[1], "conflict", 1, seed=1) != scenes_of(examples, "conflict")[1]


def test_few_passages_have_no_scene():
    assert scenes_of(questions(3, passages=2), "unique") == []


@pytest.mark.parametrize(("function", "uses"), [(first_copier, min), (last_copier, max)])
def test_of_a_conflict_the_copied_passage_is_the_used_one(function, uses):
    model, scenes = open_function(function), scenes_of(questions(12), "conflict")
    found = decided(model, scenes)
    assert len(found) == 12
    assert all(one.planted[0] == uses(one.planted) for one in found)


@pytest.mark.parametrize(("function", "uses"), [(first_copier, min), (last_copier, max)])
def test_of_two_that_say_the_same_it_follows_the_one_that_it_copies(function, uses):
    model = open_function(function)
    found = decided(model, scenes_of(questions(12), "redundant"))
    assert len(found) == 12
    assert followed(model, found) == [(uses(one.planted),) for one in found]


@pytest.mark.parametrize("name", SCENES)
def test_a_function_that_reads_nothing_is_never_decided(name):
    assert decided(open_function(stubborn), scenes_of(questions(12), name)) == []


def test_overlap_does_not_tell_the_used_passage_of_a_conflict():
    for scene in decided(open_function(first_copier), scenes_of(questions(30), "conflict")):
        words = [set(text.replace(".", "").split()) for text in scene.prompt.contexts]
        question, answer = (
            set(text.strip("?.").replace(".", "").split()) for text in (scene.prompt.question, scene.values[0])
        )
        by_question = [len(question & one) for one in words]
        by_answer = [len(answer & one) for one in words]
        assert by_question[scene.planted[0]] == by_question[scene.planted[1]]
        assert by_answer[scene.planted[0]] == by_answer[scene.alike] == 1
    assert np.all([len(set(scene.values)) == 3 for scene in scenes_of(questions(30), "conflict")])
