"""Files that are written whole or not at all, and what is said of disks that refuse."""

import errno
import os
from pathlib import Path

import pytest

from trueness.boundary import read_ordinary
from trueness.engine import StoreError, disk, files, write_atomically
from trueness.engine.files import handles, make_folder, read_inside, sync, sync_folder


def said(number):
    """The sentence, or the error itself, that comes out of a place where a disk is written to."""
    with (
        pytest.raises((StoreError, OSError)) as told,
        disk("the model m", full="free some space", refused="choose another folder"),
    ):
        raise OSError(number, "as it is called")
    return told.value


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_a_sentence(number):
    assert str(said(number)) == "The disk that holds the model m is full; free some space."
    assert isinstance(said(number), StoreError)


@pytest.mark.parametrize("name", ["EROFS", "EACCES", "EPERM", "ENOTDIR", "EISDIR", "EEXIST", "ENAMETOOLONG", "ELOOP"])
def test_a_place_that_refuses_is_a_sentence(name):
    found = said(getattr(errno, name))
    assert str(found) == "The model m cannot be written (as it is called); choose another folder."
    assert isinstance(found.__cause__, OSError)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_lack_of_handles_is_a_sentence_about_them(number):
    expected = (
        "Too many files are open; allow more (ulimit -n 4096) or use fewer workers, and run the same command again."
    )
    assert str(said(number)) == expected
    with pytest.raises(StoreError) as told, handles():
        raise OSError(number, "too many")
    assert str(told.value) == expected


def test_any_other_error_stays_what_it_is():
    assert type(said(errno.EIO)) is OSError
    with pytest.raises(OSError, match="broken") as told, handles():
        raise OSError(errno.EIO, "broken")
    assert type(told.value) is OSError


def test_a_long_name_is_cut_in_a_sentence():
    with pytest.raises(StoreError) as told, disk("the file " + "x" * 5000, full="a", refused="b"):
        raise OSError(errno.ENOSPC, "")
    assert len(str(told.value)) < 1000
    assert str(told.value).endswith("... is full; a.")


@pytest.fixture
def synced(monkeypatch):
    """The names of what is synced, in order, while the real thing is done."""
    found = []
    real = files.sync
    monkeypatch.setattr(files, "sync", lambda path: (found.append(path.name), real(path)))
    return found


def test_a_file_is_replaced_by_one_rename_from_beside_it(tmp_path, monkeypatch, synced):
    path, moved = tmp_path / "a.json", []
    replace = os.replace

    def note(source, target):
        moved.append((source.parent, source.name[:8], len(source.name), target, source.read_bytes()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", note)
    path.write_bytes(b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert moved == [(tmp_path, ".a.json.", 8 + 32, path, b"new")]
    assert [item.name for item in tmp_path.iterdir()] == ["a.json"]
    assert synced == [], "by default nothing is waited for"


def test_a_durable_file_is_synced_before_it_is_moved_and_its_folder_after(tmp_path, synced):
    write_atomically(tmp_path / "a.json", b"new", durable=True)
    assert [name[:8] for name in synced] == [".a.json.", tmp_path.name[:8]]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def refuse(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("a.json", b"old")]


def test_a_write_that_cannot_begin_says_why(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "a.json", b"new")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        write_atomically(tmp_path / "file" / "a.json", b"new")


def test_an_ordinary_file_of_a_folder_is_read_and_a_link_is_not_followed(tmp_path):
    (tmp_path / "s" / "runs").mkdir(parents=True)
    (tmp_path / "s" / "runs" / "a").write_bytes(b"\x00\r\n123")
    assert read_inside(tmp_path / "s", "runs", "a", largest=6) == b"\x00\r\n123"
    (tmp_path / "s" / "runs" / "link").symlink_to(tmp_path / "s" / "runs" / "a")
    (tmp_path / "s" / "away").symlink_to(tmp_path / "s" / "runs")
    (tmp_path / "t").symlink_to(tmp_path / "s")
    assert read_inside(tmp_path / "t", "runs", "a", largest=6), "the folder itself may be given by a link"
    faults = {("runs", "link"): errno.ELOOP, ("away", "a"): errno.ELOOP, ("runs", "b"): errno.ENOENT}
    for names, number in faults.items():
        with pytest.raises(OSError) as told:  # noqa: PT011  # a number, whatever the system calls it
            read_inside(tmp_path / "s", *names, largest=6)
        assert told.value.errno == number
    with pytest.raises(OSError, match="6 bytes, more than 5"):
        read_inside(tmp_path / "s", "runs", "a", largest=5)


def test_what_has_no_end_is_not_read_and_no_handle_is_left(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    handles = len(list(Path("/proc/self/fd").iterdir()))
    for name, kind in (("pipe", "no ordinary file"), ("zero", "no ordinary file"), ("folder", "directory")):
        with pytest.raises(OSError, match=kind):
            read_ordinary(tmp_path / name, 10)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"123")
    assert read_ordinary(tmp_path / "link", 10) == b"123"
    assert len(list(Path("/proc/self/fd").iterdir())) == handles


def test_a_sync_closes_what_it_opens_also_where_it_fails(tmp_path, monkeypatch):
    closed, close = [], os.close
    monkeypatch.setattr(os, "close", lambda handle: (closed.append(handle), close(handle)))
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    sync(tmp_path)
    assert closed == synced
    assert len(closed) == 1

    def refuse(handle):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="broken"):
        sync(tmp_path)
    assert len(closed) == 2


def test_a_folder_is_synced_after_its_files(tmp_path, synced):
    for name in "ab":
        (tmp_path / name).write_text("")
    sync_folder(tmp_path)
    assert sorted(synced[:2]) == ["a", "b"]
    assert synced[2:] == [tmp_path.name]


def test_folders_are_made_with_those_above_and_their_names_synced(tmp_path, synced):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    assert synced == []
    make_folder(tmp_path / "a" / "c" / "d", durable=True)
    assert synced == ["c", "a"], "each in the folder that holds its name"
    make_folder(tmp_path / "a" / "c" / "d", durable=True)
    assert synced == ["c", "a"]
