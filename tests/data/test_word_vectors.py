import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trueness.errors import UserError
from trueness.kinds.text.data.coding import PAD, SPECIAL
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.data.word_vectors import bare_words, check_vectors, fill, load_vectors, note_on

VOCABULARY = Vocabulary((*SPECIAL, "bad", "film", "good"))
WORDS, MATRIX = ["good", "unused", "bad"], np.arange(6, dtype=np.float32).reshape(3, 2)


def files(tmp_path):
    text = tmp_path / "v.txt"
    text.write_text("3 2\n" + "".join(f"{w} {v[0]} {v[1]}\n" for w, v in zip(WORDS, MATRIX, strict=True)))
    np.savez(tmp_path / "v.npz", words="\n".join(WORDS), vectors=MATRIX)
    pd.DataFrame({"word": WORDS, "x": MATRIX[:, 0], "y": MATRIX[:, 1]}).to_parquet(tmp_path / "v.parquet")
    return [text, tmp_path / "v.npz", tmp_path / "v.parquet"]


def test_every_format_gives_the_same_table(tmp_path):
    for path in files(tmp_path):
        table, found = load_vectors(path, VOCABULARY)
        assert found.sum() == 2
        assert table[VOCABULARY.numbers["good"]].tolist() == [0, 1]
        assert table[VOCABULARY.numbers["bad"]].tolist() == [4, 5]
        assert not table[VOCABULARY.numbers["film"]].any()
        assert not table[: len(SPECIAL)].any()


def test_a_note_says_how_much_of_the_texts_is_covered(tmp_path):
    """One frequent word without a vector is not much of a vocabulary, but much of the texts."""
    (path, *_) = files(tmp_path)
    texts = [TextExample(("film", "film", "good", "strange"), 0), TextExample(("film", "bad"), 1)]
    data = TextDataset("d", ("0", "1"), {"dev": texts[1:], "train": texts}, VOCABULARY, Preparation())
    table, found = load_vectors(path, VOCABULARY)
    # Of film, film, good, film and bad; strange is not in the vocabulary.
    wanted = "word vectors v.txt, 2-d: 2 of 8 words found, not those of 60.0% of the tokens (film)"
    assert note_on(path, table, found, data) == wanted
    pairs = TextDataset(
        "d", ("0", "1"), {"train": [replace(texts[0], tokens_b=("bad",) * 4)]}, VOCABULARY, Preparation()
    )
    assert bare_words(found, pairs) == (["film"], pytest.approx(2 / 7))
    found[VOCABULARY.numbers["film"]] = True
    assert note_on(path, table, found, data) == "word vectors v.txt, 2-d: 3 of 8 words found"


def test_a_word_without_a_vector_takes_that_of_its_lower_case_form(tmp_path):
    vocabulary = Vocabulary((*SPECIAL, "Bad", "Film", "good", "GOOD"))
    for path in files(tmp_path):
        table, found = load_vectors(path, vocabulary)
        assert found[len(SPECIAL) :].tolist() == [True, False, True, True]
        assert table[len(SPECIAL) :].tolist() == [[4, 5], [0, 0], [0, 1], [0, 1]]


def test_a_word_with_a_vector_of_its_own_keeps_it(tmp_path):
    np.savez(tmp_path / "v.npz", words="us\nUS", vectors=np.eye(2))
    table, _ = load_vectors(tmp_path / "v.npz", Vocabulary((*SPECIAL, "US", "us", "Us")))
    assert table[len(SPECIAL) :].tolist() == [[0, 1], [1, 0], [1, 0]]


def test_missing_words_by_rule():
    for rule in ("zeros", "normal", "uniform"):
        table = fill(200, 50, missing=rule, seed=1)
        assert not table[PAD].any()
        assert np.array_equal(table, fill(200, 50, missing=rule, seed=1))
    assert fill(200, 50, missing="normal").std() == pytest.approx(1, abs=0.05)
    assert np.abs(fill(200, 50, missing="uniform")).max() <= 0.05


def test_what_is_wrong_is_named(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("good 1 2\nbad 1\n")
    with pytest.raises(UserError, match=r"line 2: 1 numbers, but the first vector has 2"):
        load_vectors(path, VOCABULARY)
    path.write_text("good 1 x\n")
    with pytest.raises(UserError, match="line 1"):
        load_vectors(path, VOCABULARY)
    path.write_text("good 1 nan\n")
    with pytest.raises(UserError, match=r"vector of 'good' .* NaN"):
        load_vectors(path, VOCABULARY)
    path.write_text("\n")
    with pytest.raises(UserError, match="holds no vectors"):
        load_vectors(path, VOCABULARY)
    np.savez(tmp_path / "w.npz", other=MATRIX)
    with pytest.raises(UserError, match="must hold 'words' and 'vectors'"):
        load_vectors(tmp_path / "w.npz", VOCABULARY)
    np.savez(tmp_path / "w.npz", words="good", vectors=MATRIX)
    with pytest.raises(UserError, match="1 words for vectors of shape"):
        load_vectors(tmp_path / "w.npz", VOCABULARY)
    with pytest.raises(UserError, match="There are no word vectors"):
        load_vectors(tmp_path / "none", VOCABULARY)


def test_the_packaged_vectors():
    table, found = load_vectors("glove-6b-50d", VOCABULARY)
    assert found.sum() == 3
    assert table.shape == (8, 50)
    assert table[VOCABULARY.numbers["film"]].any()


@pytest.mark.slow
def test_packaged_vectors_of_length_one():
    plain, found = load_vectors("glove-6b-50d", VOCABULARY)
    unit, _ = load_vectors(Path("glove-6b-50d@unit"), VOCABULARY)
    lengths = np.linalg.norm(plain[found], axis=1)
    assert lengths.min() > 2
    assert np.allclose(unit[found] * lengths[:, None], plain[found], atol=1e-5)
    assert not unit[~found].any()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"words": np.array(WORDS, dtype=object), "vectors": MATRIX}, "does not hold words and their vectors"),
        (
            {"words": np.array(WORDS), "vectors": np.array([["a", "b"]] * 3)},
            "must be a list of text and 'vectors' numbers",
        ),
        ({"words": np.array([1, 2, 3]), "vectors": MATRIX}, "must be a list of text and 'vectors' numbers"),
        ({"words": np.array([WORDS]), "vectors": MATRIX}, "must be a list of text and 'vectors' numbers"),
        ({"words": np.array(WORDS), "vectors": MATRIX[:, :0]}, "3 words for vectors of shape"),
    ],
)
def test_archives_of_other_arrays_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "v.npz", **arrays)
    with pytest.raises(UserError, match=message):
        load_vectors(tmp_path / "v.npz", VOCABULARY)


def test_files_that_are_no_word_vectors(tmp_path):
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as file:
        file.writestr("words.txt", "good")
    np.save(tmp_path / "one.npy", MATRIX)
    (tmp_path / "one.npz").write_bytes((tmp_path / "one.npy").read_bytes())
    (tmp_path / "none.npz").write_bytes(b"PK\x03\x04broken")
    (tmp_path / "none.parquet").write_bytes(b"PAR1broken")
    (tmp_path / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\nmail:x:8:8:The Mail:/var/mail:/bin/sh\n")
    for path in sorted(tmp_path.iterdir()):
        if path.suffix != ".npy":
            for read in (check_vectors, lambda path: load_vectors(path, VOCABULARY)):
                if path.name == "passwd" and read is not check_vectors:
                    continue  # none of its words is looked up
                with pytest.raises(UserError, match=path.name):
                    read(path)
    with pytest.raises(UserError, match="File name too long"):
        load_vectors("a" * 300, VOCABULARY)


def test_files_that_are_word_vectors_pass_the_look(tmp_path):
    for path in files(tmp_path):
        check_vectors(path)
    check_vectors("glove-6b-50d@unit")


def test_columns_of_text_are_no_vectors(tmp_path):
    pd.DataFrame({"word": WORDS, "x": WORDS}).to_parquet(tmp_path / "v.parquet")
    with pytest.raises(UserError, match=r"v\.parquet does not hold words and their numbers"):
        load_vectors(tmp_path / "v.parquet", VOCABULARY)
