import errno
import os

import numpy as np
import pytest

from trueness.engine import DamagedObjectError, Store, StoreError, disk, in_parts, write_atomically
from trueness.engine import store as store_module

KEY = "a" * 40


def commit(store, key=KEY, **payloads):
    store.commit(key, payloads or {"value": 1}, {"task": "t", "seconds": 0.0})


def test_what_is_committed_can_be_read(store):
    import pandas as pd

    table = pd.DataFrame({"x": [1.5, None], "s": ["ä", "b"]})
    commit(store, table=table, arrays={"w": np.ones((2, 3), np.float32)}, plain={"a": [1, "ü"]})
    stored = store.get(KEY)
    pd.testing.assert_frame_equal(stored.read("table"), table)
    assert stored.read("arrays")["w"].dtype == np.float32
    assert stored.read("plain") == {"a": [1, "ü"]}
    assert stored.meta["task"] == "t"
    assert set(stored.meta["payloads"]) == {"table.parquet", "arrays.safetensors", "plain.json"}
    assert list(store.keys()) == [KEY]
    assert not list((store.path / "temporary").iterdir())
    with pytest.raises(KeyError, match="no payload 'other'"):
        stored.read("other")


def test_parts_are_read_as_if_each_were_alone(store):
    parts = [{"facts": {"seed": number}, **({"more": [number]} if number else {})} for number in range(11)]
    store.commit("cd" * 32, in_parts(parts), {"task": "several"})
    stored = store.get("cd" * 32)
    assert stored.part(None) is stored
    for number, part in enumerate(parts):
        found = stored.part(number)
        assert found.everything() == part
        assert found.holds("more") is bool(number)
        assert found.meta == stored.meta
    assert len(stored.names()) == 21


def test_the_same_payload_has_the_same_bytes(tmp_path):
    stores = [Store.open(tmp_path / name, create=True) for name in "ab"]
    for store in stores:
        commit(store, arrays={"b": np.arange(3), "a": np.ones(2)}, plain={"x": 0.1})
    assert stores[0].meta(KEY)["payloads"] == stores[1].meta(KEY)["payloads"]


@pytest.mark.parametrize("payload", ["value.json", "meta.json"])
@pytest.mark.parametrize("harm", ["flip", "truncate", "remove", "append"])
def test_damage_is_detected_on_read_and_by_verify(store, payload, harm):
    commit(store)
    path = store.objects / KEY / payload
    data = bytearray(path.read_bytes())
    if harm == "flip":
        data[len(data) // 2] ^= 0x01
    elif harm == "truncate":
        data = data[: len(data) // 2]
    elif harm == "append":
        data += b"1"
    path.write_bytes(data)
    if harm == "remove":
        path.unlink()
    for look in (lambda: store.get(KEY).read("value"), lambda: store.verify(KEY)):
        with pytest.raises(DamagedObjectError, match=KEY):
            look()


@pytest.mark.parametrize(
    "content", ["[]", '"text"', "null", '{"digest": 1, "seconds": NaN}', '{"digest": 1, "x": 1e999}']
)
def test_an_odd_meta_is_damage_too(store, content):
    commit(store)
    (store.objects / KEY / "meta.json").write_text(content)
    with pytest.raises(DamagedObjectError):
        store.verify(KEY)


def test_a_file_in_place_of_an_object_is_damage(store):
    (store.objects / KEY).write_text("")
    assert store.has(KEY)
    with pytest.raises(DamagedObjectError):
        store.verify(KEY)
    assert store.set_aside(KEY)


def test_scalars_keep_their_shape(store):
    commit(store, arrays={"x": np.float64(2.5), "y": np.array(3)})
    assert store.get(KEY).read("arrays")["x"].shape == ()


def test_a_failed_commit_leaves_nothing(store):
    with pytest.raises(ValueError, match=r"JSON compliant|float"):
        commit(store, good={"a": 1}, bad=float("nan"))
    assert not store.has(KEY)
    assert not list((store.path / "temporary").iterdir())


def test_the_first_of_two_commits_stands(store):
    commit(store, value=1)
    commit(store, value=1)
    assert store.get(KEY).read("value") == 1
    assert not list((store.path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(errno.ENOSPC, "is full"), (errno.EROFS, "cannot be written"), (errno.EACCES, "cannot be written")],
)
def test_a_full_or_read_only_disk_is_a_sentence_and_leaves_nothing(store, monkeypatch, number, sentence):
    def refuse(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(store_module, "write_payload", refuse)
    with pytest.raises(StoreError, match=sentence):
        commit(store)
    assert not store.has(KEY)
    assert not list((store.path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("name", "why"), [("x" * 300, "too long"), ("y/" * 3000, "too long"), ("loop/store", "levels")]
)
def test_a_path_that_no_folder_can_have_is_a_sentence(tmp_path, name, why):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(StoreError):
        Store.open(tmp_path / name)
    with pytest.raises(
        StoreError, match=rf"^The store \S+ cannot be written \(.*{why}.*\); choose another with --store"
    ):
        Store.open(tmp_path / name, create=True)
    with (
        pytest.raises(StoreError, match="The model m cannot be written"),
        disk("the model m", full="free some space", refused="choose another folder"),
    ):
        write_atomically(tmp_path / name, b"")


def test_a_store_that_cannot_be_written_is_refused_before_any_work(store, monkeypatch):
    store.check_writable()

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(type(store.path), "mkdir", refuse)
    with pytest.raises(StoreError, match="cannot be written"):
        store.check_writable()


def test_a_lock_is_held_by_one(store):
    with store.lock(KEY) as first:
        assert first
        with store.lock(KEY) as second:
            assert not second
    with store.lock(KEY) as again:
        assert again


def test_arrays_come_back_in_the_order_of_their_names(store):
    names = [f"array {number}" for number in range(20)]
    commit(
        store, arrays={name: np.zeros(1, np.float32 if index % 2 else np.float64) for index, name in enumerate(names)}
    )
    for _ in range(20):
        assert list(store.get(KEY).read("arrays")) == sorted(names)
