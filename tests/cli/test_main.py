import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import trueness as tn
from tests.command import trueness
from trueness import __version__
from trueness.cli.main import main

TINY = ["--set", "seeds=1", "--set", "data.train=300", "--set", "data.test=500"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "store"
    done = trueness("run", "roar-synthetic", "--store", path, *TINY, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    printed = json.loads(done.stdout)
    assert printed["tasks"]["computed"] == 11
    assert printed["scores"]
    return path


def test_version_and_help():
    assert trueness("--version").stdout.strip() == f"trueness {__version__}"
    for command in ("run", "plan", "report", "compare", "list", "data"):
        shown = trueness(command, "--help")
        assert shown.returncode == 0
        assert "--json" in shown.stdout or command == "data"


def test_run_again_shows_a_table(store):
    done = trueness("run", "roar-synthetic", "--store", store, *TINY)
    assert done.returncode == 0
    assert "0 computed, 11 in the store already" in done.stdout
    assert "Cannot tell: Recursive ROAR is identical" in done.stdout


def test_a_durable_run_brings_every_result_to_the_disk(store, monkeypatch, capsys):
    synced, fsync = [], os.fsync

    def note(handle):
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    command = ["run", "roar-synthetic", "--store", str(store), *TINY, "--json"]
    for options, expected in (([], 0), (["--durable"], 11)):
        with pytest.raises(SystemExit) as stopped:
            main([*command, *options])
        assert stopped.value.code == 0
        assert json.loads(capsys.readouterr().out)["tasks"]["cached"] == 11
        assert len([path for path in synced if path.endswith("/meta.json")]) == expected
    assert str(store / "runs") in synced, "the record of the run"


def test_report(store, tmp_path):
    done = trueness("report", "roar-synthetic", "--store", store)
    assert done.stdout.splitlines()[0] == f"Report: {store / 'roar-synthetic.html'}"
    printed = json.loads(
        trueness("report", "roar-synthetic", "--store", store, "--out", tmp_path / "r.html", "--json").stdout
    )
    assert printed["report"] == str(tmp_path / "r.html")
    assert (tmp_path / "r.png").exists()


def test_compare(store):
    compared = json.loads(trueness("compare", "roar-synthetic", "--store", store, "--json").stdout)
    assert compared["study"] == "roar-synthetic"
    shown = trueness("compare", "roar-synthetic", "--store", store).stdout
    assert "published" in shown.splitlines()[0]


def test_plan(store):
    planned = json.loads(trueness("plan", "roar-synthetic", "--store", store, *TINY, "--json").stdout)
    assert (planned["total"], planned["cached"]) == (11, 11)
    assert "Nothing to compute" in trueness("plan", "roar-synthetic", "--store", store, *TINY).stdout
    shown = trueness("plan", "roar-synthetic", "--store", store, *TINY, "--set", "seeds=3").stdout
    assert "the longest chain" in shown


def test_list():
    assert "roar-synthetic@madsen2022" in trueness("list").stdout
    assert set(json.loads(trueness("list", "--json").stdout)) >= {
        "study",
        "dataset",
        "model",
        "recipe",
        "explainer",
        "planting",
    }
    assert list(json.loads(trueness("list", "studies", "--json").stdout)) == ["study"]
    assert list(json.loads(trueness("list", "datasets", "--json").stdout)) == ["dataset"]


def test_data_check(tmp_path):
    (tmp_path / "train.csv").write_text("text,label\nfine,1\nbad,0\nworse,1,2\n,1\n")
    (tmp_path / "test.csv").write_text("text,label\nfine,1\n")
    done = trueness("data", "check", tmp_path)
    assert done.returncode == 2
    assert "train.csv, row 4: the row has more fields than the header." in done.stdout
    assert "train.csv: 1 of 4 rows left out: the text is empty (1, first in row 5)" in done.stdout
    assert "Leakage: 1 rows of test are also in train" in done.stdout
    assert json.loads(trueness("data", "check", tmp_path, "--json").stdout)["usable"] is False
    assert trueness("data", "check", "roar-synthetic").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "roar-synthtic"], "There is no study named 'roar-synthtic'; did you mean roar-synthetic?"),
        (["run", "roar-synthetic", "--set", "seeds=0"], "seeds"),
        (["run", "roar-synthetic", "--set", "seeds"], "expected key=value"),
        (["run", "roar-synthetic", "--set", "datasets=imdb"], "There is no dataset named 'imdb'"),
        (["run", "roar-synthetic", "--set", "data.train=0"], "data.train"),
        (["compare", "roar-synthetic", "--store", "nowhere"], "There is no store at nowhere"),
        (["report", "roar-synthetic", "--store", "nowhere"], "There is no store at nowhere"),
        (["list", "exlpainer"], "did you mean explainer"),
        (["data", "check", "nowhere"], "There is no dataset, file or folder 'nowhere'"),
    ],
)
def test_errors_are_one_sentence_with_exit_status_2(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = trueness(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert done.stderr.startswith("trueness: ")
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir()), "nothing may be written before the input is checked"


def test_completion_offers_studies():
    done = subprocess.run(
        [Path(sys.executable).parent / "trueness"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "_TRUENESS_COMPLETE": "complete_bash", "COMP_WORDS": "trueness run ro", "COMP_CWORD": "2"},
    )
    assert done.stdout.split() == ["roar-synthetic"]


def test_an_interruption_is_told_and_resumed(tmp_path):
    command = [
        sys.executable,
        "-m",
        "trueness",
        "run",
        "roar-synthetic",
        "--store",
        str(tmp_path / "s"),
        "--workers",
        "1",
    ]
    # Whatever runs the tests may ignore interruptions, as shells do in the background; that would be inherited.
    listening = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **listening)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "s").glob("objects/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "trueness: interrupted; the same command continues where it stopped."
    assert json.loads(trueness("plan", "roar-synthetic", "--store", tmp_path / "s", "--json").stdout)["cached"] > 0


def test_damage_is_reported_and_mended(store):
    victim = next((store / "objects").glob("*/points.json"))
    data = bytearray(victim.read_bytes())
    data[10] ^= 1
    victim.write_bytes(data)
    done = trueness("run", "roar-synthetic", "--store", store, *TINY, "--json")
    assert done.returncode == 0
    assert f"object {victim.parent.name} in the store is damaged" in done.stderr
    assert json.loads(done.stdout)["tasks"]["damaged"] == [victim.parent.name]
    result = json.loads(done.stdout)["result"]
    (store / "objects" / result / "records.parquet").write_bytes(b"broken")
    damaged = trueness("compare", "roar-synthetic", "--store", store)
    assert damaged.returncode == 2
    assert "run the study again" in damaged.stderr
    assert trueness("run", "roar-synthetic", "--store", store, *TINY).returncode == 0


def test_an_unexpected_error_is_a_sentence_a_log_and_status_70(tmp_path, monkeypatch, capsys):
    def broken():
        raise ZeroDivisionError("with\nmany lines")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("trueness.api.listing.catalogue", broken)
    with pytest.raises(SystemExit) as stopped:
        main(["list"])
    assert stopped.value.code == 70
    said = capsys.readouterr().err
    (log,) = tmp_path.glob("trueness-*.log")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    assert f"report it where you got trueness from, with the log {log}." in said
    assert "in broken" in log.read_text()
    with pytest.raises(SystemExit):
        main(["--debug", "list"])
    assert "in broken" in capsys.readouterr().err


def test_errors_of_the_disk_and_of_memory_are_the_user_s(monkeypatch, capsys):
    for error, words in (
        (OSError(36, "File name too long", "aaa"), "aaa: File name too long."),
        (MemoryError(), "The memory does not suffice"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "The memory does not suffice"),
    ):

        def broken(error=error):
            raise error

        monkeypatch.setattr("trueness.api.listing.catalogue", broken)
        with pytest.raises(SystemExit) as stopped:
            main(["list"])
        assert stopped.value.code == 2
        assert words in capsys.readouterr().err


def test_bytes_that_are_not_utf_8_are_refused(tmp_path):
    done = trueness("explain", tmp_path, "--text", os.fsdecode(b"caf\xe9"))
    assert done.returncode == 2
    assert done.stderr == "trueness: Argument 4 is not UTF-8 text: 'caf\\udce9'.\n"


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (["run", "roar-synthetic", "--store", ""], "4, after --store,"),
        (["run", "roar-synthetic", "--store="], "3, after --store,"),
        (["data", "check", ""], "3, after check,"),
        (["list", "--json", ""], "3, after --json,"),
        ([""], "1, after trueness,"),
    ],
)
def test_an_empty_argument_is_not_the_current_folder(given, where, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(given)
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"trueness: Argument {where} is empty; give a value, or leave it out.\n"
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("given", [["--text", ""], ["--text="]])
def test_an_empty_text_is_no_empty_argument(given, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["explain", str(tmp_path / "none"), *given])
    assert "There is no model" in capsys.readouterr().err


def test_labels_do_not_steer_the_terminal(tmp_path, capsys):
    hostile = "a\x1b[31mred\x9b2J\u202e"
    (tmp_path / "train.jsonl").write_text(json.dumps({"text": hostile, "label": hostile}))
    (tmp_path / "test.jsonl").write_text(json.dumps({"text": "x", "label": f"other {hostile}"}))
    for options in ([], ["--json"]):
        with pytest.raises(SystemExit):
            main(["data", "check", str(tmp_path), *options])
        shown = capsys.readouterr().out
        assert "[31mred" in shown
        assert not set(shown) & {"\x1b", "\x9b", "\u202e"}
    assert json.loads(shown)["classes_not_in_train"]["test"] == [f"other {hostile}"]
    (tmp_path / "bad.csv").write_text(f"{hostile},label\n")
    with pytest.raises(SystemExit):
        main(["data", "check", str(tmp_path / "bad.csv")])
    assert "\x1b" not in capsys.readouterr().err


def test_many_bad_rows_are_a_few_lines_and_a_count(tmp_path, capsys):
    (tmp_path / "train.csv").write_text("text,label\n" + "a,x,y\n" * 20_000)
    with pytest.raises(SystemExit) as stopped:
        main(["data", "check", str(tmp_path)])
    assert stopped.value.code == 2
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) < 20
    assert shown[-1] == "And 19,990 more bad rows, 20,000 in all; --json lists them."


@pytest.mark.parametrize(("accuracy", "told"), [(0.75, True), (0.76, False)])
def test_a_model_that_learned_nothing_is_told(accuracy, told):
    from trueness.cli.training import _no_better

    data = {"test": SimpleNamespace(labels=np.array([0, 1, 1, 1]))}
    found = list(_no_better({"dev": {"accuracy": 0.1}, "test": {"accuracy": accuracy}}, data))
    assert [one.startswith("Warning: on test the model is no better") for one in found] == [True] * told


def test_a_folder_with_a_model_is_not_written_over(tmp_path):
    from trueness.cli.training import _check_place
    from trueness.errors import UserError

    _check_place(tmp_path / "new")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match="holds a model already"):
        _check_place(tmp_path)
    (tmp_path / "training").mkdir()
    _check_place(tmp_path)  # interrupted while it was written: the same command continues


def test_warnings_are_one_line_each():
    from trueness.boundary import warning_line

    assert warning_line("Few\ncopies.", UserWarning, tn.__file__, 1) == "trueness: Few copies.\n"
    assert warning_line("old", DeprecationWarning, "elsewhere/library.py", 1) == "trueness: DeprecationWarning: old\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--set", "hidden=0"], "hidden should be greater than or equal to 1, not 0"),
        (["--set", "vocabulary=1"], "There is no 'vocabulary' of a model's shape to set"),
        (["--set", "seed=3"], "seed is an option of its own"),
        (["--vectors", "PASSWD"], "passwd"),
        (["--out", "PASSWD/model"], "is not a folder that can be written to"),
    ],
)
def test_nonsense_is_refused_before_training(options, sentence, folder, tmp_path, capsys):
    (tmp_path / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\nmail:x:8:8:The Mail:/var/mail:/bin/sh\n")
    given = [item.replace("PASSWD", str(tmp_path / "passwd")) for item in options]
    place = [] if "--out" in given else ["--out", str(tmp_path / "model")]
    with pytest.raises(SystemExit) as stopped:
        main(["train", "bilstm-additive", "--data", str(folder), *place, *given])
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
