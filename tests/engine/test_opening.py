"""What is said when a folder is opened as a store, to the letter, and what is made in it."""

import contextlib
import json
from types import SimpleNamespace

import pytest

from trueness.engine import Store, StoreError, layout
from trueness.engine import store as store_module
from trueness.engine.layout import abandoned_candidates, mend, open_folder


def refused(path, *, create=True):
    with pytest.raises(StoreError) as told:
        Store.open(path, create=create)
    return str(told.value)


def test_a_store_has_a_marker_and_six_folders(tmp_path):
    Store.open(tmp_path / "above" / "store", create=True)
    found = {item.name for item in (tmp_path / "above" / "store").iterdir()}
    assert found == {"trueness-store.json", "objects", "temporary", "locks", "logs", "runs", "damaged"}
    assert (tmp_path / "above" / "store" / "trueness-store.json").read_bytes() == b'{"format": 1}\n'


def test_what_is_no_store_is_named_with_the_way_out(tmp_path):
    file, foreign, none = tmp_path / "file", tmp_path / "foreign", tmp_path / "none"
    file.write_text("")
    foreign.mkdir()
    for name in ("mine.txt", "b", "c", "d"):
        (foreign / name).write_text("")
    assert refused(file) == f"{file} is a file, not a store; give a folder."
    assert refused(foreign) == (
        f"{foreign} is not a trueness store (it has no trueness-store.json) and cannot become one while it holds "
        "b, c, d, ...: move that away, or give another folder."
    )
    assert refused(none, create=False) == f"There is no store at {none}; run a study with --store {none} first."
    none.mkdir()
    assert refused(none, create=False) == f"There is no store at {none}; run a study with --store {none} first."


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{}", "'format'"),
        ('{"format": "1"}', "format '1'"),
        ("[]", "list indices must be integers or slices, not str"),
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ],
)
def test_a_marker_that_cannot_be_read_is_told_how_to_mend(store, content, why):
    marker = store.path / "trueness-store.json"
    marker.write_text(content)
    assert refused(store.path) == (
        f'{marker} is unreadable ({why}); if this is your store write {{"format": 1}} there, or choose another.'
    )


def test_a_newer_store_is_refused_and_an_older_one_is_not(store):
    marker = store.path / "trueness-store.json"
    marker.write_text(json.dumps({"format": 2}))
    assert refused(store.path) == (
        f"{store.path} was written by a newer trueness (store format 2, this one reads up to 1); upgrade trueness or "
        "choose another folder."
    )
    marker.write_text(json.dumps({"format": 0}))
    assert Store.open(store.path).path == store.path


def test_durability_reaches_every_file_and_folder_that_is_made(tmp_path, monkeypatch):
    seen = []
    make, write = layout.make_folder, layout.write_atomically
    monkeypatch.setattr(layout, "make_folder", lambda path, durable: (seen.append(durable), make(path)))
    monkeypatch.setattr(
        layout, "write_atomically", lambda path, data, durable: (seen.append(durable), write(path, data))
    )
    for durable in (True, False):
        seen.clear()
        open_folder(tmp_path / str(durable), create=True, durable=durable)
        assert seen == [durable] * 8


@pytest.mark.parametrize("name", ["objects", "damaged"])
def test_what_lies_in_the_place_of_a_folder_is_refused(store, tmp_path, name):
    place = store.path / name
    place.rmdir()
    place.write_text("")
    with pytest.raises(StoreError) as told:
        mend(store.path, durable=False)
    assert str(told.value) == f"{place} is a file where a store has a folder; move it away and run again."
    place.unlink()
    place.symlink_to(tmp_path)
    with pytest.raises(StoreError) as told:
        mend(store.path, durable=False)
    assert str(told.value) == f"{place} is a link where a store has a folder; move it away and run again."
    place.unlink()
    mend(store.path, durable=False)
    assert place.is_dir()


def test_what_was_being_written_is_found_in_the_order_of_its_keys(store):
    temporary = store.path / "temporary"
    names = [f"{letter * 40}.{'0' * 32}" for letter in "cab"]
    for name in (*names, "other", f"{'d' * 40}.1"):
        (temporary / name).mkdir()
    (temporary / f"{'e' * 40}.{'0' * 32}").write_text("a file")
    found = list(abandoned_candidates(store.path))
    assert found == [(name[:40], temporary / name) for name in sorted(names)]
    for item in temporary.iterdir():
        item.unlink() if item.is_file() else item.rmdir()
    temporary.rmdir()
    assert list(abandoned_candidates(store.path)) == []


def test_what_another_run_has_collected_meanwhile_does_not_stop_this_one(store, monkeypatch):
    gone = store.path / "temporary" / f"{'a' * 40}.{'0' * 32}"
    monkeypatch.setattr(store_module, "abandoned_candidates", lambda path: [("a" * 40, gone), ("b" * 40, gone)])
    assert store.collect_garbage() == 2


def test_a_log_that_vanishes_while_logs_are_listed_is_passed_over(store, monkeypatch):
    def vanished(**_):
        raise FileNotFoundError

    there = SimpleNamespace(name="there.log", stat=lambda **_: SimpleNamespace(st_mtime=1.0))
    entries = [SimpleNamespace(name="gone.log", stat=vanished), there]
    monkeypatch.setattr(store_module.os, "scandir", lambda path: contextlib.nullcontext(entries))
    assert store.failed() == ["there"]
