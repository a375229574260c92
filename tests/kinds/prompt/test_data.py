import json
from collections import Counter

import pandas as pd
import pytest

from tests.inline import Here
from trueness.engine import Store, run, task
from trueness.errors import UserError
from trueness.kinds import kind_of_data
from trueness.kinds.prompt.data.prompts import PromptDataset, PromptExample, PromptExamples
from trueness.kinds.prompt.data.reading import PromptData
from trueness.kinds.prompt.data.rows import cited_in, example_of
from trueness.models.families import label_words

DATA = PromptData()


def written(folder, rows, name="answers.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(**changes):
    return {"question": "Who won?", "contexts": ["Ann won.", "It rained."], "answer": "Ann", **changes}


def read(path, **how):
    found = DATA.read(str(path), **how)
    return found, found.splits["all"]


def test_questions_are_recognised_by_their_fields(tmp_path):
    assert DATA.recognises(str(written(tmp_path, [row()])))
    assert kind_of_data(str(written(tmp_path, [row()]))).name == "prompt"
    assert kind_of_data([row()]).name == "prompt"
    assert not DATA.recognises(str(written(tmp_path, [{"question": "Who?", "label": 1}], "texts.jsonl")))
    assert not DATA.recognises("Who won?")


def test_a_row_is_read_with_other_names_and_passages_as_objects(tmp_path):
    contexts = [{"title": "Race", "text": "Ann won."}, {"id": "b", "content": "It rained."}]
    given = {"query": "Who won?", "documents": contexts, "response": "Ann", "citations": ["b"], "scores": [0.2, 0.9]}
    _, (example,) = read(written(tmp_path, [given]))
    assert example == PromptExample("Who won?", ("Race: Ann won.", "It rained."), "Ann", (1,), order=(1, 0))


def test_marks_in_an_answer_are_citations_counted_from_one():
    assert cited_in("Ann won [2], as [1, 3] say; see [2].") == (1, 0, 2)
    found = example_of(row(answer="Ann [1]"), Counter())
    assert found.citations == (0,)
    assert example_of(row(), Counter()).citations is None
    assert example_of(row(citations=[]), Counter()).citations == ()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"answer": ""}, "the answer is empty (1, first in row 2)"),
        ({"question": " "}, "there is no question (1, first in row 2)"),
        ({"contexts": [1, 2]}, "the passages are no list of texts (1, first in row 2)"),
        ({"citations": {"a": 1}}, "the citations are no list of numbers (1, first in row 2)"),
        ({"citations": [7]}, "1 citations name passages that are not there: they were left out"),
        ({"contexts": ["Ann won.", " "]}, "1 empty passages were left out"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_counted(tmp_path, changes, told):
    found, some = read(
        written(tmp_path, [row(), row(question="When?", **changes) if "question" not in changes else row(**changes)])
    )
    assert any(told in note for note in found.notes), found.notes
    assert len(some) == (2 if "left out" in told and "(" not in told else 1)


def test_a_file_without_a_usable_row_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"no question that can be used: the answer is empty \(1, first in row 1\)\.$"):
        read(written(tmp_path, [row(answer=" ")]))


def test_passages_of_an_empty_cell_are_none_and_of_a_list_in_a_cell_many(tmp_path):
    table = pd.DataFrame(
        [
            {"question": "Who?", "contexts": '["Ann won.", "It rained."]', "answer": "Ann"},
            {"question": "When?", "contexts": None, "answer": "now"},
        ]
    )
    table.to_csv(tmp_path / "answers.csv", index=False)
    _, (one, other) = read(tmp_path / "answers.csv")
    assert one.contexts == ("Ann won.", "It rained.")
    assert other.contexts == ()


class Labelled:
    labels = classes = ("negative", "positive")


def test_texts_are_prompts_of_a_model_with_label_words(tmp_path):
    path = tmp_path / "reviews.csv"
    pd.DataFrame({"text": ["fine film", "dull film", "x"], "label": ["Positive", "negative", "1"]}).to_csv(
        path, index=False
    )
    _, some = read(path, model=Labelled())
    assert [(one.question, one.label) for one in some] == [("fine film", 1), ("dull film", 0), ("x", 1)]
    with pytest.raises(UserError, match="give the label words of a classifier with --labels"):
        read(path)
    pd.DataFrame({"text": ["fine film"], "label": ["mixed"]}).to_csv(path, index=False)
    with pytest.raises(UserError, match="'mixed' is none of the label words negative, positive"):
        read(path, model=Labelled())


ONE = PromptExample("q", ("a", "b"), "x", (1,), ("y",), "do", (1, 0), (1, 0), 0, (0, 1))
KEPT = PromptDataset("mine", ("answer", "other answers"), {"all": PromptExamples([ONE])}, ("a note",))


@task("test/kept-prompts", version=1)
def kept(inputs):
    return DATA.pack(KEPT)


def test_a_dataset_comes_back_from_a_store(tmp_path):
    store = Store.open(tmp_path / "store", create=True)
    target = kept({})
    assert run([target], store, Here()).complete
    stored = store.get(target.key)
    assert DATA.holds(stored)
    assert DATA.unpack(stored) == KEPT


@pytest.mark.parametrize("labels", ["positive", "yes,yes", ",", "yes,"])
def test_label_words_are_two_different_ones(labels):
    with pytest.raises(UserError, match="two or more different words"):
        label_words(labels)


def test_a_prompt_travels_in_the_name_of_a_family():
    from trueness.kinds.prompt.opening import PROMPT_MODELS

    prompt = 'Review [1]: "{text}"\nx = y\nMood ='
    found = PROMPT_MODELS[label_words("negative, positive", prompt)]
    assert (found.labels, found.prompt) == ("negative,positive", prompt)
