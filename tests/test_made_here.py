"""What is made in a notebook or a script can be audited, explained and compared; no store ever holds it."""

import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import trueness as tn
from trueness import carried, plugins
from trueness.api.executors import Here, open_executor
from trueness.engine import LocalExecutor
from trueness.errors import UserError
from trueness.models.predictor import BLACK_BOXES
from trueness.registry import Registry

SMALL = {"examples": 30, "repeat_examples": 30, "edit_examples": 2, "alone_examples": 2, "shown_examples": 1}
GOOD, BAD, OTHER = (
    ["fine", "great", "warm"],
    ["dull", "poor", "cold"],
    ["the", "a", "film", "story", "with", "plot", "scene", "of"],
)


def table(number=60):
    rng = np.random.default_rng(0)
    labels = [("no", "yes")[row % 2] for row in range(number)]
    texts = [
        " ".join(rng.permutation([*rng.choice(OTHER, 5), *rng.choice(GOOD if label == "yes" else BAD, 2)]))
        for label in labels
    ]
    return pd.DataFrame({"review": texts, "mood": labels})


def pipeline(data):
    return make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(data["review"], data["mood"])


def decisions(found):
    return {one.explainer: one.decision for one in found.explainers}


def test_a_pipeline_and_a_function_are_audited_in_this_process_and_in_workers(tmp_path):
    data = table()
    model = pipeline(data)

    def first_words(model, batch, target):
        return batch.mask.float() / batch.mask.cumsum(dim=1).clamp(min=1)

    asked = {"explainers": ["leave-one-out", first_words], "columns": {"label_column": "mood"}, **SMALL}
    here = tn.audit(model, data, store=tmp_path / "here", workers=0, **asked)
    there = tn.audit(model, data, store=tmp_path / "there", workers=1, **asked)
    assert here.model == "memory:Pipeline"
    assert "memory:first_words" in decisions(here)
    assert decisions(here) == decisions(there)
    assert here.key == there.key, "the digest of what was made here is its identity"
    known = len(list((tmp_path / "here" / "objects").iterdir()))
    assert tn.audit(model, data, store=tmp_path / "here", workers=0, **asked).key == here.key
    assert len(list((tmp_path / "here" / "objects").iterdir())) == known, "nothing is computed again"
    for file in (tmp_path / "there").rglob("*"):
        assert not file.is_file() or b"cloudpickle" not in file.read_bytes(), f"{file} holds code"


def test_what_was_made_elsewhere_is_named_as_such():
    with pytest.raises(UserError, match="memory:Gone was made in another process"):
        BLACK_BOXES.reference("memory:Gone")
    with pytest.raises(UserError, match="made in another process"):
        carried.find("memory:Gone", "0" * 40)


def test_the_same_things_have_the_same_digest_in_every_process():
    code = (
        "from tests.test_made_here import table, pipeline; from trueness import carried;"
        "print(carried.carry(pipeline(table())), carried.carry(lambda value: value + 1))"
    )
    here = Path(__file__).resolve().parents[1]
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=here)
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    said = {run.stdout for run in runs}
    assert len(said) == 1
    first, second = carried.carry(lambda value: value + 1), carried.carry(lambda value: value + 2)
    assert first != second
    assert second not in next(iter(said))


def test_what_cannot_be_packed_is_computed_here():
    lock = threading.Lock()

    def predict(texts):
        with lock:
            return [[0.5, 0.5] for _ in texts]

    first = BLACK_BOXES.carry(predict, "memory:locked")
    assert carried.packed([first.sources[0].digest]) is None
    again = BLACK_BOXES.carry(predict, "memory:locked")
    assert again.sources[0].digest != first.sources[0].digest, "nobody can say that it is the same"
    with open_executor(None, None, ("cpu",), made_here=again.sources) as chosen:
        assert isinstance(chosen, Here)
    with pytest.raises(UserError, match="workers=0"):
        open_executor(None, 2, ("cpu",), made_here=again.sources)
    with pytest.raises(UserError, match="goes to no other machine"):
        open_executor("dask:tcp://localhost:1", None, ("cpu",), made_here=again.sources)


def test_workers_are_sent_it_and_no_task_is(tmp_path):
    name = carried.MODULE + ":adder"
    known: Registry = Registry("function", adapt=lambda thing, _: thing)
    reference = known.carry(lambda value: value + 40, name)
    (source,) = reference.sources
    assert len(pickle.dumps(reference)) < 300, "a name and a digest"
    with LocalExecutor(["cpu"], sent=carried.packed([source.digest])) as pool:
        assert pool.submit(loaded, source, 2).result() == 42
    with LocalExecutor(["cpu"]) as pool, pytest.raises(UserError, match="made in another process"):
        pool.submit(loaded, source, 2).result()


def loaded(source, value):
    return source.load()(value)


def test_another_thing_takes_the_name_and_the_first_is_let_go():
    known: Registry = Registry("function", adapt=lambda thing, _: thing)
    known.add("taken", len, "of the package")
    first = known.carry(lambda: 1, "memory:it")
    second = known.carry(lambda: 2, "memory:it")
    assert known["memory:it"]() == 2
    assert known.reference("memory:it") == second
    with pytest.raises(UserError, match="made in another process"):
        first.sources[0].load()
    with pytest.raises(UserError, match="already a function named 'taken'"):
        known.carry(lambda: 3, "taken")


def test_what_a_decorator_registered_in_a_notebook_is_carried_under_its_name():
    known: Registry = Registry("function", adapt=lambda thing, _: thing)

    def cell():
        def mine():
            return 1

        known.add("mine", mine, "d", maker=mine)
        return mine

    assert known.only_here("mine") is None
    mine = cell()
    assert known.only_here("mine") is mine
    reference = known.carry(mine, "mine")
    assert reference == "mine"
    assert reference.sources[0].carried
    assert known.reference("mine").sources == reference.sources
    assert known["mine"] is mine
    cell()  # the cell is run again


@pytest.mark.parametrize(
    ("thing", "found"),
    [(table, True), (lambda: 1, False), (pd.DataFrame, True), (5, False), (tn.explainers.Lime(n_samples=3), True)],
)
def test_what_workers_can_import(thing, found):
    assert plugins.importable(thing) is found


def test_two_different_explainers_need_two_names(tmp_path):
    data = table()
    one, other = (lambda model, batch, target, by=by: batch.mask.float() * by for by in (1, 2))
    model = pipeline(data)
    for call in (tn.agreement, tn.faithfulness):
        with pytest.raises(UserError, match="Two different explainers are called <lambda>"):
            call(model, data, [one, other])
    with pytest.raises(UserError, match="Two different explainers are called memory:lambda"):
        tn.audit(model, data, explainers=[one, other], store=tmp_path, columns={"label_column": "mood"})


def test_what_is_made_here_is_explained_and_compared():
    data = table()
    model, columns = pipeline(data), {"text_column": "review", "label_column": "mood"}

    def first_words(model, batch, target):
        return batch.mask.float() / batch.mask.cumsum(dim=1).clamp(min=1)

    found = tn.explain(model, data.head(3), first_words, columns=columns, target="gold")
    assert [one.target for one in found] == ["no", "yes", "no"]
    assert found[0].tokens == tuple(data["review"][0].split())
    compared = tn.agreement(model, data, [first_words, "leave-one-out"], columns=columns, instances=10)
    assert {"first_words", "leave-one-out"} <= set(compared.records["first"]) | set(compared.records["second"])
    measured = tn.faithfulness(model, data, [first_words], columns=columns, instances=10)
    assert {score.method for score in measured.scores} == {"first_words"}


def test_texts_that_are_left_out_are_told():
    data = table(8)
    texts = [*data["review"], data["review"][0]]
    found = tn.agreement(pipeline(data), texts, ["leave-one-out", "occlusion"])
    assert any("1 of 9 rows left out" in warning.message for warning in found.warnings)


def test_an_explainer_of_no_kind_is_refused():
    with pytest.raises(UserError, match="no kind of input 'txet'; did you mean text"):
        tn.explainer("mine", kind="txet")
