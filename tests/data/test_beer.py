import gzip

import pytest

from trueness.errors import UserError
from trueness.kinds.text.data.datasets import load_text


def write(folder, lines):
    (folder / "beer").mkdir(exist_ok=True)
    with gzip.open(folder / "beer" / "reviews.aspect0.train.txt.gz", "wt") as file:
        file.write("\n".join(lines))


def test_good_and_bad_looks_are_read_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("trueness.kinds.text.data.beer.SIZES", {"train": 2, "dev": 1, "test": 1})
    looks = [0.9, 0.2, 0.6, 1.0, 0.3, 0.9, 0.1, 0.95, 0.25]
    write(tmp_path, [f"{look} 0.5 0.5 0.5 0.5\tpours a beer {number}" for number, look in enumerate(looks)])
    data = load_text("beer@zhou2022", root=tmp_path)
    shown = {split: [(one.label, one.tokens[-1]) for one in part] for split, part in data.splits.items()}
    assert shown == {
        "train": [(0, "1"), (0, "4"), (1, "0"), (1, "3")],
        "dev": [(0, "6"), (1, "5")],
        "test": [(0, "8"), (1, "7")],
    }


def test_bad_files_are_named(tmp_path):
    (tmp_path / "beer").mkdir()
    with pytest.raises(UserError, match=r"has no file reviews\.aspect0\.train\.txt"):
        load_text("beer@zhou2022", root=tmp_path)
    write(tmp_path, ["0.9 0.5\tgood beer", "no scores here"])
    with pytest.raises(UserError, match="line 2: expected scores, a tab, and a review"):
        load_text("beer@zhou2022", root=tmp_path)
    write(tmp_path, ["0.9 0.5\tgood beer"])
    with pytest.raises(UserError, match="too few good and bad reviews for a split train"):
        load_text("beer@zhou2022", root=tmp_path)


def test_another_corpus_in_their_place_is_as_large(tmp_path, monkeypatch):
    (tmp_path / "imdb").mkdir()
    for split, labels in (("train", [1, 1, 0, 1, 0, 0]), ("dev", [0, 0, 1]), ("test", [0, 1])):
        rows = "".join(f"{label},film {number}\n" for number, label in enumerate(labels))
        (tmp_path / "imdb" / f"{split}.csv").write_text("label,text\n" + rows)
    monkeypatch.setattr("trueness.kinds.text.data.beer.SIZES", {"train": 2, "dev": 1, "test": 1})
    data = load_text("imdb@zhou2022", root=tmp_path)
    shown = {split: [(one.label, one.tokens[-1]) for one in part] for split, part in data.splits.items()}
    assert shown == {
        "train": [(1, "0"), (1, "1"), (0, "2"), (0, "4")],
        "dev": [(0, "0"), (1, "2")],
        "test": [(0, "0"), (1, "1")],
    }
