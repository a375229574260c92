"""Splits that are made: seeded, every class in each, no text in two; and what a table in memory becomes."""

from collections import Counter

import pandas as pd
import pytest

from trueness.data.dataset import deal, with_splits
from trueness.errors import UserError
from trueness.kinds.text.data.dataset import prepare
from trueness.kinds.text.data.datasets import load_text
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.splitting import write_splits
from trueness.kinds.text.data.texts import as_dataset

ROWS = [(f"text number {number} is {'good' if number % 3 else 'bad'}", number % 3 and 1) for number in range(200)]


def dataset(**splits):
    raw = {name: [RawExample(text, label) for text, label in rows] for name, rows in splits.items()}
    return prepare("mine", raw, Preparation(tokeniser="space"))


def texts(part):
    return [" ".join(one.tokens) for one in part]


def test_classes_keep_their_share_and_nothing_is_lost():
    data = with_splits(dataset(reviews=ROWS))
    assert [len(data[split]) for split in ("train", "dev", "test")] == [140, 30, 30]
    for split in ("train", "dev", "test"):
        shares = Counter(one.label for one in data[split])
        assert shares[1] / len(data[split]) == pytest.approx(2 / 3, abs=0.02)
    assert sorted(text for part in data.splits.values() for text in texts(part)) == sorted(text for text, _ in ROWS)
    assert "no split train and dev and test: all examples split anew (train 140, dev 30, test 30)" in data.notes
    assert with_splits(data) is data
    assert texts(with_splits(dataset(reviews=ROWS))["test"]) == texts(data["test"])
    assert texts(with_splits(dataset(reviews=ROWS), seed=1)["test"]) != texts(data["test"])
    assert not {*data.vocabulary.words} >= {
        word for part in data.splits.values() for one in part for word in one.tokens
    }


def test_a_test_split_that_is_there_stays_as_it_is():
    data = with_splits(dataset(train=ROWS[:160], test=ROWS[160:]))
    assert texts(data["test"]) == [text for text, _ in ROWS[160:]]
    assert (len(data["train"]), len(data["dev"])) == (136, 24)
    assert "no split dev: the split train split anew (train 136, dev 24)" in data.notes


def test_the_same_text_is_never_in_two_parts():
    many = [text for text, _ in ROWS[:20]] * 7
    parts = deal(many, [0] * len(many))
    sets = [{many[number] for number in part} for part in parts]
    assert not sets[0] & sets[1]
    assert not sets[0] & sets[2]
    assert not sets[1] & sets[2]
    assert sum(map(len, parts)) == len(many)
    assert deal(["a", "b"], [0, 1]) == [[0, 1], [], []], "a class of one text is learned from"
    with pytest.raises(UserError, match="too few examples for a split dev"):
        with_splits(dataset(all=ROWS[:2]))


def test_tables_and_lists_are_datasets():
    table = pd.DataFrame(ROWS, columns=["review", "sentiment"])
    for source in (table, ROWS, [{"text": text, "label": float(label)} for text, label in ROWS]):
        data = as_dataset(source)
        assert data.classes == ("0", "1")
        assert len(data["all"]) == 200
    both = as_dataset({"train": table[:150], "test": table[150:]})
    assert list(both.splits) == ["train", "test"]
    with pytest.raises(UserError, match="has no labels"):
        as_dataset(["a text", "another"])


def test_splits_are_written(tmp_path):
    file = tmp_path / "reviews.csv"
    pd.DataFrame(ROWS, columns=["review", "sentiment"]).to_csv(file, index=False)
    found = write_splits(file, tmp_path / "split")
    assert found["splits"] == {"train": 140, "dev": 30, "test": 30}
    data = load_text(str(tmp_path / "split"))
    assert {split: len(part) for split, part in data.splits.items()} == found["splits"]
    with pytest.raises(UserError, match="is there already"):
        write_splits(file, tmp_path / "split")
