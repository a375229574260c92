"""Planted evidence: words and draws of its own for each model, and signs that count."""

import numpy as np
import pytest

from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.kinds.text.data.planting import own_words
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary
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


def test_evidence_with_the_wrong_sign_is_not_found():
    scores = np.array([[0.9, 0.1, -0.2, 0.3], [-0.9, 0.1, -0.2, 0.3]])
    marked = np.array([[True, False, False, False]] * 2)
    assert detection_auc(scores, marked).values.tolist() == [1.0, 1.0]
    assert detection_auc(scores, marked, signed=True).values.tolist() == [1.0, 0.0]
    inside = np.array([[True, True, True, False]] * 2)
    assert detection_auc(scores, marked, inside, signed=True).values.tolist() == [1.0, 0.0]
