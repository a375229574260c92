import gzip
import itertools
import json

import pytest

from trueness.errors import UserError
from trueness.kinds.text.data.coding import BEGIN, END, SPECIAL, UNKNOWN
from trueness.kinds.text.data.dataset import prepare
from trueness.kinds.text.data.datasets import TEXT_DATASETS, load_text
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.preparation import Preparation, tokenise


def raw(*texts, label=0):
    return [RawExample(text, label) for text in texts]


def lengths(part):
    return [len(example.tokens) for example in part]


def test_tokenisers():
    text = "Don't stop-it, 7th TIME!"
    assert tokenise(text, Preparation()) == ["Don't", "stop-it,", "7th", "TIME!"]
    assert tokenise(text, Preparation(tokeniser="words")) == ["Don't", "stop", "-", "it", ",", "7th", "TIME", "!"]
    assert tokenise(text, Preparation(tokeniser="letters", lowercase=True)) == ["don", "t", "stop", "it", "7th", "time"]
    assert tokenise(text, Preparation(tokeniser="words", digits="qqq"))[5] == "qqq"


def test_length_limits_are_strict_and_the_longest_of_each_split_can_go():
    splits = {"train": raw("a", "a a", "a a a", "a a a a", "a a a a"), "test": raw("a a", "a a a", "a a a a a")}
    kept = prepare("d", splits, Preparation(above=1, drop_longest=True))
    assert lengths(kept["train"]) == [2, 3]
    assert lengths(kept["test"]) == [2, 3]
    assert lengths(prepare("d", splits, Preparation(below=4, drop_shortest=True))["train"]) == [2, 3]
    assert kept.notes == ("4 of 8 examples left out because of their length",)


def test_the_vocabulary_is_made_before_the_length_limits_and_of_the_training_split_only():
    splits = {"train": raw("rare", "b b b", "b c c"), "test": raw("d d d")}
    data = prepare("d", splits, Preparation(above=2))
    assert data.vocabulary.words == (*SPECIAL, "b", "c", "rare")
    assert prepare("d", splits, Preparation(above=2, min_count=2)).vocabulary.words == (*SPECIAL, "b")
    assert data.vocabulary.encode(["b", "d"]) == [BEGIN, 5, UNKNOWN, END]
    assert [data.vocabulary.words[number] for number in (5, UNKNOWN)] == ["b", "[UNKNOWN]"]


def test_classes_are_numbered_in_order():
    splits = {"train": [RawExample("a", 10), RawExample("a", 9)], "test": [RawExample("a", 9)]}
    assert prepare("d", splits, Preparation()).classes == ("9", "10")
    named = {"train": [RawExample("a", "world"), RawExample("a", "business"), RawExample("a", "sports")]}
    data = prepare("d", named, Preparation(classes=("world", "business")))
    assert [example.label for example in data["train"]] == [0, 1]
    merged = prepare("d", named, Preparation(merge={"world": "x", "sports": "x"}))
    assert [example.label for example in merged["train"]] == [0, 0]


def test_a_label_unknown_to_training_and_an_empty_split_are_errors():
    with pytest.raises(UserError, match="split test: the label '2' does not occur"):
        prepare("d", {"train": raw("a"), "test": raw("a", label=2)}, Preparation())
    with pytest.raises(UserError, match="the split test is empty"):
        prepare("d", {"train": raw("a a a"), "test": raw("a")}, Preparation(above=2))
    with pytest.raises(UserError, match="has no split 'dev', only train"):
        prepare("d", {"train": raw("a")}, Preparation())["dev"]


def test_the_split_default_split_is_test_or_the_only_one():
    both = prepare("d", {"train": raw("a b"), "test": raw("a")}, Preparation())
    assert both.default_split() == both["test"]
    assert both.default_split("train") == both["train"]
    alone = prepare("d", {"mine": raw("a")}, Preparation())
    assert alone.default_split() == alone["mine"]
    with pytest.raises(UserError, match="has no split 'test', only train, dev"):
        prepare("d", {"train": raw("a b"), "dev": raw("a")}, Preparation()).default_split()


def test_a_development_split_is_set_aside_once_and_for_all():
    splits = {"train": [RawExample(f"w{i}", i % 2) for i in range(100)]}
    data = prepare("d", splits, Preparation(dev_share=0.15, dev_seed=3))
    assert (len(data["train"]), len(data["dev"])) == (85, 15)
    assert not set(data["train"]) & set(data["dev"])
    assert prepare("d", splits, Preparation(dev_share=0.15, dev_seed=3))["dev"] == data["dev"]


def test_evidence_becomes_one_mark_per_token():
    splits = {"train": [RawExample("a b c d", 0, evidence=((1, 3),))]}
    assert prepare("d", splits, Preparation())["train"][0].evidence == (False, True, True, False)


def corpus(folder, name, splits):
    (folder / name).mkdir()
    for split, rows in splits.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name / f"{split}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))


def test_a_paper_s_corpus_is_read_from_the_data_root(tmp_path, monkeypatch):
    rows = [{"text": " ".join(["w"] * n), "label": n % 2} for n in range(3, 12)]
    corpus(tmp_path, "sst", {"train": rows, "dev": rows, "test": rows})
    assert lengths(load_text("sst@jw2019", root=tmp_path)["train"]) == [
        6,
        7,
        8,
        9,
        10,
    ]  # strictly between 5 and the longest
    monkeypatch.setenv("TRUENESS_DATA", str(tmp_path))
    assert lengths(load_text("sst@attefa2022")["test"]) == list(range(3, 12))
    monkeypatch.delenv("TRUENESS_DATA")
    with pytest.raises(UserError, match="set TRUENESS_DATA to the folder in which sst/ lies"):
        load_text("sst@jw2019")
    with pytest.raises(UserError, match="which is not there"):
        load_text("imdb@jw2019", root=tmp_path)


def test_sentiment_trees(tmp_path):
    folder = tmp_path / "sst-trees"
    folder.mkdir()
    trees = (
        "(3 (2 A) (3 (3 good) (2 (2 (2 film) (2 with)) (2 (2 1999) (2 .)))))\n(2 (2 So) (2 so))\n(0 (1 Bad) (2 one))\n"
    )
    for split in ("train", "dev", "test"):
        (folder / f"{split}.txt.gz").write_bytes(gzip.compress(trees.encode()))
    data = load_text("sst@court2022", root=tmp_path)
    assert [(example.tokens, example.label) for example in data["train"]] == [
        (("A", "good", "film", "with", "1999", "."), 1),
        (("Bad", "one"), 0),
    ]
    assert load_text("sst@madsen2022", root=tmp_path)["test"][0].tokens[4] == "[DIGITS]"
    (folder / "dev.txt.gz").write_bytes(gzip.compress(b"(9 no tree)\n"))
    with pytest.raises(UserError, match="line 1 is not a sentiment tree"):
        load_text("sst@court2022", root=tmp_path)


def test_a_folder_of_your_own(tmp_path):
    corpus(tmp_path, "mine", {"train": [{"text": "Fine film.", "label": "pos"}, {"text": "No.", "label": "neg"}]})
    data = load_text(str(tmp_path / "mine"))
    assert data["train"][0].tokens == ("fine", "film", ".")
    assert data.classes == ("neg", "pos")
    corpus(tmp_path, "bad", {"train": [{"text": "", "label": 1}]})
    with pytest.raises(UserError, match=r"train.jsonl.gz holds no text that can be used: the text is empty \(1"):
        load_text(str(tmp_path / "bad"))
    with pytest.raises(UserError, match="did you mean mock-1"):
        load_text("mock-1x")


def test_package_datasets():
    data = load_text("movie-sentences")
    assert sum(len(part) for part in data.splits.values()) > 8000
    texts = [{example.tokens for example in data[split]} for split in ("train", "test")]
    assert len(texts[0] & texts[1]) <= 3  # the same words after lower-casing


def test_every_name_is_described():
    assert all(TEXT_DATASETS.describe(name) for name in TEXT_DATASETS)


def test_texts_can_be_cut():
    raw = {"train": [RawExample("a b c d e", 0, evidence=((1, 2), (3, 5))), RawExample("f g", 1)]}
    data = prepare("cut", raw, Preparation(first=4))
    assert [example.tokens for example in data["train"]] == [("a", "b", "c", "d"), ("f", "g")]
    assert data["train"][0].evidence == (False, True, False, True)


@pytest.mark.parametrize(
    ("tokeniser", "marked"), [("space", "isn't bad!"), ("words", "isn't bad !"), ("letters", "isn t bad")]
)
def test_evidence_is_counted_in_words_between_spaces_whatever_the_tokeniser(tokeniser, marked):
    raw = {"train": [RawExample("Well, it isn't - truly - bad!", 0, evidence=((2, 3), (6, 7)))]}
    (example,) = prepare("d", raw, Preparation(tokeniser=tokeniser))["train"]
    assert " ".join(itertools.compress(example.tokens, example.evidence)) == marked


@pytest.mark.parametrize(
    "change", [{"tokeniser": "x"}, {"lowercase": "yes"}, {"above": -1}, {"dev_share": 1.5}, {"first": "3"}]
)
def test_nonsense_in_a_preparation_is_refused(change):
    with pytest.raises(UserError, match=f"The preparation of a dataset: {next(iter(change))} "):
        Preparation(**change)
