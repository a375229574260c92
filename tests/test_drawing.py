"""Wherever only some texts are looked at, they are drawn: files are often sorted by label."""

from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest
from benchmarks.experiments import tasks as experiments

from tests.models.test_training import DATA, QUICK, SMALL
from trueness.api.explaining import looked_at
from trueness.data.dataset import drawn_examples
from trueness.kinds.text.models.families import train
from trueness.papers.agreement import tasks as agreement
from trueness.papers.attention_is_not_explanation import study as attention
from trueness.papers.ground_truth.trial import trial as planted_trial
from trueness.protocols.ground_truth import trial as ground_truth

SOME = 20
SORTED = replace(
    DATA, splits={**DATA.splits, "test": sorted(DATA["test"], key=lambda example: (example.label, example.tokens))}
)
DRAWN = drawn_examples(SORTED["test"], SOME)


def words_of(split):
    """Of every text of an encoded split."""
    batches = [split.batch([row]) for row in range(len(split))]
    return [tuple(DATA.vocabulary.words[word] for word in one.tokens[one.mask].tolist()) for one in batches]


def words(examples):
    return [example.tokens for example in examples]


@pytest.fixture(scope="module")
def model():
    return train("bilstm-additive", DATA, recipe=QUICK, **SMALL)


@pytest.fixture
def given(model, monkeypatch):
    """Tasks of studies read this model and this dataset."""
    for module in (attention, agreement, experiments):
        monkeypatch.setattr(module, "read_dataset", lambda _: SORTED)
        monkeypatch.setattr(module, "read_model", lambda *_: model)
    return {"dataset": None, "model": None, "models": None}


def test_what_is_drawn_is_of_all_classes_and_from_all_of_the_file():
    assert Counter(example.label for example in DRAWN) == {0: SOME / 2, 1: SOME / 2}
    places = [SORTED["test"].index(example) for example in DRAWN]
    assert max(place for place in places if SORTED["test"][place].label == 0) > SOME, "not the first of each class"


def test_the_study_of_attention(given):
    how = {"epsilon": 0.01, "epsilons": [0.01], "permutations": 2, "search_steps": 0, "examples": 0, "seed": 0}
    found = attention.trial.function(given, instances=SOME, **how)["records"]
    assert found["gold"].tolist() == [example.label for example in DRAWN]
    assert found["length"].tolist() == [len(tokens) for tokens in words(DRAWN)]
    assert len(attention.trial.function(given, instances=0, **how)["records"]) == len(SORTED["test"]), "0: all"


def test_the_study_of_agreement(given):
    how = {"names": ["gradient", "attention"], "variant": "corrected", "again": 0, "seed": 0, "given": None}
    found = agreement.explained.function(given, instances=SOME, examples=SOME, **how)
    assert [tuple(one["words"]) for one in found["facts"]["examples"]] == words(DRAWN)


def test_the_study_of_planted_evidence(model, monkeypatch):
    asked = []
    monkeypatch.setattr(ground_truth, "explain_all", lambda _, split, *__, **___: asked.append(split) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        planted_trial(model, SORTED["test"], ["gradient"], bound=0.5, instances=SOME)
    assert words_of(asked[0]) == words(DRAWN)


def test_the_budgets_of_the_published_search(given, monkeypatch):
    asked = []
    monkeypatch.setattr(experiments, "EncodedSplit", lambda examples, *_: asked.append(examples) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        experiments.budgets.function(given, seed=0, instances=SOME, epsilon=0.01, steps=[1], rates=[0.1])
    assert asked == [DRAWN]


def test_protocols_on_ones_own_texts(model, tmp_path):
    coded, *_ = looked_at(model, SORTED, "test", SOME)
    assert words_of(coded) == words(DRAWN)
    texts = [" ".join(tokens) for tokens in words(SORTED["test"])]
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "mine.csv", index=False)
    coded, *_ = looked_at(model, str(tmp_path / "mine.csv"), None, SOME)
    found = words_of(coded)
    assert len(found) == SOME
    assert sum("good" in tokens for tokens in found) not in (0, SOME), "without labels: from all of the file"
