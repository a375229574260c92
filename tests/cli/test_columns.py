"""Columns on the command line: every command that guesses them takes their names, and messages name its options."""

import json

import pytest

import trueness as tn
from tests.command import trueness
from trueness.cli.options import as_flags
from trueness.errors import UserError
from trueness.kinds.text.data.texts import read_texts
from trueness.kinds.text.tasks import dataset_task

SURVEY = "Frage A,Frage B,Urteil\n" + "".join(
    f"an answer of many words {number},another answer of many words {number},{'gut' if number % 2 else 'schlecht'}\n"
    for number in range(60)
)
CHOSEN = {"text_column": "Frage A", "label_column": "Urteil"}


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "umfrage.csv").write_text(SURVEY)
    (tmp_path / "predict.py").write_text(
        "def predict(texts):\n    return [[0.5, 0.5]] * len(texts)\n\npredict.classes = ('a', 'b')\n"
    )
    return "umfrage.csv"


@pytest.mark.parametrize(
    "command",
    [
        ["dry-run", "umfrage.csv"],
        ["data", "check", "umfrage.csv"],
        ["data", "split", "umfrage.csv", "--out", "parts"],
        ["train", "bilstm-dot", "--data", "umfrage.csv", "--out", "model"],
        ["audit", "predict.py:predict", "umfrage.csv"],
        ["agreement", "predict.py:predict", "--data", "umfrage.csv"],
        ["attefa", "predict.py:predict", "predict.py:predict", "--data", "umfrage.csv"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_a_message_names_the_command_has(command, survey):
    told = trueness(*command)
    assert told.returncode == 2
    assert "the text may be in Frage A or Frage B: choose it with --text-column." in told.stderr
    chosen = trueness(*command, "--text-column", "Frage A", "--label-column", "Urtiel")
    assert "there is no column Urtiel; did you mean Urteil?" in chosen.stderr
    told = trueness(*command, "--text-column", "Frage A", "--text-b-column", "nope")
    assert "there is no column nope" in told.stderr


def test_a_command_without_the_options_and_python_name_the_arguments(survey):
    sentence = "the text may be in Frage A or Frage B: choose it with text_column."
    assert sentence in trueness("run", "recursive-roar", "--set", "datasets=umfrage.csv").stderr
    with pytest.raises(UserError, match=sentence):
        read_texts(survey)


def test_arguments_as_options():
    assert as_flags('text_column, text_b_column, label_column, label_column=""') == (
        "--text-column, --text-b-column, --label-column, --no-labels"
    )
    assert as_flags('label_column="" or text_column', {"--text-column"}) == 'label_column="" or --text-column'
    assert as_flags("my_text_column, text_columns") == "my_text_column, text_columns"
    assert as_flags("my/label_column.csv: label_column.") == "my/label_column.csv: --label-column."


def test_a_file_is_checked_with_the_columns_that_are_named(survey):
    told = trueness("data", "check", survey, "--text-column", "Frage A", "--label-column", "Urteil", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["splits"]["umfrage"]["classes"] == {"gut": 30, "schlecht": 30}
    for name in ("movie-sentences", "roar-synthetic"):
        assert "has no columns to choose from" in trueness("data", "check", name, "--text-column", "a").stderr


def test_a_file_without_labels_is_not_split(tmp_path):
    (tmp_path / "a.csv").write_text("text,mark\nfine,good\nbad,poor\n")
    told = trueness("data", "split", tmp_path / "a.csv", "--out", tmp_path / "parts")
    assert "has no labels to split by; --label-column names where they are" in told.stderr


def test_a_dry_run_reads_the_columns_that_are_named(survey, tmp_path):
    assert tn.plan("dry-run", datasets=survey, columns=CHOSEN, store=tmp_path / "store").tasks
    assert dataset_task(survey, None, columns=CHOSEN).key != dataset_task("babi-1", None).key
    assert "columns" not in dataset_task("babi-1", None, columns={}).parameters, "stored results keep their keys"
    with pytest.raises(UserError, match="babi-1 has no columns to choose from"):
        dataset_task("babi-1", None, columns=CHOSEN)
    with pytest.raises(UserError, match="There is no 'text' to say of columns"):
        dataset_task(survey, None, columns={"text": "Frage A"})
    told = trueness("dry-run", "photo-crops", "--text-column", "a")
    assert "Of images nothing but their size can be said: leave out --text-column." in told.stderr


def test_a_dry_run_of_too_few_texts_is_refused_in_one_line_before_any_work(tmp_path):
    for name, rows in (("two", 2), ("same", 40)):
        texts = ["good" if name == "same" else f"good {row}" for row in range(rows)]
        lines = [f"{text},{('pos', 'neg')[row % 2]}" for row, text in enumerate(texts)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *lines]))
    few = trueness("dry-run", tmp_path / "two.csv", "--store", tmp_path / "store")
    said = f"trueness: {tmp_path}/two.csv has 2 texts: a dry run needs 30 at least"
    assert (few.returncode, few.stderr[: len(said)], few.stderr.count("\n")) == (2, said, 1)
    assert not (tmp_path / "store").exists()
    same = trueness("dry-run", tmp_path / "same.csv", "--store", tmp_path / "store", "--workers", "1")
    assert (same.returncode, same.stderr.count("\n")) == (2, 1)
    assert "same.csv has too few examples for a split dev" in same.stderr


@pytest.mark.slow
def test_a_dry_run_of_a_survey(survey, tmp_path):
    small = {"plantings": "own-words", "explainers": "random,gradient", "seeds": 1, "instances": 4}
    given = [part for name, value in small.items() for part in ("--set", f"{name}={value}")]
    chosen = ["--text-column", "Frage A", "--label-column", "Urteil", "--workers", 1]
    told = trueness("dry-run", survey, *chosen, *given, "--out", tmp_path / "page.html")
    assert told.returncode == 0, told.stderr


def test_labels_are_left_out(survey, tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"film {n},{n % 5}\n" for n in range(60)))
    audit = ["audit", "predict.py:predict", "a.csv", "--budget", "1m"]
    assert "or leave the labels out (--no-labels); or name the classes" in trueness(*audit).stderr
    few = ["--explainer", "gradient"]  # which no function has
    assert "None of the explainers works" in trueness(*audit, *few, "--no-labels").stderr, "the labels are no matter"
    both = trueness(*audit, "--no-labels", "--label-column", "label")
    assert "--label-column names the labels that --no-labels leaves out: give one of the two." in both.stderr
    (tmp_path / "two.csv").write_text("text,class,rating\n" + "".join(f"film {n},a,{n % 5}\n" for n in range(9)))
    agreement = ["agreement", "predict.py:predict", "--data", "two.csv"]
    agreement += ["--explainer", "occlusion", "--explainer", "leave-one-out"]
    assert "the label may be in class or rating: choose it with --label-column" in trueness(*agreement).stderr
    assert trueness(*agreement, "--no-labels").returncode == 0


@pytest.mark.parametrize("source", ["babi-1", [("a", 1), ("b", 0)], [{"text": "a", "label": 1}, {"text": "b"}]])
def test_whatever_has_labels_can_be_read_without(source):
    found = read_texts(source, label_column="")
    assert found.labels == ()
    assert "labels were not read, as asked" in found.notes
