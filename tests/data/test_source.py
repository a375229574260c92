from pathlib import Path

import numpy as np
import pytest

from trueness.errors import UserError
from trueness.kinds.text.data.dataset import prepare
from trueness.kinds.text.data.datasets import TEXT_DATASETS
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.source import TextSource, as_source

PLAIN = [RawExample("Good film", 1), RawExample("Bad film", 0)]


def read(thing):
    return as_source(thing, "mine.py:films").read(Path())


@pytest.mark.parametrize(
    "examples",
    [
        PLAIN,
        [("Good film", 1), ["Bad film", 0]],
        [{"text": "Good film", "label": 1, "source": "me"}, {"text": "Bad film", "label": 0, "text_b": None}],
        list(zip(np.array(["Good film", "Bad film"]), np.array([1, 0]), strict=True)),
        [("Good film", 1.0), ("Bad film", np.float64(0))],
    ],
)
def test_an_example_may_be_written_in_several_ways(examples):
    assert read(lambda: {"train": examples, "test": iter(examples)}) == {"train": PLAIN, "test": PLAIN}
    label = read(lambda: {"train": examples})["train"][0].label
    assert type(label) is int


def test_pairs_and_evidence_are_kept():
    written = {"text": "a b c", "label": "x", "text_b": "d", "evidence": [[0, 1], [2, 3]]}
    example = RawExample("a b c", "x", "d", ((0, 1), (2, 3)))
    assert read(lambda: {"train": [written, example]}) == {"train": [example, example]}


def test_a_function_is_prepared_as_a_file_of_ones_own_is():
    source = as_source(lambda: {"train": [("Good film!", "pos"), ("Bad", "neg")]}, "films")
    data = prepare("films", source.read(Path()), source.preparation)
    assert data["train"][0].tokens == ("good", "film", "!")
    assert data.classes == ("neg", "pos")


def test_a_source_says_how_it_is_prepared_and_may_read_a_folder(tmp_path):
    (tmp_path / "text").write_text("Good film")

    def from_folder(folder):
        return {"train": [((folder / "text").read_text(), 1)]}

    given = TextSource(from_folder, Preparation(min_count=3), "films", artificial=True, revision=4)
    source = as_source(given, "films")
    assert source.read(tmp_path) == {"train": PLAIN[:1]}
    assert (source.preparation, source.folder, source.artificial, source.revision) == (
        Preparation(min_count=3),
        "films",
        True,
        4,
    )


@pytest.mark.slow
def test_our_own_datasets_keep_the_contract():
    for name in ("babi-1", "mock-5@vader", "movie-sentences"):
        assert as_source(TEXT_DATASETS[name], name).read(Path()) == TEXT_DATASETS[name].read(Path())


@pytest.mark.parametrize("thing", [None, "films", {"train": PLAIN}, lambda folder: {"train": PLAIN}, dict])
def test_what_is_no_dataset_is_refused(thing):
    with pytest.raises(UserError, match=r"mine.py:films is no dataset: give a TextSource, or a function without"):
        as_source(thing, "mine.py:films")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returns nothing instead of its splits"),
        ({}, "returns nothing instead of its splits"),
        (np.zeros(3), "returns an object of type ndarray instead of its splits"),
        (PLAIN, "returns an object of type list instead of its splits"),
        ({0: PLAIN}, "instead of its splits"),
        ({"train": 3}, "split train: there is an object of type int instead of a list of examples"),
        ({"train": {"text": ["a"], "label": [0]}}, "split train, example 1 is an object of type str"),
        ({"train": [*PLAIN, ("a", 0, "b")]}, "example 3 is an object of type tuple: give a RawExample, a pair"),
        ({"train": PLAIN, "dev": [RawExample(" ", 1)]}, "split dev, example 1: the text is empty"),
        ({"train": [("a", float("nan"))]}, "example 1: the label is missing"),
        ({"train": [("a", np.True_)]}, "example 1: the label is missing"),
        ({"train": [{"text": "a"}]}, "example 1: the label is missing"),
        ({"train": [(b"a", 1)]}, "example 1: the text is not text"),
        ({"train": [RawExample("a b", 1, evidence=((1, 3),))]}, "an evidence span lies outside the 2 tokens"),
    ],
)
def test_what_cannot_be_used_is_named(returned, message):
    with pytest.raises(UserError, match=r"mine.py:films") as error:
        read(lambda: returned)
    assert message in str(error.value)


def test_an_error_of_the_function_itself_is_told_with_its_line():
    def broken(_=None):
        raise ZeroDivisionError

    for thing in (broken, TextSource(broken)):
        with pytest.raises(UserError, match=r"^mine\.py:films failed, test_source\.py line \d+: ZeroDiv") as told:
            read(thing)
        assert isinstance(told.value.__cause__, ZeroDivisionError)
