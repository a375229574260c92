"""The store to the letter: what it says, what it writes where, and what it does when others are at it too."""

import errno
import io
import json
import os
import platform
from pathlib import Path

import numpy as np
import pytest

from tests.engine.test_store import KEY, commit
from trueness.engine import DamagedObjectError, Store, StoreError, remembered
from trueness.engine import store as store_module
from trueness.engine.encoding import bytes_digest, digest
from trueness.engine.payload import parse_payload, under, write_payload
from trueness.engine.store import machine
from trueness.version import __version__


def damage(look, *args):
    """What is said of a damaged object."""
    with pytest.raises(DamagedObjectError) as told:
        look(*args)
    assert told.value.args == (told.value.key, told.value.why)
    assert str(told.value) == f"object {told.value.key} in the store is damaged: {told.value.why}"
    return told.value.why


def test_damage_is_described(store):
    commit(store)
    meta, value = (store.objects / KEY / name for name in ("meta.json", "value.json"))
    value.write_text("broken")
    assert damage(store.read, KEY, "value") == "value.json does not match its digest"
    assert damage(store.verify, KEY) == "value.json is missing or does not match its digest"
    value.unlink()
    assert damage(store.read, KEY, "value") == (
        f"value.json is missing or unreadable ([Errno 2] No such file or directory: '{value}')"
    )
    assert damage(store.verify, KEY) == "value.json is missing or does not match its digest"
    meta.write_text(meta.read_text().replace('"t"', '"u"'))
    assert damage(store.verify, KEY) == "meta.json does not match its digest"
    meta.write_text("{}")
    assert damage(store.meta, KEY) == "meta.json is missing or unreadable ('digest')"
    assert damage(store.meta, "b" * 40).startswith("meta.json is missing or unreadable ([Errno 2]")


def test_an_object_of_another_key_is_damage(store):
    commit(store)
    os.rename(store.objects / KEY, store.objects / ("b" * 40))
    assert damage(store.meta, "b" * 40) == "meta.json does not match its digest"


def test_a_payload_that_cannot_be_read_is_damage_to_verify(store, monkeypatch):
    commit(store)

    def refuse(path):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(store_module, "open_digest", refuse)
    assert damage(store.verify, KEY) == "value.json is missing or does not match its digest"


def test_a_payload_that_is_not_there_is_named_with_those_that_are(store):
    commit(store, table={"a": 1}, value=2)
    with pytest.raises(KeyError) as told:
        store.get(KEY).read("other")
    assert told.value.args == (f"object {KEY} has no payload 'other', only table.json, value.json",)


def test_the_payloads_of_an_object_are_listed_and_read(store):
    commit(store, second=2, first={"w": np.arange(2)})
    stored = store.get(KEY)
    assert stored.names() == ["first", "second"]
    assert stored.holds("first")
    assert not stored.holds("third")
    found = stored.everything()
    assert list(found) == ["first", "second"]
    assert found["second"] == 2
    assert found["first"]["w"].tolist() == [0, 1]


def test_what_is_written_of_an_object(store):
    store.commit(KEY, {"value": "ü"}, {"task": "tä", "seconds": 0.5})
    text = (store.objects / KEY / "meta.json").read_text(encoding="utf-8")
    meta = json.loads(text)
    assert text == json.dumps(meta, indent=1, ensure_ascii=False) + "\n"
    assert list(meta) == ["key", "task", "seconds", "payloads", "digest"]
    assert meta.pop("digest") == digest(meta)
    content = (store.objects / KEY / "value.json").read_bytes()
    assert content == '"ü"\n'.encode()
    assert meta["payloads"]["value.json"]["bytes"] == len(content)
    assert store.verify(KEY) == meta


def test_an_object_is_written_beside_its_place(store, monkeypatch):
    seen = []

    def note(folder, name, value):
        seen.append((folder.parent, folder.name.partition(".")[0], len(folder.name)))
        return write_payload(folder, name, value)

    monkeypatch.setattr(store_module, "write_payload", note)
    (store.path / "temporary").rmdir()
    commit(store)
    assert seen == [(store.path / "temporary", KEY, 40 + 1 + 32)], "and the folder it needs is made"


def test_a_rename_that_fails_otherwise_is_raised(store, monkeypatch):
    def refuse(*args):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OSError, match="broken"):
        commit(store)
    assert not list((store.path / "temporary").iterdir())


def test_the_sentence_of_a_full_store_says_that_finished_tasks_are_kept(store):
    with pytest.raises(StoreError) as told, store.disk():
        raise OSError(errno.ENOSPC, "")
    assert str(told.value) == (
        f"The disk that holds the store {store.path} is full; free some space and run the same command again: "
        "finished tasks are kept."
    )
    with pytest.raises(StoreError, match=r"cannot be written \(no\); choose another with --store\.$"), store.disk():
        raise OSError(errno.EROFS, "no")


def test_a_store_is_tried_before_any_work_and_left_as_it_was(store, monkeypatch):
    made = []
    mkdir = type(store.path).mkdir

    def note(path, **how):
        made.append(path)
        mkdir(path, **how)

    monkeypatch.setattr(type(store.path), "mkdir", note)
    store.check_writable()
    assert made[-1].parent == store.path / "temporary"
    assert made[-1].name.startswith("probe-")
    assert len(made[-1].name) == len("probe-") + 32
    assert not list((store.path / "temporary").iterdir())


@pytest.mark.parametrize(("make", "kind"), [("mkdir", "a folder"), ("link", "a link")])
def test_what_lies_in_the_place_of_a_lock_is_refused(store, make, kind):
    path = store.path / "locks" / f"{KEY}.lock"
    path.mkdir() if make == "mkdir" else path.symlink_to("/dev/null")
    with pytest.raises(StoreError) as told, store.lock(KEY):
        pass
    assert str(told.value) == f"{path} is {kind} where a store has a lock; move it away and run again."


def test_a_lock_is_gone_once_its_object_is_there(store):
    path = store.path / "locks" / f"{KEY}.lock"
    with store.lock(KEY):
        assert path.exists()
    with store.lock(KEY):
        commit(store)
    assert not path.exists()
    with pytest.raises(ValueError, match="inside"), store.lock(KEY):
        raise ValueError("inside")
    with store.lock(KEY) as free:
        assert free, "whatever happened"


def test_what_is_set_aside_is_kept_under_its_key(store):
    commit(store)
    assert not store.set_aside("b" * 40)
    assert not store.set_aside(KEY), "it is good"
    (store.objects / KEY / "value.json").write_text("broken")
    with store.lock(KEY):
        assert not store.set_aside(KEY), "somebody is at it"
    (store.path / "damaged").rmdir()
    assert store.set_aside(KEY)
    (kept,) = (store.path / "damaged").iterdir()
    assert kept.name.partition(".")[0] == KEY
    assert len(kept.name) == 40 + 1 + 8
    assert (kept / "value.json").read_text() == "broken"
    assert not store.has(KEY)


def test_a_store_without_objects_has_no_keys(store):
    store.objects.rmdir()
    assert list(store.keys()) == []


def test_the_account_of_a_failure_is_kept_and_its_end_read(store):
    assert store.read_log(KEY) is None
    (store.path / "logs").rmdir()
    path = store.write_log(KEY, "bad \udce9 ü")
    assert path == store.path / "logs" / f"{KEY}.log"
    assert store.read_log(KEY) == "bad \\udce9 ü"
    path.write_bytes(b"x" * 5 + b"\xff" + b"y" * 99_999)
    assert store.read_log(KEY) == "\ufffd" + "y" * 99_999
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert store.read_log(KEY) is None


def test_of_a_long_account_the_end_is_read(store):
    path = store.write_log(KEY, "")
    with path.open("r+b") as file:
        file.truncate(20 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"the error")
    assert store.read_log(KEY).endswith("\0the error")


SIGNED = {
    "a size of 5,000 digits": {"bytes": int("9" * 4000)},
    "a name that leads away": {"payloads": {"../../../value.json": {"digest": "", "bytes": 1}}},
    "payloads as a list": {"payloads": ["value.json"]},
    "a payload without a size": {"payloads": {"value.json": {"digest": ""}}},
    "inputs as a list": {"inputs": ["a"]},
    "inputs that are no keys": {"inputs": {"a": [1]}},
    "no inputs at all": {"inputs": None},
    "seconds in words": {"seconds": "long"},
}


@pytest.mark.parametrize("what", SIGNED)
def test_signed_nonsense_is_damage(store, what):
    commit(store)
    path = store.objects / KEY / "meta.json"
    meta = {**store.meta(KEY), **SIGNED[what]}
    path.write_text(json.dumps({**meta, "digest": digest(meta)}))
    for look in (store.verify, store.meta):
        assert damage(look, KEY).startswith("meta.json is ")


def payload(store, name, content):
    """An object with a payload of any content, rightly signed."""
    commit(store)
    (store.objects / KEY / "value.json").unlink()
    (store.objects / KEY / name).write_bytes(content)
    told = {"digest": bytes_digest(content), "bytes": len(content)}
    meta = {**store.meta(KEY), "payloads": {name: told}}
    (store.objects / KEY / "meta.json").write_text(json.dumps({**meta, "digest": digest(meta)}))


def bomb():
    """A parquet file of a few kilobytes with a billion rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    rows = pa.record_batch({"x": pa.array(np.zeros(1 << 20))})
    with pq.ParquetWriter(file, rows.schema, compression="zstd") as writer:
        for _ in range(100):
            writer.write_batch(rows)
    return file.getvalue()


NONSENSE = {
    "value.json": [b"1" * 5000, b"1" * 400, b"[" * 100_000, b"{", b"\xff"],
    "value.parquet": [b"PAR1", bomb()],
    "value.safetensors": [
        *(b"", b"\xff" * 100, b"\2" + 7 * b"\0" + b"[]", b"\x08" + 7 * b"\0" + b'{"a": 1}', b"\2" + 7 * b"\0" + b"{]"),
        (56).to_bytes(8, "little") + b'{"a": {"dtype": "F32", "shape":[9], "data_offsets":[0,36]}}'[:56],
        (59).to_bytes(8, "little") + b'{"a": {"dtype": "F32", "shape":[9], "data_offsets":[0,36]}}',
    ],
}


@pytest.mark.parametrize(("name", "content"), [(name, one) for name, some in NONSENSE.items() for one in some])
def test_signed_payloads_that_cannot_be_read_are_damage(store, name, content):
    payload(store, name, content)
    for look in (lambda key: store.read(key, "value"), store.verify):
        assert damage(look, KEY).startswith(f"{name} cannot be read (")
    assert store.set_aside(KEY)
    assert not store.has(KEY)


@pytest.mark.parametrize("name", ["meta.json", "value.json"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_what_is_no_ordinary_file_is_damage(store, name, make):
    commit(store)
    path = store.objects / KEY / name
    path.rename(path.with_suffix(".away"))
    make(path)
    assert name in damage(store.read, KEY, "value")
    assert name in damage(store.verify, KEY)


def test_runs_that_are_no_ordinary_files_are_passed_over(store):
    store.record_run("a", KEY, {})
    os.mkfifo(store.path / "runs" / "a.pipe.json")
    (store.path / "runs" / "a.zero.json").symlink_to("/dev/zero")
    (store.path / "runs" / "a.long.json").write_text('{"study": {}, "result": "", "finished": %s}' % ("9" * 5000))
    (store.path / "runs" / "a.large.json").write_text('{"study": {}, "result": "", "finished": %s}' % ("9" * 299))
    (store.path / "runs" / "a.deep.json").write_text("[" * 100_000)
    assert [found["result"] for found in store.runs("a")] == [KEY, ""]


def test_a_record_is_read_once_until_it_changes(store, monkeypatch):
    store.record_run("a", KEY, {"name": 1})
    path = store.path / "runs" / f"a.{KEY}.json"
    os.utime(path, (1000, 1000))
    monkeypatch.setattr(remembered, "JUST_NOW", -1)
    asked, read = [], remembered.read_inside
    monkeypatch.setattr(remembered, "read_inside", lambda *names, **how: asked.append(names) or read(*names, **how))
    assert [store.runs("a")[0]["study"]["name"] for _ in range(3)] == [1, 1, 1]
    assert len(asked) == 1
    store.record_run("a", KEY, {"name": 2})
    assert [store.runs("a")[0]["study"]["name"] for _ in range(3)] == [2, 2, 2]
    assert len(asked) == 2
    path.unlink()
    assert store.runs("a") == []


def test_failed_tasks_are_listed_the_last_first_and_those_done_since_are_not(store):
    for number, key in enumerate("cab"):
        os.utime(store.write_log(key * 40, "no"), (1000 + number, 1000 + number))
    (store.path / "logs" / "notes.txt").write_text("")
    assert store.failed() == ["b" * 40, "a" * 40, "c" * 40]
    commit(store, key="a" * 40)
    assert store.failed() == ["b" * 40, "c" * 40]
    (store.path / "logs" / "gone.log").symlink_to("/nowhere")
    assert store.failed()[0] == "gone", "a link is dated by itself"
    for item in (store.path / "logs").iterdir():
        item.unlink()
    (store.path / "logs").rmdir()
    assert store.failed() == []


def test_a_run_is_remembered_with_its_study_and_result(store, monkeypatch):
    moments = iter([20.0, 10.0, 30.0])
    monkeypatch.setattr(store_module.time, "time", lambda: next(moments))
    for name, key in (("a", "k1"), ("b", "k2"), ("a", "k3")):
        store.record_run(name, key, {"name": name})
    path = store.path / "runs" / "a.k1.json"
    record = {"study": {"name": "a"}, "result": "k1", "finished": 20.0}
    assert path.read_text() == json.dumps(record, indent=1)
    assert [found["result"] for found in store.runs()] == ["k2", "k1", "k3"]
    assert [found["result"] for found in store.runs("a")] == ["k1", "k3"]


def test_results_name_what_they_were_computed_with():
    found = machine()
    assert list(found)[:3] == ["trueness", "python", "platform"]
    assert found["trueness"] == __version__
    assert found["python"] == platform.python_version()
    assert found["platform"] == f"{platform.system()}-{platform.machine()}"
    assert {"numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "torch"} <= set(found)
    assert found["numpy"] == np.__version__


def test_a_store_is_not_durable_unless_asked(tmp_path):
    assert not Store(tmp_path).durable
    assert not Store.open(tmp_path / "a", create=True).durable
    assert Store.open(tmp_path / "a", durable=True).durable
    with pytest.raises(StoreError, match="There is no store at"):
        Store.open(tmp_path / "b")


@pytest.mark.parametrize("name", ["meta", "two words", "a/b", "1a", ""])
def test_a_payload_is_named_by_a_plain_word(tmp_path, name):
    with pytest.raises(ValueError, match="plain word") as told:
        write_payload(tmp_path, name, 1)
    assert str(told.value) == f"a payload name must be a plain word other than 'meta', not {name!r}"


def test_a_payload_is_written_in_the_format_of_its_type(tmp_path):
    import pandas as pd

    table = pd.DataFrame({"x": [1.5]}, index=[7])
    assert write_payload(tmp_path, "table", table).name == "table.parquet"
    assert parse_payload("table.parquet", (tmp_path / "table.parquet").read_bytes()).index.tolist() == [0]
    arrays = {"w": np.asfortranarray(np.arange(6).reshape(2, 3))}
    assert write_payload(tmp_path, "arrays", arrays).name == "arrays.safetensors"
    found = parse_payload("arrays.safetensors", (tmp_path / "arrays.safetensors").read_bytes())
    assert found["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    for value, text in (({}, "{}"), ({"w": [1]}, '{\n "w": [\n  1\n ]\n}'), ("ü", '"ü"'), (None, "null")):
        path = write_payload(tmp_path, "plain", value)
        assert (path.name, path.read_text(encoding="utf-8")) == ("plain.json", text + "\n")
    mixed = {"w": np.zeros(1), "x": 1}
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_payload(tmp_path, "mixed", mixed)


def test_what_one_of_several_parts_left_is_found_by_its_prefix():
    assert under("a.", {"a.x": 1, "a.a.y": 2, "b.x": 3, "xa.": 4}) == {"x": 1, "a.y": 2}
