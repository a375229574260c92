import contextlib
import gzip
import json

import pandas as pd
import pytest

from tests.data.rows import checked
from trueness.errors import UserError
from trueness.kinds import check_data, read_data
from trueness.kinds.text.data.datasets import load_text
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.folder import find_splits, open_rows

GOOD = [{"text": "a good film", "label": 1}, {"text": "a bad film", "label": 0}, {"text": "so so", "label": 0}]


def write(path, rows):
    if path.name.endswith(".parquet"):
        pd.DataFrame(rows).to_parquet(path)
    elif path.name.endswith(".csv"):
        pd.DataFrame(rows).to_csv(path, index=False)
    elif path.name.endswith(".gz"):
        path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".csv", ".parquet"])
def test_every_format_reads_the_same(tmp_path, suffix):
    rows = list(checked(open_rows(write(tmp_path / f"train{suffix}", GOOD))))
    assert [row for _, row in rows] == [RawExample(row["text"], row["label"]) for row in GOOD]


def test_a_clean_folder(tmp_path):
    write(tmp_path / "train.jsonl", GOOD)
    write(tmp_path / "test.csv", [{"text": "fine", "label": 1}, {"text": "awful", "label": 0}])
    found = check_data(str(tmp_path))
    assert found["usable"]
    assert found["splits"]["train"]["classes"] == {"0": 2, "1": 1}
    assert found["splits"]["train"]["words"] == {"fewest": 2, "median": 3, "most": 3}
    assert found["leakage"] == []


def test_duplicates_contradictions_leakage_and_unseen_classes(tmp_path):
    write(tmp_path / "train.jsonl", [*GOOD, GOOD[0], {"text": "so so", "label": 1}])
    write(tmp_path / "test.jsonl", [{"text": "new", "label": 2}, GOOD[1]])
    found = check_data(str(tmp_path))
    assert found["splits"]["train"]["duplicates"] == 2
    assert found["splits"]["train"]["contradictory"] == 1
    assert found["leakage"] == [{"from": "train", "into": "test", "rows": 1, "first_rows": [2]}]
    assert found["classes_not_in_train"] == {"test": ["2"]}


def test_each_bad_row_by_number(tmp_path):
    lines = [
        json.dumps(GOOD[0]).encode(),
        b"{not json",
        b'{"text": "caf\xe9", "label": 1}',
        b'{"text": "  ", "label": 1}',
        b'{"label": 1}',
        b'{"text": "no label"}',
        b'{"text": "odd label", "label": [1]}',
        b'{"text": "a", "text_b": "", "label": 1}',
        b"[1]",
        b"",
        b'{"text": "half", "label": 0.5}',
        b'{"text": "whole", "label": 1.0}',
    ]
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = check_data(str(path))
    assert not found["usable"]
    assert [bad["row"] for bad in found["bad_rows"]] == [2, 3, 7, 8, 9, 11]
    told = "the text is empty (1, first in row 4); there is no text (1, first in row 5)"
    assert f"data.jsonl: 2 of 11 rows left out: {told}" in found["notes"]
    assert "data.jsonl: 1 rows without a label were left out" in found["notes"]
    assert found["splits"]["data"]["rows"] == 2
    problems = " ".join(bad["problem"] for bad in found["bad_rows"])
    for words in ("not JSON", "not UTF-8", "label is missing", "text_b", "JSON object"):
        assert words in problems


def test_bad_csv(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("text,label\nfine,1\nfine,1,extra\n,0\n")
    assert list(checked(open_rows(path)))[1:] == [
        (3, "the row has more fields than the header"),
        (4, "the text is empty"),
    ]
    path.write_text('text,label\n"left open,1\nfine,0\n')
    assert list(checked(open_rows(path))) == [
        (3, "a quote in the row that begins in line 2 is left open to the end of the file")
    ]
    path.write_text('label,text\n1,"left open\n0,fine\n')
    assert [row for _, row in checked(open_rows(path))] == [
        "a quote in the row that begins in line 2 is left open to the end of the file"
    ], "also where the row has all its fields"
    path.write_text('text,label\n"two\nlines",1,"x"\nfine,0\n')
    assert checked(open_rows(path))[0] == (
        3,
        "the row has more fields than the header (it spans lines 2 to 3: is a quote left open?)",
    )
    path.write_text('label,text\n0,fine\n1,"closed\nat the end"')
    assert [row.text for _, row in checked(open_rows(path))] == ["fine", "closed\nat the end"]
    path.write_text("text,label\nfine,2.5\n")
    assert list(checked(open_rows(path))) == [
        (2, "the label is a number that is not whole, or not written as 7 or -7 are ('2.5')")
    ]
    path.write_text("text,label,text\nfine,1,x\n")
    with pytest.raises(UserError, match="the column text occurs twice"):
        list(checked(open_rows(path)))
    path.write_text("words,label\nfine,1\n")
    with pytest.raises(UserError, match=r"train.csv, line 1: there is no column text; it has words, label"):
        list(checked(open_rows(path)))


def test_a_quoted_line_break_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "train.csv"
    path.write_bytes('\ufefftext,label\n"two\nlines",pos\n'.encode())
    assert list(checked(open_rows(path))) == [(3, RawExample("two\nlines", "pos"))]


def test_unreadable_files_and_folders(tmp_path):
    with pytest.raises(UserError, match="no dataset, file or folder"):
        check_data(str(tmp_path / "none"))
    with pytest.raises(UserError, match="did you mean roar-synthetic"):
        check_data("roar-syntetic")
    with pytest.raises(UserError, match="holds none of"):
        check_data(str(tmp_path))
    (tmp_path / "train.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(UserError, match="gzip"):
        check_data(str(tmp_path))
    (tmp_path / "train.jsonl.gz").unlink()
    (tmp_path / "train.parquet").write_bytes(b"no parquet")
    with pytest.raises(UserError, match="parquet"):
        check_data(str(tmp_path))
    write(tmp_path / "train.csv", GOOD)
    with pytest.raises(UserError, match="twice"):
        find_splits(tmp_path)
    (tmp_path / "notes.doc").write_text("")
    with pytest.raises(UserError, match=r"none of \.jsonl"):
        check_data(str(tmp_path / "notes.doc"))
    pd.DataFrame({"text": ["a"]}).to_parquet(tmp_path / "only.parquet")
    with pytest.raises(UserError, match="there is no column label; it has text"):
        check_data(str(tmp_path / "only.parquet"))


def test_an_empty_split_is_not_usable(tmp_path):
    write(tmp_path / "train.jsonl", GOOD)
    (tmp_path / "dev.jsonl").write_text("")
    found = check_data(str(tmp_path))
    assert found["empty_splits"] == ["dev"]
    assert not found["usable"]


def test_a_generated_dataset():
    found = check_data("roar-synthetic")
    assert (found["features"], found["splits"]["train"]["rows"]) == (16, 10000)
    assert found["evidence"] == 4


@pytest.mark.parametrize("evidence", ["zzz", [[0, 9]], [[1, 1]], [1], [[0, 1, 2]]])
def test_bad_evidence_is_a_bad_row(tmp_path, evidence):
    path = write(tmp_path / "train.jsonl", [{"text": "two words", "label": 1, "evidence": evidence}])
    ((_, problem),) = checked(open_rows(path))
    assert isinstance(problem, str)
    assert "evidence" in problem


def test_good_evidence_is_read(tmp_path):
    path = write(tmp_path / "train.jsonl", [{"text": "two words", "label": 1, "evidence": [[0, 1]]}])
    assert [row.evidence for _, row in checked(open_rows(path))] == [((0, 1),)]


def test_a_text_dataset_by_name():
    found = check_data("babi-1")
    assert found["splits"]["test"]["rows"] == 1000
    assert found["vocabulary"] == 25


@pytest.mark.parametrize("label", ["²", "٧", "007", "-0", "+7", "9" * 5000, "1e999", "1_000", " 7", "1.5"])
def test_numbers_of_csv_are_written_in_one_way(tmp_path, label):
    """007 and ٧ would become 7, and two classes one; ² and 5,000 digits cannot be read as a number at all."""
    path = tmp_path / "train.csv"
    path.write_text(f"text,label\nfine,7\nfine,{label}\n")
    (_, good), (_, bad) = checked(open_rows(path))
    assert good.label == 7
    assert bad.startswith("the label is ")


def test_labels_of_one_name_are_one_class(tmp_path):
    write(
        tmp_path / "train.jsonl", [{"text": "a", "label": 7}, {"text": "b", "label": "7"}, {"text": "c", "label": "x"}]
    )
    assert load_text(str(tmp_path)).classes == ("7", "x")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[" * 5000, "not JSON"),
        ('{"text": "a", "label": ' + "9" * 5000 + "}", "not JSON"),
        ('{"text": "a", "label": 1e999}', "label is missing or neither"),
        ('{"text": "a", "label": 1e300}', "more than 64 bits"),
        ('{"text": "a", "label": " "}', "label is missing or neither"),
        ('{"text": "a \\ud800", "label": 1}', "half a character"),
        ('{"text": "a", "text_b": "\\udfff", "label": 1}', "half a character"),
        ('{"text": "a", "label": "\\ud800"}', "half a character"),
        ('{"text": ' + "[" * 900 + "]" * 900 + ', "label": 1}', "the text is not text"),
        ('{"text": "two words", "label": 1, "evidence": [[0.5, 1.9]]}', "two whole numbers"),
        ('{"text": "two words", "label": 1, "evidence": [[false, true]]}', "two whole numbers"),
        ('{"text": "two words", "label": 1, "evidence": "' + "[" * 5000 + '"}', "two whole numbers"),
        ('{"text": "two words", "label": 1, "evidence": {"ab": 1}}', "two whole numbers"),
    ],
)
def test_hostile_json_is_a_bad_row(tmp_path, line, problem):
    path = tmp_path / "train.jsonl"
    path.write_text(line)
    ((_, found),) = checked(open_rows(path))
    assert isinstance(found, str)
    assert problem in found
    assert len(found) < 400


def test_long_cells_and_lone_carriage_returns(tmp_path):
    path = tmp_path / "train.csv"
    path.write_bytes(b"text,label\n" + b"w " * 200_000 + b",1\na\rb,1\nfine,0\n")
    long, bad, good = checked(open_rows(path))
    assert len(long[1].text) == 400_000
    assert bad == (3, "a line ends in a carriage return alone; save the file with the line ends of Unix or Windows")
    assert good == (4, RawExample("fine", 0))
    path.write_bytes(b"text,label\rfine,1\r")
    with pytest.raises(UserError, match="line 1: a line ends in a carriage return alone"):
        list(checked(open_rows(path)))


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("trueness.data.lines.LONGEST_LINE", 1000)
    path = tmp_path / "train.jsonl.gz"
    path.write_bytes(gzip.compress(b"x" * 10_000_000))
    with pytest.raises(UserError, match="line 1 is longer than"):
        list(checked(open_rows(path)))


def test_text_of_another_code_is_told(tmp_path):
    for name in ("train.csv", "train.jsonl"):
        (tmp_path / name).write_bytes("text,label\nfine,1\n".encode("utf-32"))
        with pytest.raises(UserError, match="is UTF-32 text; save it as UTF-8"):
            check_data(str(tmp_path / name))


@pytest.mark.parametrize("damage", [slice(0, -9), slice(0, 15)])
def test_a_damaged_gzip_file_is_told(tmp_path, damage):
    path = tmp_path / "train.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a", "label": 1}\n' * 99)[damage])
    with pytest.raises(UserError, match="is not a complete gzip file"):
        list(checked(open_rows(path)))
    whole = bytearray(gzip.compress(bytes(range(256)) * 9))
    whole[20:40] = b"\xff" * 20
    path.write_bytes(whole)
    with pytest.raises(UserError, match="is not a complete gzip file"):
        list(checked(open_rows(path)))


def test_a_damaged_parquet_file_is_told(tmp_path):
    path = write(tmp_path / "train.parquet", GOOD * 50)
    content = path.read_bytes()
    told = 0
    for place in range(4, len(content) - 8, 40):
        path.write_bytes(content[:place] + b"\xff" * 8 + content[place + 8 :])
        try:
            list(checked(open_rows(path)))
        except UserError:
            told += 1
    assert told  # where the damage hits no cell; any other error would have ended the test


def test_a_name_of_more_than_255_characters_is_told():
    for look in (check_data, load_text):
        with pytest.raises(UserError, match="File name too long"):
            look("a" * 300)


HEAD = "text,label\n"
DIFFERENT = {
    "a label is missing": HEAD + "a good film,1\na bad film,\nso so,0\n",
    "all labels are missing": HEAD + "a good film,\na bad film,nan\n",
    "a label is no number": HEAD + "a good film,1.5\na bad film,0\n",
    "no rows": HEAD,
    "empty": "",
    "one class": HEAD + "a good film,1\nso so,1\n",
    "a quote left open": HEAD + '"a good film,1\nb,0\n',
    "a gap and a bad row": HEAD + "a good film,\na bad film,1,2\n",
    "columns twice": "text,text,label\na,b,1\n",
    "a text is missing": HEAD + "NaN,1\nso so,0\n",
    "numbers with a gap": "a,b,label\n1,2,0\n,3,1\n4,5,1\n",
    "numbers with a word": "a,b,label\n" + "1,2,0\n3,4,1\n" * 30 + "x,1,0\n",
    "EBCDIC": (HEAD + "a good film,1\na bad film,0\n").encode("cp037"),
    "too many columns": ",".join(["text", "label", *map(str, range(120_000))]) + "\n",
}


@pytest.mark.parametrize("content", DIFFERENT.values(), ids=DIFFERENT)
def test_what_a_check_finds_usable_can_be_loaded_and_nothing_else(content, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    usable = False
    with contextlib.suppress(UserError):
        usable = check_data(str(path))["usable"]
    if usable:
        assert len(read_data(str(path)).splits)
    else:
        with pytest.raises(UserError):
            read_data(str(path))


def test_text_of_mainframes_is_refused_in_one_sentence(tmp_path):
    for suffix, text in (("csv", HEAD + "a good film,1\n" * 40), ("jsonl", '{"text": "a film", "label": 1}\n' * 40)):
        path = tmp_path / f"data.{suffix}"
        path.write_bytes(text.encode("cp500"))
        for read in (check_data, read_data):
            with pytest.raises(
                UserError, match=r"^\S+ seems to be EBCDIC text, as mainframes write it; save it as UTF-8"
            ):
                read(str(path))


def test_a_check_and_a_load_leave_out_the_same_rows(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(
        "text,text_b,label\none,two,1\nthree,four,0\n,five,1\nsix,,0\nseven,eight,nan\nnine,ten,?\na,b,1,2\n"
    )
    assert [bad["row"] for bad in check_data(str(path))["bad_rows"]] == [8]
    drop = {"bad_rows": "drop"}
    found, read = check_data(str(path), columns=drop), read_data(str(path), columns=drop)
    assert found["usable"]
    assert set(found["notes"]) <= set(read.notes)
    assert any("rows left out" in note for note in found["notes"])
