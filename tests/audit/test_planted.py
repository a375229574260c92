"""Planted evidence: words and draws of its own for each model, and signs that count."""

import re

import numpy as np
import pytest

from trueness.audits.notes import unlearned
from trueness.kinds.contract import Words
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.kinds.text.data.planting import made_up_words, own_words
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.protocols.ground_truth.trial import usage
from trueness.stats import detection_auc


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    words = [f"{one}{other}x" for one in "abcdefghij" for other in "abcdefghij"]
    texts = TextExamples(TextExample(tuple(rng.choice(words, 6)), number % 2) for number in range(400))
    return TextDataset("made", ("bad", "good"), {"train": texts}, Vocabulary.of(texts), Preparation())


def test_each_seed_plants_words_of_its_own(data):
    planted = {seed: own_words(data, data.vocabulary.numbers.get, seed)[0].words for seed in range(8)}
    assert len({tuple(words) for words in planted.values()}) == 8
    assert all(len(set(words)) == 4 for words in planted.values())
    assert planted[3] == own_words(data, data.vocabulary.numbers.get, 3)[0].words
    numbers = [data.vocabulary.numbers[word] for seed in range(1, 8) for word in planted[seed]]
    assert abs(np.mean(numbers) / len(data.vocabulary) - 0.5) < 0.15, "their numbers tell nothing"


def test_made_up_words_look_like_those_of_the_texts(data):
    planted = [made_up_words(data, seed).words for seed in range(8)]
    assert len({tuple(words) for words in planted}) == 8
    known = sorted(data.vocabulary.numbers)
    for word in {word for words in planted for word in words}:
        assert word not in known
        assert len(word) == 3
    places = [np.searchsorted(known, word) / len(known) for words in planted for word in words]
    assert abs(np.mean(places) - 0.5) < 0.12, "their numbers tell nothing"
    few = TextExamples([TextExample(("a", "b"), number % 2) for number in range(10)])
    small = TextDataset("made", ("bad", "good"), {"train": few}, Vocabulary.of(few), Preparation())
    assert "zeroa" in made_up_words(small).words


def test_why_no_model_learned_is_told_with_the_examples_that_would_do():
    facts = [{"accuracy": 0.55, "bound": 0.5, "n": 45}, {"accuracy": 0.62, "bound": 0.5, "n": 45}]
    told = unlearned(facts, Words("text", "texts", "word", "words"))
    assert "the best of 2 names 62% of 45 texts set aside, where 50% is a guess" in told
    more = int(re.search(r"about ([\d,]+) texts in all", told)[1].replace(",", ""))
    assert usage(round(0.62 * 0.15 * more), round(0.15 * more), 0.5)["proven"]
    assert not usage(round(0.62 * 0.075 * more), round(0.075 * more), 0.5)["proven"]
    nothing = unlearned([{"accuracy": 0.44, "bound": 0.5, "n": 45}], Words("text", "texts", "word", "words"))
    assert "more passes" in nothing


def test_evidence_with_the_wrong_sign_is_not_found():
    scores = np.array([[0.9, 0.1, -0.2, 0.3], [-0.9, 0.1, -0.2, 0.3]])
    marked = np.array([[True, False, False, False]] * 2)
    assert detection_auc(scores, marked).values.tolist() == [1.0, 1.0]
    assert detection_auc(scores, marked, signed=True).values.tolist() == [1.0, 0.0]
    inside = np.array([[True, True, True, False]] * 2)
    assert detection_auc(scores, marked, inside, signed=True).values.tolist() == [1.0, 0.0]
