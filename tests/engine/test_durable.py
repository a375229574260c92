"""Power cuts: what a durable store says is there is there, if only what was synced reached the disk."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.engine.tasks import every_payload
from tests.engine.test_driver import values
from tests.engine.test_store import KEY, commit
from trueness.engine import DamagedObjectError, Store, StoreError, run


class Disk:
    """A disk that keeps, at a power cut, of a file the bytes and of a folder the names at their last fsync; no more."""

    def __init__(self, root, monkeypatch):
        self.root, self.files, self.folders = root, {}, {}
        self.cut_after = []
        self.folders[root.stat().st_ino] = {}
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, handle):
        self._fsync(handle)
        state, path = os.fstat(handle), Path(f"/proc/self/fd/{handle}").resolve()
        if stat.S_ISDIR(state.st_mode):
            self.folders[state.st_ino] = {item.name: (item.stat().st_ino, item.is_dir()) for item in path.iterdir()}
        else:
            self.files[state.st_ino] = path.read_bytes()
        self.cut_after.append((dict(self.files), dict(self.folders)))

    def after_a_cut(self, target, moment=-1):
        """The tree as it would be found again had the power been cut after that sync."""
        files, folders = self.cut_after[moment]

        def restore(number, place):
            place.mkdir()
            for name, (inner, is_folder) in folders.get(number, {}).items():
                if is_folder:
                    restore(inner, place / name)
                else:
                    (place / name).write_bytes(files.get(inner, b""))

        restore(self.root.stat().st_ino, target)
        return target


@pytest.fixture
def disk(tmp_path, monkeypatch):
    (tmp_path / "disk").mkdir()
    return Disk(tmp_path / "disk", monkeypatch)


def intact(store):
    """The keys of all objects, each of which must be what was written."""
    return {store.verify(key)["key"] for key in store.keys()}  # noqa: SIM118  # a store is no mapping


def test_what_a_durable_store_has_taken_survives_a_power_cut_at_any_moment(disk, tmp_path):
    store = Store.open(disk.root / "new" / "store", create=True, durable=True)
    work = [values(3), every_payload()]
    with ThreadPoolExecutor(1) as executor:
        assert run(work, store, executor).complete
    store.record_run("study", work[0].key, {"name": "study"})
    found = []
    for moment in range(len(disk.cut_after)):
        root = disk.after_a_cut(tmp_path / f"cut-{moment}", moment)
        try:
            found.append(len(intact(Store.open(root / "new" / "store"))))
        except StoreError:
            assert moment < 5, "the store itself was being created"
            found.append(0)
    assert found == sorted(found)
    assert found[-1] == 5
    last = Store.open(disk.after_a_cut(tmp_path / "last") / "new" / "store")
    assert intact(last) == intact(store)
    assert [record["result"] for record in last.runs("study")] == [work[0].key]


def test_an_object_survives_also_where_the_folder_of_objects_had_to_be_made_anew(disk, tmp_path):
    store = Store.open(disk.root / "store", create=True, durable=True)
    store.objects.rmdir()
    commit(store)
    assert intact(Store.open(disk.after_a_cut(tmp_path / "cut") / "store")) == {KEY}


def test_a_durable_run_also_syncs_what_others_left_unsynced(disk, tmp_path):
    fast = Store.open(disk.root / "store", create=True)
    with ThreadPoolExecutor(1) as executor:
        run([values(3)], fast, executor)
        assert not disk.cut_after, "the default syncs nothing"
        assert run([values(3)], Store.open(disk.root / "store", durable=True), executor).cached == 4
    found = disk.cut_after[-1]
    assert len(found[0]) == 2 * 4, "the payload and the meta data of each object"


def test_without_durability_a_cut_damages_what_is_then_computed_again(disk, tmp_path):
    """The rename may reach the disk before the bytes: that is found by its digest."""
    store = Store.open(disk.root / "store", create=True)
    with ThreadPoolExecutor(1) as executor:
        run([values(3)], store, executor)
        for path in store.objects.glob("*/*"):
            path.write_bytes(b"")
        with pytest.raises(DamagedObjectError):
            intact(store)
        again = run([values(3)], store, executor)
    assert (len(again.damaged), again.computed) == (4, 4)
    assert len(intact(store)) == 4


@pytest.mark.slow
def test_durability_reaches_the_workers_and_is_a_setting_of_run(disk, tmp_path, monkeypatch):
    import trueness as tn

    seen = []
    commit_object = Store.commit

    def note(self, *args):
        seen.append(self.durable)
        return commit_object(self, *args)

    monkeypatch.setattr(Store, "commit", note)
    with ThreadPoolExecutor(1) as executor:
        for durable in (False, True):
            seen.clear()
            tn.run(
                "roar-synthetic",
                store=disk.root / f"store-{durable}",
                executor=executor,
                durable=durable,
                seeds=1,
                data={"train": 60, "test": 60},
            )
            assert set(seen) == {durable}
    assert intact(Store.open(disk.after_a_cut(tmp_path / "cut") / "store-True"))
