"""One rule for rows that cannot be used, whoever reads the table: empty ones are left out, broken ones refused."""

import pandas as pd
import pytest

import trueness as tn
from tests.command import trueness
from tests.models.transformers import model, tokenizer
from trueness.data.labels import likely_gaps, spelled_alike
from trueness.errors import UserError
from trueness.kinds import check_data
from trueness.kinds.text.data.texts import read_texts

SURVEY = "Antwort;Urteil\n" + "".join(
    f"eine Antwort mit vielen Worten, die {number}.;{('zufrieden', 'unzufrieden')[number % 2]}\n"
    for number in range(60)
)
MESSY = f"{SURVEY};;\n;\n ; \n;zufrieden\nEine Antwort ohne Urteil und mit Worten;\n".replace(";;\n", ";\n")
ODD = "Noch eine Antwort, Nummer {};{}\n"
CHOSEN = {"text_column": "Antwort", "label_column": "Urteil"}
FLAGS = ["--text-column", "Antwort", "--label-column", "Urteil"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "predict.py").write_text("def predict(texts):\n    return [[0.5, 0.5]] * len(texts)\n")
    return tmp_path


def test_empty_rows_are_left_out_by_every_reader(folder):
    (folder / "survey.csv").write_text(MESSY)
    read = read_texts("survey.csv", **CHOSEN)
    loaded = tn.load_dataset("survey.csv", columns=CHOSEN)
    table = tn.load_dataset(pd.read_csv("survey.csv", sep=";"), columns=CHOSEN)
    assert (len(read.texts), len(loaded["survey"]), len(table["all"])) == (61, 60, 60)
    assert "4 of 65 rows left out: the row is empty (3, first in row 62); the text is empty (1, first in row 65)" in (
        read.notes
    )
    assert any(note.startswith("survey.csv: 4 of 65 rows left out: the row is empty (3") for note in loaded.notes)
    checked = check_data("survey.csv", columns=CHOSEN)
    assert checked["usable"], "an empty row is no fault"


@pytest.mark.parametrize(
    "command",
    [
        ["train", "bilstm-dot", "--data", "survey.csv", "--out", "model"],
        ["fine-tune", "pretrained", "--data", "survey.csv", "--out", "model"],
        ["audit", "predict.py:predict", "survey.csv"],
        ["agreement", "predict.py:predict", "--data", "survey.csv"],
        ["dry-run", "survey.csv"],
        ["data", "split", "survey.csv", "--out", "parts"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_command_stops_at_a_broken_row_and_says_how_to_go_on(command, folder):
    model("bert", classes=2).float().save_pretrained("pretrained")
    tokenizer().save_pretrained("pretrained")
    (folder / "survey.csv").write_text(f"{SURVEY}zu;viele;Zellen\n")
    told = trueness(*command, *FLAGS)
    assert told.returncode == 2
    assert "row 62: the row has more fields than the header" in told.stderr
    assert "--drop-bad-rows leaves such rows out" in told.stderr


def test_the_hint_keeps_the_columns_that_are_needed(folder):
    (folder / "my survey.csv").write_text(f"{SURVEY}zu;viele;Zellen\n")
    hint = "trueness data check 'my survey.csv' --text-column Antwort --label-column Urteil"
    with pytest.raises(UserError, match=hint):
        tn.load_dataset("my survey.csv", columns=CHOSEN)
    loaded = tn.load_dataset("my survey.csv", columns={**CHOSEN, "bad_rows": "drop"})
    assert any("1 of 61 rows left out: the row has more fields" in note for note in loaded.notes)
    with pytest.raises(UserError, match="bad_rows is refuse or drop, not 'maybe'"):
        tn.load_dataset("my survey.csv", columns={**CHOSEN, "bad_rows": "maybe"})


def test_six_spellings_are_two_classes_and_likely_gaps_are_said(folder):
    odd = ["Zufrieden ", "ZUFRIEDEN", "un zufrieden", "n/a", "?", "?"]
    rows = "".join(ODD.format(number, label) for number, label in enumerate(odd))
    (folder / "survey.csv").write_text(f"{SURVEY}{rows}")
    for data in ("survey.csv", pd.read_csv("survey.csv", sep=";")):
        loaded = tn.load_dataset(data, columns=CHOSEN)
        assert loaded.classes == ("?", "un zufrieden", "unzufrieden", "zufrieden")
        said = " ".join(loaded.notes)
        assert "are one class, zufrieden: 'zufrieden' (30), 'Zufrieden ' (1), 'ZUFRIEDEN' (1)" in said
        assert "the label '?' (2) may stand for no label, and is a class now: bad_rows=\"drop\"" in said
        dropped = tn.load_dataset(data, columns={**CHOSEN, "bad_rows": "drop"})
        assert dropped.classes == ("un zufrieden", "unzufrieden", "zufrieden")


def test_likely_gaps_and_spellings_by_hand():
    assert likely_gaps(["a", "?", " - ", "none", "0", 7]) == ["?", " - ", "none"]
    assert spelled_alike(["good", "good", "Good ", "bad", "very-bad", "very bad", "very bad"]) == {
        "Good ": "good",
        "very-bad": "very bad",
    }
    assert spelled_alike([0, 1, "no", "yes"]) == {}


def test_what_is_odd_is_said_before_training(folder, capsys):
    from trueness.cli.training import _say_before

    (folder / "survey.csv").write_text(f"{SURVEY}{ODD.format(1, '?')}")
    _say_before(tn.load_dataset("survey.csv", columns=CHOSEN))
    said = capsys.readouterr().err
    assert "Warning: the label '?' (1) may stand for no label, and is a class now: --drop-bad-rows leaves such" in said
    assert "3 classes (?, unzufrieden, zufrieden)" in said


def test_tables_of_numbers_follow_the_rule(folder):
    rows = "".join(f"{number},{number % 7},{'ab'[number % 2]}\n" for number in range(40))
    (folder / "numbers.csv").write_text(f"one,two,label\n{rows},,\n")
    loaded = tn.load_dataset("numbers.csv")
    assert "1 rows left out: the row is empty (1, first in row 42)" in loaded.notes
    (folder / "numbers.csv").write_text(f"one,two,label\n{rows}1,2,a,b\n")
    with pytest.raises(UserError, match=r"row 42: the row has more fields than the header; bad_rows"):
        tn.load_dataset("numbers.csv")
    assert len(tn.load_dataset("numbers.csv", columns={"bad_rows": "drop"})["all"]) == 40


def test_a_dataset_shows_its_sizes_in_a_notebook(folder):
    (folder / "survey.csv").write_text(MESSY)
    shown = tn.load_dataset("survey.csv", columns=CHOSEN)._repr_html_()
    assert "<td>30</td><td>30</td><td>60</td>" in shown
    assert "4 of 65 rows left out" in shown
