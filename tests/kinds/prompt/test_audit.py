"""Whole audits of prompts, computed in this process."""

import json

import pytest

import trueness as tn
from tests.inline import here
from tests.kinds.prompt.subjects import questions
from trueness.kinds.prompt.models.tiny import tiny_model
from trueness.kinds.prompt.scenes import scenes_of
from trueness.models.families import label_words

SIZES = {"examples": 40, "repeat_examples": 30, "edit_examples": 5, "alone_examples": 2, "shuffled_examples": 40}
SIZES |= {"shuffles": 1, "hidden_shares": [0.5], "shown_examples": 2}


@pytest.fixture
def answers(tmp_path):
    rows = [one.prompt for one in scenes_of(questions(40, passages=4), "decoy", seed=3)]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(json.dumps({"question": one.question, "contexts": one.contexts}) for one in rows))
    return path


def verdicts(found):
    return {one.explainer: one.decision for one in found.explainers}


def trial(found, explainer, name="finds the used passage"):
    return found[explainer].trial(name).answer


def test_a_function_that_copies_is_audited_by_its_address(answers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rag.py").write_text("from tests.kinds.prompt.subjects import first_copier as answer\n")
    asked = ["citations", "leave-one-out", "kernel-shap[n_samples=64]"]
    found = tn.audit("rag.py:answer", str(answers), explainers=asked, executor=here(), **SIZES)
    assert trial(found, "citations") == "pass", found["citations"].trial("finds the used passage").reason
    assert trial(found, "citations", "cited passages are used") == "pass"
    assert trial(found, "kernel-shap[n_samples=64]") == "pass"
    assert trial(found, "leave-one-out") == "fail"
    assert "redundant" not in found["leave-one-out"].trial("removal costs").reason
    for foil in (one for one in found.explainers if one.foil):
        assert foil.decision != "may be shown"
        assert foil.trial("finds the used passage").answer == "fail"
    assert "40 answers are the model's own" in found.notes
    assert found.examples[0].beside.startswith("What is the code")
    assert len(found.examples[0].units) == 4


def test_a_tiny_language_model_is_audited_and_nothing_of_it_may_be_shown(answers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = [text for one in questions(40, 4) for text in (one.question, *one.contexts)]
    network, tokenizer = tiny_model(0, texts=texts, chat=True)
    for part in (network, tokenizer):
        part.save_pretrained(tmp_path / "model")
    found = tn.audit(
        tmp_path / "model", str(answers), explainers=["leave-one-out", "attention"], executor=here(), **SIZES
    )
    assert "may be shown" not in verdicts(found).values()
    assert found["leave-one-out"].trial("depends on the model").answer == "pass"
    assert trial(found, "leave-one-out") == "cannot tell"  # it reads no fact, so that no scene is decided
    assert found["overlap-question"].trial("depends on the model").answer == "fail"


def test_a_language_model_with_label_words_is_audited_on_a_table_of_texts(tmp_path, monkeypatch):
    import numpy as np
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = ["good", "bad", "film", "no", "yes", "town", "small", "red", "blue", "boat"]
    texts = [" ".join(rng.choice(words, 8)) for _ in range(40)]
    pd.DataFrame({"text": texts}).to_csv("reviews.csv", index=False)
    network, tokenizer = tiny_model(3, texts=["Review Mood"])
    for part in (network, tokenizer):
        part.save_pretrained(tmp_path / "model")
    family = label_words("negative,positive", "Review: {text}\nMood:")
    found = tn.audit("model", "reviews.csv", family=family, explainers=["leave-one-out"], executor=here(), **SIZES)
    assert found.classes == ("negative", "positive")
    assert found.words.unit == "passage"
    assert any(note.startswith("label words, calibrated") for note in found.notes)
    assert found["leave-one-out"].trial("finds the used passage") is None
