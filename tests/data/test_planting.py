"""Planted evidence: what changes, what it tells, and what a blind model can know."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from trueness.errors import UserError
from trueness.kinds.text.data.dataset import prepare
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.planting import ARTICLES, PLANTINGS, Manipulation, bound, plant, reassignment
from trueness.kinds.text.data.preparation import Preparation

WORDS = ["a", "the", "an", "film", "good", "bad", "plot", "scene"]


def dataset(size=200, seed=0):
    rng = np.random.default_rng(seed)
    raw = {
        split: [RawExample(" ".join(rng.choice(WORDS, int(rng.integers(8, 15)))), row % 2) for row in range(number)]
        for split, number in (("train", size), ("test", size // 2))
    }
    return prepare("texts", raw, Preparation(tokeniser="space"))


@pytest.mark.parametrize("name", list(PLANTINGS))
def test_only_the_region_changes_and_it_tells_the_label(name):
    data = dataset()
    planted = plant(data, name)
    before = {split: [example.tokens for example in part] for split, part in data.splits.items()}
    meaning: dict[tuple[str, ...], set[int]] = {}
    for split, part in planted.splits.items():
        for example in part:
            assert len(example.evidence) == len(example.tokens)
            assert any(example.evidence)
            marked = [
                decoy or mark for decoy, mark in zip(example.decoys or [False] * 99, example.evidence, strict=False)
            ]
            same = [
                tokens
                for tokens in before[split]
                if len(tokens) == len(example.tokens)
                and all(here == there or mark for here, there, mark in zip(example.tokens, tokens, marked, strict=True))
            ]
            assert same, "outside of the region it is one of the texts"
            shown = tuple(word for word, mark in zip(example.tokens, example.evidence, strict=True) if mark)
            words = tuple(word if word.endswith("a") or word in ARTICLES else "-" for word in shown)
            if name == "token-in-context":
                words = tuple(sorted({word for word in shown if word in ("onea", "contexta")}))
            if name.startswith("articles"):
                words = tuple(set(words))
            meaning.setdefault(words, set()).add(example.label)
    assert all(len(labels) == 1 for labels in meaning.values()), meaning
    assert {label for labels in meaning.values() for label in labels} == {0, 1}


@pytest.mark.parametrize("name", ["articles-cn", "articles-nc", "token-with-decoy"])
def test_decoys_look_alike_and_tell_nothing(name):
    shown = {0: [], 1: []}
    for example in plant(dataset(600), name).splits["train"]:
        words = {word for word, mark in zip(example.tokens, example.decoys, strict=True) if mark}
        assert len(words) == 1
        assert not any(one and other for one, other in zip(example.evidence, example.decoys, strict=True))
        shown[example.label].append(words.pop())
    first = min(set(shown[0]) | set(shown[1]))
    shares = [np.mean([word == first for word in some]) for some in shown.values()]
    assert abs(shares[0] - shares[1]) < 0.1
    assert 0.4 < np.mean(shares) < 0.6


def test_the_region_is_joint_also_where_nothing_was_changed():
    for example in plant(dataset(), "token-in-context").splits["train"]:
        assert sum(example.evidence) == 2
        markers = sum(word in ("onea", "contexta") for word in example.tokens)
        assert markers == (2 if example.label == 1 else 1)


def test_new_labels_depend_on_old_ones_as_asked():
    data = dataset(2000)
    for kept in (None, 0.9):
        planted = plant(data, "token", kept=kept)
        same = np.mean([new.label == old.label for new, old in zip(planted["train"], data["train"], strict=True)])
        assert same == pytest.approx(kept or 0.5, abs=0.04)


@pytest.mark.parametrize("name", ["articles", "token", "ordered-pair"])
def test_blind_to_the_region_a_model_is_at_chance(name):
    planted = plant(dataset(2000), name)

    def accuracy(sees):
        counts = {
            split: [
                " ".join(
                    word if sees or not mark else "hidden" for word, mark in zip(one.tokens, one.evidence, strict=True)
                )
                for one in planted[split]
            ]
            for split in ("train", "test")
        }
        labels = {split: [one.label for one in planted[split]] for split in counts}
        model = make_pipeline(
            CountVectorizer(token_pattern=r"\S+", ngram_range=(1, 2)), LogisticRegression(max_iter=500)
        )
        return model.fit(counts["train"], labels["train"]).score(counts["test"], labels["test"])

    assert abs(accuracy(sees=False) - 0.5) < 3 * 0.5 / 1000**0.5
    assert accuracy(sees=True) > (0.97 if name != "ordered-pair" else 0.6), "two words apart: counts see some of it"


@settings(max_examples=50)
@given(st.integers(2, 5), st.integers(0, 10_000))
def test_no_blind_model_exceeds_the_bound(classes, seed):
    """The best one knows the old label, and predicts the new label that is likeliest after it."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(classes), classes)
    prior = rng.dirichlet(np.ones(classes))
    assert prior @ matrix.max(axis=1) <= bound(matrix) + 1e-12
    kept = float(rng.random())
    assert reassignment(classes, kept).sum(axis=1) == pytest.approx(1)
    assert bound(reassignment(2, kept)) == pytest.approx(max(kept, 1 - kept))


def test_each_text_is_drawn_by_seed_split_and_number_alone():
    data = dataset()
    whole = plant(data, "token-with-decoy", seed=3)
    assert whole["test"] == plant(data, "token-with-decoy", seed=3)["test"]
    assert whole["test"] != plant(data, "token-with-decoy", seed=4)["test"]
    shorter = type(data)(data.name, data.classes, {"test": data["test"][:5]}, data.vocabulary, data.preparation)
    assert list(plant(shorter, "token-with-decoy", seed=3)["test"]) == list(whole["test"][:5])


def test_more_classes_have_more_markers():
    rng = np.random.default_rng(0)
    raw = {"train": [RawExample(" ".join(rng.choice(WORDS, 6)), str(row % 3)) for row in range(300)]}
    planted = plant(prepare("three", raw, Preparation(tokeniser="space")), "token")
    found = {(example.label, example.tokens[example.evidence.index(True)]) for example in planted["train"]}
    assert found == {(0, "zeroa"), (1, "onea"), (2, "twoa")}
    with pytest.raises(UserError, match="two classes, not 3; use token"):
        plant(prepare("three", raw, Preparation(tokeniser="space")), "ordered-pair")


def test_texts_without_a_place_are_left_out_and_counted():
    raw = {"train": [RawExample("a film", 0), RawExample("good plot", 1), RawExample("the scene", 1)]}
    planted = plant(prepare("few", raw, Preparation(tokeniser="space")), "articles")
    assert len(planted["train"]) == 2
    assert "1 of 3 texts have no place for articles" in planted.notes[-1]
    with pytest.raises(UserError, match="no text of the split train has a place"):
        plant(
            prepare("none", {"train": raw["train"][1:2]}, Preparation(tokeniser="space", classes=("1", "0"))),
            "articles",
        )


def test_mistakes_are_named():
    data = dataset(20)
    with pytest.raises(UserError, match="did you mean articles"):
        plant(data, "article")
    with pytest.raises(UserError, match=r"between 0 and 1, not 1\.5"):
        plant(data, "token", kept=1.5)
    with pytest.raises(UserError, match="2 x 2 matrix whose rows sum to 1"):
        plant(data, "token", matrix=np.ones((2, 2)))
    blank = Manipulation("none", {})
    assert blank.apply(("a", "b"), [[0]]) == ("a", "b")
    assert blank.region([[0]]) == set()


def test_words_of_the_texts_do_not_stand_out():
    rng = np.random.default_rng(0)
    words = [f"{first}{middle}{last}" for first in "bdklmnrst" for middle in "aeiou" for last in "mnrst"]
    rows = [RawExample(" ".join(rng.choice(words, 10)), row % 2) for row in range(400)]
    data = prepare("many", {"train": rows}, Preparation(tokeniser="space"))
    planted = plant(data, "own-words")
    markers = {one.tokens[place] for one in planted["train"] for place, marked in enumerate(one.evidence) if marked}
    numbers = data.vocabulary.numbers
    assert len(markers) == len(data.classes)
    assert markers <= set(words), "common words of the texts"
    assert all(0.4 < numbers[word] / len(numbers) < 0.6 for word in markers), "their numbers tell nothing"
    assert "made-up words are planted" in plant(dataset(), "own-words").notes[0]
