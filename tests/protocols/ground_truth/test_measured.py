"""What explanations find of planted evidence, by hand; and one trial with its words."""

import numpy as np
import pandas as pd
import pytest
import torch

from tests.models.test_attentive import VOCABULARY
from tests.protocols.ground_truth.reader import reader
from trueness.data.dataset import drawn
from trueness.explainers.contract import explainer
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.evidence import marks_of
from trueness.papers.ground_truth.trial import trial
from trueness.protocols.agreement.explaining import Explained
from trueness.protocols.ground_truth.summary import PLANTED
from trueness.protocols.ground_truth.trial import measured, predictions, usage

MASK = np.array([[True, True, True, True], [True, True, False, False]])
EVIDENCE = np.array([[True, False, False, False], [False, True, True, False]])
DECOYS = np.array([[False, True, False, False], [False, False, False, True]])
SCORES = np.array([[4.0, -3.0, 2.0, 1.0], [1.0, 3.0, 9.0, 0.0]]) * MASK


def test_measures_of_two_texts_by_hand():
    rationale = np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    found = Explained({"gradient": SCORES, "rationale": rationale}, MASK)
    table = measured(found, EVIDENCE, DECOYS, np.array([1, 0]), np.array([1, 1]))
    assert table["method"].tolist() == ["gradient"] * 2 + ["rationale"] * 2
    assert table["instance"].tolist() == [0, 1] * 2
    assert table["label"].tolist() == [1, 1] * 2
    assert table["right"].tolist() == [True, False] * 2
    assert table["words"].tolist() == [4, 2] * 2
    assert table["evidence size"].tolist() == [0.25, 0.5] * 2, "what lies outside of a text does not count"
    assert table["decoy size"].tolist() == [0.25, 0.0] * 2
    first = table.iloc[:2]
    assert first["attribution share"].tolist() == pytest.approx([4 / 10, 3 / 4])
    assert first["AUROC"].tolist() == [1.0, 1.0]
    assert first["precision"].tolist() == [1.0, 1.0]
    assert first["top token"].tolist() == [1.0, 1.0]
    assert first["mean rank"].tolist() == [0.0, 0.0]
    assert first["decoy share"].tolist() == pytest.approx([3 / 10, np.nan], nan_ok=True)
    assert first[["selected", "recall"]].isna().all(axis=None), "only rationales select"
    second = table.iloc[2:]
    assert second["selected"].tolist() == [0.75, 0.0]
    assert second["recall"].tolist() == [1.0, 0.0]
    unmarked = measured(found, EVIDENCE & False, DECOYS, np.array([1, 0]), np.array([1, 1]))
    assert unmarked["recall"].isna().all()
    assert unmarked["attribution share"].isna().all()
    assert list(table) == [
        "instance", "method", "label", "right", "words", "evidence size", "decoy size", "attribution share", "AUROC",
        "precision", "top token", "mean rank", "decoy share", "selected", "recall",
    ]  # fmt: skip


def test_a_lower_score_of_the_evidence_is_seen_by_every_measure():
    low = np.array([[1.0, 4.0, 3.0, 2.0], [3.0, 1.0, 0.0, 0.0]])
    table = measured(Explained({"gradient": low}, MASK), EVIDENCE, DECOYS, np.array([0, 0]), np.array([0, 0]))
    assert table[["AUROC", "precision", "top token"]].to_numpy().tolist() == [[0, 0, 0]] * 2
    assert table["mean rank"].tolist() == [1.0, 1.0]
    assert table["attribution share"].tolist() == pytest.approx([0.1, 0.25])
    assert table["decoy share"][0] == pytest.approx(0.4)


def test_usage_in_numbers():
    found = usage(9, 10, 0.5)
    assert list(found) == ["accuracy", "bound", "n", "p_value", "least_share", "proven"]
    assert (found["accuracy"], found["bound"], found["n"]) == (0.9, 0.5, 10)
    assert found["p_value"] == pytest.approx(11 / 1024)
    assert found["least_share"] == pytest.approx(0.8)
    assert found["proven"] is False, "11 of 1024 are more than 1 %"
    assert usage(10, 10, 0.5)["proven"] is True
    assert usage(2, 10, 0.5)["least_share"] == 0.0
    assert (usage(10, 10, 1.0)["p_value"], usage(10, 10, 1.0)["least_share"]) == (1.0, 0.0)


def planted():
    """A network whose output is a table over one word, and texts in which that word is marked."""
    rng = np.random.default_rng(0)
    texts = []
    for row in range(40):
        words = rng.choice(VOCABULARY.words[7:], 3 + row % 3).tolist()
        place, label = int(rng.integers(1, len(words))), int(row >= 20)
        words[place] = VOCABULARY.words[5 + label]
        marks = [tuple(at == wanted for at in range(len(words))) for wanted in (place, 0)]
        texts.append(TextExample(tuple(words), label, evidence=marks[0], decoys=marks[1]))
    return reader(), texts


def test_a_trial_explains_some_texts_of_every_class_and_shows_a_few():
    @explainer("first")
    def first(_, batch, __):
        """The first word."""
        return (torch.arange(batch.mask.shape[1]) == 1).double().expand(batch.mask.shape)

    model, texts = planted()
    texts[3] = TextExample(texts[3].tokens, 1, evidence=texts[3].evidence, decoys=texts[3].decoys)  # a wrong label
    how = {"bound": 0.5, "instances": 10, "shown": 3}
    records, facts = trial(model, texts, ["first", "attention-rollout"], **how)
    assert (facts["accuracy"], facts["n"], facts["bound"], facts["proven"]) == (39 / 40, 40, 0.5, True)
    assert list(facts["refused"]) == ["attention-rollout"]
    chosen = drawn([text.label for text in texts], 10)
    assert len(records) == 10
    assert records["label"].tolist() == [texts[row].label for row in chosen]
    assert records["right"].tolist() == [row != 3 for row in chosen]
    assert records["words"].tolist() == [len(texts[row].tokens) for row in chosen]
    assert records["evidence size"].tolist() == pytest.approx([1 / len(texts[row].tokens) for row in chosen])
    assert (records["attribution share"] == 0).all()
    assert (records["decoy share"] == 1).all()
    assert [one["instance"] for one in facts["shown"]] == [0, 1, 2]
    for one, row in zip(facts["shown"], chosen, strict=False):
        text = texts[row]
        assert one["words"] == list(text.tokens)
        assert (one["predicted"], one["gold"]) == (int(row >= 20), text.label)
        assert list(one["rows"]) == [PLANTED, "first"]
        expected = [float(mark) - float(decoy) for mark, decoy in zip(text.evidence, text.decoys, strict=True)]
        assert one["rows"][PLANTED] == expected
        assert one["rows"]["first"] == [1.0, *[0.0] * (len(text.tokens) - 1)]
    assert trial(model, texts, ["first"], bound=0.5, instances=4)[1]["shown"] == []
    assert len(trial(model, texts, ["first"], bound=0.5, instances=2, shown=9)[1]["shown"]) == 2


def test_a_model_that_need_not_have_used_the_evidence_is_not_explained():
    model, texts = planted()
    records, facts = trial(model, texts, ["no such explainer"], bound=0.999, instances=4)
    assert isinstance(records, pd.DataFrame)
    assert len(records) == 0
    assert (facts["proven"], facts["refused"], "shown" in facts) == (False, {}, False)


def test_predictions_are_in_the_order_of_the_texts():
    model, texts = planted()
    split = EncodedSplit(texts[::-3], VOCABULARY)
    assert predictions(model.network, split).tolist() == [text.label for text in texts[::-3]]


def test_marks_of_texts_without_any():
    texts = [TextExample(("w1", "w2"), 0), TextExample(("w1",), 0, evidence=(True,))]
    assert marks_of(VOCABULARY, texts, "evidence", 4).tolist() == [[False] * 4, [False, True, False, False]]
