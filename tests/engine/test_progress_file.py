"""What a run tells of itself in a file of its store, to the letter; and what is read back of it."""

import json
import os
import platform
import types

import pytest

from tests.engine.fakes import Clock
from tests.engine.tasks import double, fails
from trueness.engine import DamagedObjectError, Failure, Listener, ProgressFile, progress, read_progress


@pytest.fixture
def clock(monkeypatch):
    """The clock of the file, at 100 seconds."""
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def told(file):
    return json.loads(file.path.read_text())


class Record(Listener):
    def __init__(self):
        self.heard = []

    def planned(self, total, cached):
        self.heard.append((total, cached))

    def finished(self, task, seconds_left):
        self.heard.append((task, seconds_left))

    def damaged(self, error):
        self.heard.append(error)

    def failed(self, failure):
        self.heard.append(failure)


def test_a_file_of_its_own_tells_how_a_run_begins_and_ends(store, clock):
    name = f"study.{platform.node()}.{os.getpid()}.json"
    with ProgressFile(store, "study", "A study") as file:
        assert file.path == store.path / "progress" / name
        assert not file.path.exists()
        clock.now = 101.0
        file.planned(5, 2)
        begun = {
            "study": "study",
            "title": "A study",
            "state": "running",
            "total": 5,
            "done": 2,
            "cached": 2,
            "seconds_left": None,
            "begun": 1e9 + 100.0,
            "last": [],
            "failed": [],
            "damaged": 0,
            "process": os.getpid(),
            "machine": platform.node(),
            "written": 1e9 + 101.0,
        }
        assert told(file) == begun
        clock.now = 101.25
    assert told(file) == {**begun, "state": "finished", "written": 1e9 + 101.25}


def test_tasks_are_told_as_they_finish_at_most_every_half_second(store, clock):
    file = ProgressFile(store, "study", "A study")
    file.planned(9, 0)
    clock.now = 100.25
    file.finished(double(value=1), 8.0)
    assert told(file)["done"] == 0, "not yet"
    clock.now = 100.5
    file.finished(double(value=2), 7.0)
    found = told(file)
    assert (found["done"], found["seconds_left"]) == (2, 7.0)
    assert found["last"] == [{"key": double(value=value).key, "task": f"double(value={value})"} for value in (1, 2)], (
        "the newest last"
    )
    clock.now = 100.75
    file.finished(double(value=3), 6.0)
    assert told(file)["done"] == 2
    clock.now = 101.0
    file.finished(double(value=4), 5.0)
    assert told(file)["done"] == 4


def test_the_first_word_is_written_at_once_whatever_the_clock_says(store, clock):
    clock.now = 0.5  # seconds since the machine was started
    file = ProgressFile(store, "study", "A study")
    file.finished(double(value=1), None)
    assert told(file)["done"] == 1


def test_the_last_twenty_tasks_and_failures_are_told(store, clock):
    file = ProgressFile(store, "study", "A study")
    for number in range(23):
        clock.now += 1.0
        file.finished(double(value=number), 1.0)
        file.failed(Failure(fails(reason=str(number)), f"ValueError: {number}", ""))
    found = told(file)
    assert [item["task"] for item in found["last"]] == [f"double(value={number})" for number in range(3, 23)]
    assert [item["error"] for item in found["failed"]] == [f"ValueError: {number}" for number in range(3, 23)]
    assert found["done"] == 23


def test_a_failure_is_told_at_once_and_the_run_ends_with_failures(store, clock):
    failed = fails(reason="no")
    with ProgressFile(store, "study", "A study") as file:
        file.planned(1, 0)
        file.failed(Failure(failed, "ValueError: caf\udce9", "a.log"))
        found = told(file)
        assert found["failed"] == [{"key": failed.key, "task": "fails(reason='no')", "error": "ValueError: caf\udce9"}]
        assert found["state"] == "running"
    assert told(file)["state"] == "ended with failures"


def test_a_run_that_is_interrupted_ends_with_failures(store, clock):
    file = ProgressFile(store, "study", "A study")
    with pytest.raises(KeyboardInterrupt), file:
        raise KeyboardInterrupt
    assert told(file)["state"] == "ended with failures"


def test_a_plan_is_told_at_once_also_just_after_damage(store, clock):
    file = ProgressFile(store, "study", "A study")
    file.damaged(DamagedObjectError("k", "why"))
    file.planned(5, 2)
    assert told(file)["total"] == 5


def test_damage_is_counted_and_told_in_time(store, clock):
    file = ProgressFile(store, "study", "A study")
    file.damaged(DamagedObjectError("k", "why"))
    assert told(file)["damaged"] == 1
    file.damaged(DamagedObjectError("k", "why"))
    assert told(file)["damaged"] == 1
    clock.now = 100.5
    file.damaged(DamagedObjectError("k", "why"))
    assert told(file)["damaged"] == 3


def test_another_listener_hears_the_same(store):
    other = Record()
    file = ProgressFile(store, "study", "A study", other)
    task, error = double(value=1), DamagedObjectError("k", "why")
    failure = Failure(task, "no", "")
    file.planned(3, 1)
    file.finished(task, 2.0)
    file.damaged(error)
    file.failed(failure)
    assert other.heard == [(3, 1), (task, 2.0), error, failure]


def test_a_run_goes_on_where_nobody_can_watch_it(store):
    (store.path / "progress").write_text("a file in the place of the folder")
    with ProgressFile(store, "study", "A study") as file:
        file.planned(1, 0)
    assert not file.path.exists()
    assert read_progress(store) == []


def put(store, name, **changes):
    """A file as a run writes it, with some changes."""
    good = {
        **{"study": name, "title": "A study", "state": "running", "machine": platform.node(), "seconds_left": None},
        **{"total": 3, "done": 1, "cached": 0, "damaged": 0, "process": os.getpid(), "last": [], "failed": []},
        **{"written": 5.0},
    }
    good |= changes
    (store.path / "progress").mkdir(exist_ok=True)
    (store.path / "progress" / f"{name}.json").write_text(json.dumps(good))
    return good


def test_what_runs_told_is_read_newest_first(store):
    assert read_progress(store) == []
    old, newest, middle = put(store, "a", written=1), put(store, "b", written=30), put(store, "c", written=4.5)
    assert read_progress(store) == [newest, middle, old]


def lives(number):
    """Stands for os.kill: process 1 lives, 2 is gone, 3 is another person's; 4 is a number no process has."""
    if number != 1:
        raise {2: ProcessLookupError, 3: PermissionError, 4: OverflowError}[number]


@pytest.mark.parametrize(
    ("process", "machine", "state", "shown"),
    [
        (1, None, "running", "running"),
        (2, None, "running", "stopped"),
        (2, None, "finished", "finished"),
        (2, "another", "running", "running"),
        (3, None, "running", "running"),
        (4, None, "running", "running"),
    ],
)
def test_a_run_whose_process_is_gone_is_called_stopped(store, monkeypatch, process, machine, state, shown):
    asked = []

    def kill(number, signal):
        asked.append((number, signal))
        lives(number)

    monkeypatch.setattr(progress, "os", types.SimpleNamespace(kill=kill))
    put(store, "a", process=process, machine=machine or platform.node(), state=state)
    assert [found["state"] for found in read_progress(store)] == [shown]
    assert asked in ([], [(process, 0)]), "a process is only asked whether it lives"


@pytest.mark.parametrize(
    "changes",
    [
        *[{name: 3} for name in ("study", "title", "state", "machine", "last", "failed")],
        *[{name: "3"} for name in ("total", "done", "cached", "damaged", "process", "seconds_left")],
        {"written": "never"},
        {"written": None},
    ],
)
def test_a_file_that_says_something_else_is_passed_over(store, changes):
    put(store, "odd", **changes)
    good = put(store, "whole", seconds_left=2)
    assert read_progress(store) == [good]


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "{}", "[" * 100_000])
def test_what_is_no_such_file_is_passed_over(store, content):
    good = put(store, "whole", seconds_left=2.5)
    (store.path / "progress" / "odd.json").write_text(content)
    (store.path / "progress" / "odd.txt").write_text(json.dumps(good))
    (store.path / "progress" / "link.json").symlink_to(store.path / "progress" / "whole.json")
    assert read_progress(store) == [good]


def test_a_file_is_read_up_to_a_mebibyte(store):
    put(store, "long", title="")
    spare = (1 << 20) - (store.path / "progress" / "long.json").stat().st_size
    put(store, "long", title="x" * spare)
    assert [len(found["title"]) for found in read_progress(store)] == [spare]
    put(store, "long", title="x" * (spare + 1))
    assert read_progress(store) == []
