"""Runs in which something fails, dies, is full or is damaged."""

from pathlib import Path

import pytest

from tests.engine import tasks
from tests.engine.tasks import crowded, dies, double, fails, total, unstorable
from tests.engine.test_driver import values
from trueness.engine import Listener, run


def test_a_failure_names_the_task_and_its_log_and_lets_other_branches_finish(store, local):
    broken = total({"parts": [fails(reason="no such thing"), double(value=1)]})
    above = total({"parts": [broken]})
    summary = run([above, values(4)], store, local)
    (failure,) = summary.failures
    assert "fails(reason='no such thing') failed: ValueError: no such thing" in str(failure)
    log = Path(failure.log).read_text()
    assert "Traceback" in log
    assert "parameters: {'reason': 'no such thing'}" in log
    assert {task.key for task in summary.blocked} == {broken.key, above.key}
    assert not summary.complete
    assert store.has(values(4).key)
    assert store.has(double(value=1).key)


def test_a_result_that_cannot_be_stored_is_a_failure(store, local):
    (failure,) = run([unstorable()], store, local).failures
    assert "ValueError" in failure.error
    assert not store.has(unstorable().key)


@pytest.mark.parametrize("name", ["leaves", "speaks_oddly", "unspeakable", "named_meta"])
def test_however_a_task_ends_it_is_a_failure_and_others_finish(store, local, name):
    summary = run([getattr(tasks, name)(), values(3)], store, local)
    assert [failure.task.type.name for failure in summary.failures] == [getattr(tasks, name).name]
    assert Path(summary.failures[0].log).read_text(encoding="utf-8")
    assert store.has(values(3).key)


def test_a_worker_that_dies_costs_its_task_one_more_try(store, local, tmp_path):
    once = dies(flag=str(tmp_path / "once"), times=1)
    summary = run([once, values(6)], store, local)
    assert summary.complete
    assert store.get(once.key).read("value") == 1


def test_a_task_that_always_kills_its_worker_is_a_failure(store, local, tmp_path):
    always = dies(flag=str(tmp_path / "always"), times=99)
    summary = run([always, values(6)], store, local)
    assert [failure.task.key for failure in summary.failures] == [always.key]
    assert "died twice" in summary.failures[0].error
    assert store.has(values(6).key)


def test_a_task_without_room_on_its_device_is_tried_again_later(store, local, tmp_path, monkeypatch):
    monkeypatch.setattr("trueness.engine.driver._ROOM", 0.01)
    later = crowded(flag=str(tmp_path / "later"), times=3)
    assert run([later, values(6)], store, local).complete
    never = crowded(flag=str(tmp_path / "never"), times=99)
    summary = run([never, total({"parts": [never]}), values(3)], store, local)
    assert [failure.task.key for failure in summary.failures] == [never.key]
    assert "capture failed" in summary.failures[0].error
    assert len(summary.blocked) == 1
    assert len((tmp_path / "never").read_text()) == 6


@pytest.mark.parametrize("file", ["value.json", "meta.json"])
def test_damaged_objects_are_reported_set_aside_and_computed_again(store, local, file):
    run([values(4)], store, local)
    part = double(value=2)
    path = store.objects / part.key / file
    data = bytearray(path.read_bytes())
    path.write_bytes(data[: len(data) // 2] if file == "meta.json" else bytes([data[0] ^ 1]) + data[1:])
    heard = []
    listener = Listener()
    listener.damaged = heard.append
    summary = run([values(4)], store, local, listener=listener)
    assert summary.damaged == [part.key]
    assert summary.computed == 1
    assert [error.key for error in heard] == [part.key]
    assert store.get(part.key).read("value") == 4
    assert [item.name.split(".")[0] for item in (store.path / "damaged").iterdir()] == [part.key]
