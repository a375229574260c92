import gzip
import json
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tests.data.rows import checked
from trueness.data.columns import Columns
from trueness.data.labels import match_labels
from trueness.data.table import open_table
from trueness.errors import UserError
from trueness.kinds import check_data
from trueness.kinds.text.data.datasets import load_text, read_folder
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.folder import open_rows
from trueness.kinds.text.data.texts import read_texts

LONG = ("the first rather long text", "the second rather long text")


def write(path, content, code="utf-8"):
    path.write_bytes(content.encode(code) if isinstance(content, str) else content)
    return path


def pairs(found):
    return [(text.text, text.label) for text in found.texts]


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        ("text,label", ("text", None, "label")),
        ("Review Text,Sentiment", ("Review Text", None, "Sentiment")),
        ("id,content,title,rating", ("content", None, "rating")),
        ("text,label,label_text,review", ("text", None, "label")),
        ("premise,hypothesis,gold_label", ("premise", "hypothesis", "gold_label")),
        ("question1,question2,y", ("question1", "question2", "y")),
        ("text,text_b,class", ("text", "text_b", "class")),
        ("sentence,hypothesis,label", ("sentence", None, "label")),
    ],
)
def test_columns_are_guessed_by_their_names(tmp_path, header, chosen):
    names = header.split(",")
    row = {name: name if name in chosen else f"other {number}" for number, name in enumerate(names)}
    file = write(tmp_path / "mine.csv", f"{header}\n{','.join(row.values())}\n")
    (text,) = read_texts(file).texts
    assert (text.text, text.text_b, text.label) == chosen


def test_what_is_guessed_is_said_and_what_is_usual_is_not(tmp_path):
    file = write(tmp_path / "mine.csv", "review,stars\nfine,1\n")
    assert read_texts(file).notes == ("columns: the text from review, the label from stars",)
    assert load_text(str(file)).notes == read_texts(file).notes
    assert check_data(str(file))["notes"] == list(read_texts(file).notes)
    file = write(tmp_path / "usual.csv", "text,label\nfine,1\n")
    assert read_texts(file).notes == load_text(str(file)).notes == ()


def test_the_only_column_of_long_strings_is_the_text():
    table = pd.DataFrame({"id": ["a1", "a2"], "what they said": LONG, "mark": ["good", "bad"]})
    found = read_texts(table)
    assert [text.text for text in found.texts] == list(LONG)
    assert found.notes[0] == "columns: the text from what they said"
    assert found.notes[1].startswith("no column is known to hold labels, of id, mark: label_column names one")
    with pytest.raises(UserError, match=r"the text may be in what they said or reply: choose it with text_column"):
        read_texts(table.assign(reply=LONG[::-1]))


def test_a_question_may_be_the_name_of_the_text(tmp_path):
    question = "What did you think? (free text)"
    rows = "".join(f'{number},"{text}, really",good\n' for number, text in enumerate(LONG))
    found = read_texts(write(tmp_path / "survey.csv", f"id,{question},mood\n{rows}"))
    assert [text.text for text in found.texts] == [f"{text}, really" for text in LONG]
    assert f"columns: the text from {question}" in found.notes
    ticked = pd.DataFrame({"red": ["red", None], "what they said": LONG})
    assert [text.text for text in read_texts(ticked).texts] == list(LONG), "a short name is one, whatever is beside it"


@pytest.mark.parametrize("first", ["a text of many words,good", "a text of many words,1", "a text of many words"])
def test_a_first_row_without_names_is_none_of_them(tmp_path, first):
    rows = [first, *(first.replace("many", word) for word in ("some", "few", "no"))]
    with pytest.raises(UserError, match=r"there is no column text|may be a text"):
        read_texts(write(tmp_path / "mine.csv", "\n".join(rows) + "\n"))


def test_columns_are_chosen(tmp_path):
    file = write(tmp_path / "mine.csv", "review,comment,reply,label,rating\na,b,c,1,5\n")
    (text,) = read_texts(file, text_column="comment", text_b_column="reply", label_column="rating").texts
    assert (text.text, text.text_b, text.label) == ("b", "c", 5)
    (text,) = read_texts(file, text_column="comment", label_column="").texts
    assert text.label is None
    assert list(checked(open_rows(file, Columns("reply")))) == [(2, RawExample("c", 1))]
    assert load_text(str(file), columns=Columns("comment")).splits["mine"][0].tokens == ("b",)


@pytest.mark.parametrize(
    ("header", "asked", "message"),
    [
        ("review,comment,label", {}, "the text may be in review or comment: choose it with text_column"),
        ("text,rating,class", {}, "the label may be in rating or class: choose it with label_column"),
        ("text,label", {"text_column": "txt"}, "there is no column txt; did you mean text"),
        ("text,label", {"label_column": "lable"}, "there is no column lable; did you mean label"),
        ("one,two", {}, "there is no column text; it has one, two .rename it, or choose it with text_column"),
        ("a great film of a long time,1", {}, "there is no column text.*; a table begins with a line of names"),
        (f"{'a great film ' * 9},1", {}, "it has a great film a great film a great film a…, 1 "),
        ("a great film", {}, "a great film may be a text: begin the file with the names"),
        ("text,label,text", {}, "the column text occurs twice"),
        ("", {}, "there is no column text; it is empty"),
    ],
)
def test_what_cannot_be_chosen_is_named(tmp_path, header, asked, message):
    file = write(
        tmp_path / "mine.csv", f"{header}\n{','.join(['some long text of many words'] * 3)}\n" if header else ""
    )
    with pytest.raises(UserError, match=message):
        read_texts(file, **asked)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt"])
@pytest.mark.parametrize(
    ("sign", "word"), [(",", "commas"), (";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")]
)
def test_what_separates_columns_is_found_out(tmp_path, suffix, sign, word):
    content = f'sentence{sign}label\n"with {sign} inside, and ; too"{sign}1\n"two\nlines"{sign}0\n'.encode()
    file = write(tmp_path / f"train{suffix}", gzip.compress(content) if suffix.endswith(".gz") else content)
    found = read_texts(file)
    assert pairs(found) == [(f"with {sign} inside, and ; too", 1), ("two\nlines", 0)]
    expected = "," if suffix.startswith(".csv") else "\t"
    assert any(word in note for note in found.notes) is (sign != expected)
    assert [row for _, row in checked(open_rows(file))] == [RawExample(text, label) for text, label in pairs(found)]


def test_quotes_in_tabbed_files_may_be_signs_like_others(tmp_path):
    file = write(tmp_path / "a.tsv", 'sentence\tlabel\n" an open quote\t1\nplain\t0\na "b" c\t1\n')
    assert pairs(read_texts(file)) == [('" an open quote', 1), ("plain", 0), ('a "b" c', 1)]


def test_one_column_needs_nothing_that_separates(tmp_path):
    assert [text.text for text in read_texts(write(tmp_path / "a.csv", "text\none, two; three\nfour\n")).texts] == [
        "one, two; three",
        "four",
    ]


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_a_txt_file_without_tabs_is_one_text_per_line(tmp_path, suffix):
    content = b'Great, and long; a | b\n\nIt is, well, "open\n  dull\nGreat, and long; a | b\n'
    file = write(tmp_path / f"mine{suffix}", gzip.compress(content) if suffix.endswith(".gz") else content)
    found = read_texts(file)
    assert [text.text for text in found.texts] == ["Great, and long; a | b", 'It is, well, "open', "  dull"]
    assert found.notes == (
        f"mine{suffix}: every line is a text",
        "1 of 4 rows left out: the text stood in a row before",
        "the texts have no labels",
    )
    with pytest.raises(UserError, match="there is no column label; it has text"):
        load_text(str(file))
    with pytest.raises(UserError, match="there is no column nope"):
        read_texts(file, text_column="nope")


def test_lines_that_are_rows_are_not_taken_for_texts(tmp_path):
    rows = [f"a film that took {number} hours;{('bad', 'good')[number % 2]}" for number in range(20)]
    for begin in ([], ["meinung;klasse"]):
        with pytest.raises(UserError, match=r"line 1: semicolons divide every line alike: .* \(text_column\)"):
            read_texts(write(tmp_path / "mine.txt", "\n".join([*begin, *rows])))
    texts = [f"well, number {number}, {'and, ' * (number % 3)}so on" for number in range(20)]
    assert len(read_texts(write(tmp_path / "mine.txt", "\n".join(texts))).texts) == 20


def test_a_txt_file_with_names_of_columns_or_tabs_is_a_table(tmp_path):
    assert pairs(read_texts(write(tmp_path / "a.txt", "Review;Stars\nfine;1\n"))) == [("fine", 1)]
    assert pairs(read_texts(write(tmp_path / "b.txt", "text\nfine, really\n"))) == [("fine, really", None)]
    with pytest.raises(UserError, match="there is no column text; it has one, two"):
        read_texts(write(tmp_path / "c.txt", "one\ttwo\na\tb\n"))
    found = read_texts(write(tmp_path / "d.txt", "café\nüber\n", "cp1252"))
    assert [text.text for text in found.texts] == ["café", "über"]
    file = write(tmp_path / "e.txt", "über\n".encode() + b"caf\xe9\n")
    with pytest.raises(UserError, match=r'row 2: the line is not UTF-8; bad_rows="drop" leaves such rows out'):
        read_texts(file)
    mixed = read_texts(file, bad_rows="drop")
    assert mixed.notes[1] == "1 of 2 rows left out: the line is not UTF-8 (1, first in row 2)"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("cp1252", "Windows-1252, since it is not UTF-8"),
        ("latin-1", "Windows-1252, since it is not UTF-8"),
    ],
)
def test_the_code_of_a_file_is_found_out(tmp_path, code, said):
    found = read_texts(write(tmp_path / "train.csv", "text,label\r\ncafé,1\r\nüber,0\r\n", code))
    assert pairs(found) == [("café", 1), ("über", 0)]
    assert [note for note in found.notes if "read as" in note] == ([f"train.csv: read as {said}"] if said else [])


def test_bytes_without_meaning_on_windows_are_latin_1_and_mixed_files_keep_broken_lines(tmp_path):
    file = write(tmp_path / "train.csv", b"text,label\ncaf\xe9 \x81,1\n")
    assert pairs(read_texts(file)) == [("café \x81", 1)]
    assert "train.csv: read as Latin-1, since it is not UTF-8" in read_texts(file).notes
    file = write(tmp_path / "train.csv", "text,label\nüber,1\n".encode() + b"caf\xe9,0\n")
    assert checked(open_rows(file))[1][1] == "the line is not UTF-8"
    assert pairs(read_texts(file, bad_rows="drop")) == [("über", 1)]
    lines = "\n".join(json.dumps({"text": text, "label": 1}, ensure_ascii=False) for text in ("über", "café"))
    assert pairs(read_texts(write(tmp_path / "a.jsonl", lines, "utf-16"))) == [("über", 1), ("café", 1)]


def test_labels_of_pandas_are_whole_numbers_and_may_be_missing(tmp_path):
    table = pd.DataFrame({"text": list("abcd"), "label": [1.0, 0.0, None, 2.5]})
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    for source in (tmp_path / "a.csv", tmp_path / "a.parquet", table, table.astype(object)):
        found = read_texts(source)
        assert pairs(found) == [("a", 1), ("b", 0), ("c", None), ("d", None)]
        assert all(type(label) is int for label in found.labels)
        assert found.notes[0] == "2 of 4 texts have no label"
        assert found.notes[1].startswith("1 labels count as missing: the label is ")
    assert [row.label for _, row in list(checked(open_rows(tmp_path / "a.csv")))[:2]] == [1, 0]
    assert pairs(read_texts(pd.DataFrame({"text": ["a", "b"], "label": pd.array([1, None], "Int64")})))[1][1] is None
    assert pairs(read_texts(pd.DataFrame({"text": ["a"], "label": [True]}))) == [("a", 1)]


GAPS = "text,label\nNaN,pos\n nan ,neg\nNone,pos\nNULL,pos\nnull,neg\nN/A,pos\n"


def test_what_other_programs_write_for_nothing_is_missing(tmp_path):
    rows = "a,nan\nb, NaN \nc,NULL\nd,null\ne,N/A\nf,\ng,None\nNone of it,pos\nNaNs,nano\n"
    file = write(tmp_path / "a.csv", GAPS + rows)
    found = read_texts(file)
    assert pairs(found) == [
        *((text, None) for text in "abcdef"),
        ("g", "None"),
        ("None of it", "pos"),
        ("NaNs", "nano"),
    ]
    assert found.notes == (
        "6 of 15 rows left out: the text is missing (6, first in row 2)",
        "6 of 9 texts have no label, 5 of them since it is nan or NaN or NULL or null or N/A",
    )
    assert "a.csv: 6 of 15 rows left out: the text is missing (6, first in row 2)" in load_text(str(file)).notes
    assert check_data(str(file))["bad_rows"] == []
    write(tmp_path / "b.csv", "text,label\n" + rows)
    data = load_text(str(tmp_path / "b.csv"))
    assert data.classes == ("None", "nano", "pos")
    assert "b.csv: 6 rows without a label were left out, 5 of them since it is nan or NaN or NULL or null or N/A" in (
        data.notes
    )
    write(tmp_path / "c.csv", "text,label\na,nan\nb,nan\n")
    assert read_texts(tmp_path / "c.csv").notes == ("the texts have no labels, 2 of them since it is nan",)
    with pytest.raises(UserError, match=r"c\.csv has no labels, 2 of them since it is nan; label_column names"):
        load_text(str(tmp_path / "c.csv"))


def test_a_second_text_may_be_missing_and_other_files_say_what_they_mean(tmp_path):
    found = read_texts(write(tmp_path / "a.csv", "premise,hypothesis,label\na,b,1\nc,N/A,0\n"))
    assert found.notes[-1] == "1 of 2 rows left out: the text is missing (1, first in row 3)"
    rows = [{"text": "NaN", "label": "null"}]
    assert pairs(read_texts(rows)) == [("NaN", "null")]
    file = write(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert pairs(read_texts(file)) == [("NaN", "null")]


def test_a_paper_s_corpus_keeps_what_its_code_read(tmp_path):
    write(tmp_path / "train.csv", GAPS + "a,nan\n")
    texts = ["NaN", " nan ", "None", "NULL", "null", "N/A", "a"]
    assert [one.text for one in read_folder(tmp_path)["train"]] == texts
    assert read_folder(tmp_path)["train"][-1].label == "nan"


@pytest.mark.slow
def test_what_is_left_out_is_counted_in_few_words():
    rows = [("fine", 1), (" ", 0), ("fine", 0), (None, 1), (7, 1), *[("", 1)] * 200_000, ("fine", 1)]
    with pytest.raises(UserError, match=r"row 5: the text is not text \(7\)"):
        read_texts(rows)
    found = read_texts(rows, bad_rows="drop")
    assert pairs(found) == [("fine", 1)]
    assert found.notes == (
        "200,003 of 200,006 rows left out: the text is empty (200,002, first in row 2); "
        "the text is not text (1, first in row 5)",
        "2 of 200,006 rows left out: the text stood in a row before, 1 of them with another label",
    )
    with pytest.raises(
        UserError, match=r"3 texts holds no text that can be used: the text is empty \(3, first in row 1\)"
    ):
        read_texts(["", " ", None])


def test_a_pair_without_its_second_text_is_left_out(tmp_path):
    found = read_texts(write(tmp_path / "a.csv", "premise,hypothesis,label\na,b,1\nc,,0\n"))
    assert found.pairs
    assert pairs(found) == [("a", 1)]
    assert found.notes[-1] == "1 of 2 rows left out: there is no second text (1)"


def test_of_a_folder_the_split_to_look_at_is_read(tmp_path):
    for split in ("train", "dev", "test"):
        write(tmp_path / f"{split}.csv", f"text,label\n{split},1\n")
    assert pairs(read_texts(tmp_path)) == [("test", 1)]
    assert pairs(read_texts(tmp_path, split="train")) == [("train", 1)]
    with pytest.raises(UserError, match="has no split 'tset'; did you mean test"):
        read_texts(tmp_path, split="tset")
    (tmp_path / "test.csv").unlink()
    assert pairs(read_texts(str(tmp_path))) == [("dev", 1)]
    (tmp_path / "dev.csv").unlink()
    found = read_texts(tmp_path)
    assert pairs(found) == [("train", 1)]
    assert found.notes == ("texts of the split train; a model that was trained on them knows them",)
    write(tmp_path / "train.tsv", "text\tlabel\nother\t1\n")
    assert pairs(read_texts(tmp_path)) == [("train", 1)], "as before there were files with tabs"


class Dataset(list):
    """Stands for a `datasets.Dataset`."""

    @property
    def column_names(self):
        return list(self[0])

    @property
    def features(self):
        return {"label": SimpleNamespace(names=["neg", "pos"])}


def test_tables_and_lists_in_memory():
    rows = [{"sentence": "good", "label": 1}, {"sentence": "bad", "label": 0}]
    expected = [("good", 1), ("bad", 0)]
    for source in (pd.DataFrame(rows), Dataset(rows), rows, [tuple(row.values()) for row in rows]):
        assert pairs(read_texts(source)) == expected
    assert pairs(read_texts([RawExample("good", 1), ("bad", np.int64(0))])) == expected
    assert pairs(read_texts({"train": rows[:1], "validation": Dataset(rows)})) == expected
    assert pairs(read_texts(Dataset([{"text": "a", "label": -1}]))) == [("a", None)]
    for texts in (["good", "bad"], np.array(["good", "bad"]), pd.Series(["good", "bad"])):
        assert pairs(read_texts(texts)) == [("good", None), ("bad", None)]
        assert read_texts(texts).notes == ("the texts have no labels",)


def test_a_registered_dataset_has_the_labels_of_its_preparation():
    found = read_texts("movie-sentences")
    assert {label for _, label in pairs(found)} == {"negative", "positive"}
    assert found.notes[0] == "texts of the split test"
    with pytest.raises(UserError, match="has no columns to choose from"):
        read_texts("movie-sentences", text_column="text")


@pytest.mark.parametrize("source", [None, 3, {"a": 1}, b"text", [("a", 1, 2)], [], pd.DataFrame({"text": []})])
def test_what_holds_no_texts_is_refused(source):
    with pytest.raises(UserError):
        read_texts(source)


def test_a_mistyped_file_is_told_the_nearest(tmp_path, monkeypatch):
    write(tmp_path / "reviews.csv", "text,label\na,1\n")
    monkeypatch.chdir(tmp_path)
    for look in (read_texts, load_text, check_data):
        with pytest.raises(UserError, match=r"'review.csv'; did you mean reviews\.csv"):
            look("review.csv")
        with pytest.raises(UserError, match=r"'qqqqqqq'; `trueness list dataset` names the datasets"):
            look("qqqqqqq")


@pytest.mark.parametrize(
    ("labels", "classes", "expected", "said"),
    [
        (["neg", "pos", None], ("neg", "pos"), {"neg": 0, "pos": 1}, ""),
        ([1, 0], ("0", "1"), {0: 0, 1: 1}, ""),
        ([5, 4], ("4", "5"), {4: 0, 5: 1}, ""),
        (["POSITIVE"], ("negative", "positive"), {"POSITIVE": 1}, "capitals"),
        (["very_good", "So-So"], ("so so", "Very Good"), {"very_good": 1, "So-So": 0}, "capitals"),
        ([1, "0"], ("negative", "positive"), {1: 1, "0": 0}, "0 is negative, 1 is positive"),
        (["1.0"], ("negative", "positive"), {"1.0": 1}, "numbers of the classes"),
        ([0, 1], ("LABEL_1", "LABEL_0"), {0: 1, 1: 0}, "0 is LABEL_0"),
        (["LABEL_1"], ("negative", "positive"), {"LABEL_1": 1}, "numbers of the classes"),
        ([None], ("a", "b"), {}, ""),
    ],
)
def test_labels_find_their_classes(labels, classes, expected, said):
    found = match_labels(labels, classes)
    assert found.classes == expected
    assert (said in found.note) if said else found.note == ""


@pytest.mark.parametrize(
    ("labels", "classes"),
    [([1, 2], ("a", "b")), ([-1], ("a", "b")), (["pos"], ("0", "1")), ([0], ("1", "2")), (["a", "c"], ("a", "b"))],
)
def test_labels_without_a_class_are_refused_with_both_sets(labels, classes):
    with pytest.raises(UserError) as error:
        match_labels(labels, classes)
    said = str(error.value)
    assert all(str(name) in said for name in (*labels, *classes))
    assert "rename the labels" in said
    with pytest.raises(UserError) as error:
        match_labels(range(1000), classes)
    assert len(str(error.value)) < 300


def test_parquet_that_says_to_hold_far_more_than_it_can_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    batch = pa.record_batch({"text": pa.array(["a good film"] * (1 << 20)), "label": pa.array([1] * (1 << 20))})
    with pq.ParquetWriter(tmp_path / "a.parquet", batch.schema, compression="zstd") as writer:
        for _ in range(50):
            writer.write_batch(batch)
    assert (tmp_path / "a.parquet").stat().st_size < 1 << 20
    with pytest.raises(UserError, match=r"bytes are said to hold 104,857,600 cells"):
        open_table(tmp_path / "a.parquet")


def test_rows_of_parquet_are_read_in_parts(tmp_path):
    pd.DataFrame({"text": [f"film {i}" for i in range(10_000)], "label": range(10_000)}).to_parquet(
        tmp_path / "a.parquet"
    )
    table = open_table(tmp_path / "a.parquet")
    for _ in range(2):
        rows = list(table.read())
        assert [number for number, _ in rows] == list(range(1, 10_001))
        assert rows[9_999][1] == {"text": "film 9999", "label": 9999}


def test_many_columns_take_little_time(tmp_path):
    names = ["text", "label", *(f"c{number}" for number in range(60_000))]
    (tmp_path / "a.csv").write_text(f"{','.join(names)}\n{','.join(['a good film'] * len(names))}\n")
    begin = time.process_time()
    assert len(open_table(tmp_path / "a.csv").names) == len(names)
    assert time.process_time() - begin < 10


def bomb(path, texts, rows):
    """A parquet file of a few KB: one text a row, from a list of few."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = pa.array(np.arange(rows) % len(texts), pa.int32())
    columns = {"text": pa.DictionaryArray.from_arrays(numbers, texts), "label": pa.array([1] * rows)}
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


@pytest.mark.parametrize(
    ("texts", "rows", "message"),
    [
        (["a good film " * 8000], 60_000, r"has [\d,]+ bytes and becomes more than"),
        (["a good film " * 80], 900_000, r"has [\d,]+ bytes and becomes more than"),
        (["x" * (65 << 20)], 1, r"a cell of it has 68,157,440 bytes|are said to hold"),
    ],
)
def test_a_small_parquet_file_does_not_fill_memory(tmp_path, texts, rows, message):
    file = bomb(tmp_path / "a.parquet", texts, rows)
    assert file.stat().st_size < 1 << 20
    begin = time.monotonic()
    with pytest.raises(UserError, match=message):
        for _ in open_table(file).read():
            pass
    assert time.monotonic() - begin < 20


def test_equal_texts_in_parquet_are_fine(tmp_path):
    found = [
        row["text"] for _, row in open_table(bomb(tmp_path / "a.parquet", ["one film", "two films"], 10_000)).read()
    ]
    assert found[:3] == ["one film", "two films", "one film"]
    assert len(found) == 10_000


@pytest.mark.parametrize("code", ["utf-8", "cp1252"])
def test_a_small_gzip_file_does_not_fill_memory(tmp_path, code, monkeypatch):
    monkeypatch.setattr("trueness.data.lines.GROWN", 1 << 20)
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress("text,label\ncafé au lait,1\n".encode(code) + b"a good film,1\n" * 200_000))
    with pytest.raises(UserError, match=r"a.csv.gz has [\d,]+ bytes and becomes more than"):
        for _ in open_table(file).read():
            pass


def test_more_columns_than_any_table_has_are_refused_at_once(tmp_path):
    names = [f"c{number}" for number in range(400_000)]
    (tmp_path / "a.csv").write_text(",".join(["text", "label", *names]) + "\n")
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "a", "label": 1, **dict.fromkeys(names, 1)}))
    for file in ("a.csv", "a.jsonl"):
        begin = time.monotonic()
        with pytest.raises(UserError, match="has 400,002 columns, more than 100,000"):
            open_table(tmp_path / file)
        assert time.monotonic() - begin < 5
