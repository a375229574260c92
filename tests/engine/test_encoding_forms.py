"""The canonical form of each type, to the letter, and what is said of values that have none."""

import enum
import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from trueness.engine import encoding
from trueness.engine.encoding import bytes_digest, canonical, digest, file_digest, path_digest, plain
from trueness.errors import UserError
from trueness.plugins import Reference, Source


class Colour(enum.Enum):
    RED = (1.0, "red")


@dataclass
class Options:
    b: float
    a: tuple[int, ...]


class Model:
    """As pydantic's models."""

    def model_dump(self):
        return {"z": 1.0, "y": {2}}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, None),
        (True, True),
        ("text", "text"),
        (3, 3),
        (2.0, 2),
        (0.5, 0.5),
        (-0.0, 0),
        ((1, [2.0, (3,)]), [1, [2, [3]]]),
        ({"b": 1.0, "a": (2,)}, {"a": [2], "b": 1}),
        ({"x", "a"}, ["a", "x"]),
        (frozenset([10, 9]), [10, 9]),
        (Colour.RED, [1, "red"]),
        (Options(0.5, (1,)), {"a": [1], "b": 0.5}),
        (Model(), {"y": [2], "z": 1}),
        (np.int32(4), 4),
        (np.float32(0.5), 0.5),
        (np.array(3.0), 3),
        (np.bool_(True), True),
    ],
)
def test_every_type_has_its_form(value, form):
    for make in (canonical, plain):
        found = make(value)
        assert found == form
        assert type(found) is type(form)


def test_keys_of_a_mapping_are_put_in_order():
    assert list(canonical({"b": 1, "a": 2})) == ["a", "b"]
    assert list(plain({"b": {"d": 1, "c": 2}})["b"]) == ["c", "d"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({1: 2}, "parameter mappings must have string keys"),
        ({"a": 1, 2: 3}, "parameter mappings must have string keys"),
        (float("nan"), "nan is not a valid parameter"),
        (float("-inf"), "-inf is not a valid parameter"),
        (b"bytes", "a parameter of type bytes has no canonical form"),
        (np.zeros(3), "a parameter of type ndarray has no canonical form"),
        (np.zeros(1), "a parameter of type ndarray has no canonical form"),
        (Options, "a parameter of type type has no canonical form"),
        (np.longdouble(0.1), "a parameter of type longdouble has no canonical form"),
        (SimpleNamespace(item=lambda: 1), "a parameter of type SimpleNamespace has no canonical form"),
        (SimpleNamespace(ndim=0), "a parameter of type SimpleNamespace has no canonical form"),
        ([{"a": [object()]}], "a parameter of type object has no canonical form"),
    ],
)
def test_what_has_no_form_is_named(value, said):
    for make in (canonical, plain):
        with pytest.raises(TypeError) as told:
            make(value)
        assert str(told.value) == said


def test_paths_and_references_stand_for_their_content_and_travel_as_they_are(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    source = Source("mine.py:f", "/there/mine.py:f", "", "0" * 40, "2")
    reference = Reference("mine.py:f", (source,))
    values = [path, (reference,), {"x": path}, {reference}, Options(path, ())]
    assert plain(values) == [path, [reference], {"x": path}, [reference], {"a": [], "b": path}]
    assert isinstance(plain(values)[1][0], Reference)
    assert plain(np.array(path, dtype=object)) == path, "also in NumPy's wrapping"
    content = {"content of a path": hashlib.blake2b(b"abc", digest_size=20).hexdigest()}
    identity = {"outside": "mine.py:f", "sources": [{"name": "mine.py:f", "version": "2", "source": "0" * 40}]}
    assert canonical(values) == [content, [identity], {"x": content}, [identity], {"a": [], "b": content}]


def test_a_digest_is_of_one_fixed_text():
    def literal(text):
        return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()

    assert digest({"b": [1, 0.5, None], "a": "ü"}) == literal('{"a":"\\u00fc","b":[1,0.5,null]}')
    assert bytes_digest(b"abc") == literal("abc")
    assert len(digest(0)) == 40


def test_a_file_is_read_as_bytes_and_a_folder_by_its_names_and_contents(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "b").write_bytes(b"\r\n\xff")
    (tmp_path / "inner" / "a").write_bytes(b"2")
    assert file_digest(tmp_path / "b") == path_digest(tmp_path / "b") == bytes_digest(b"\r\n\xff")
    assert path_digest(tmp_path) == digest({"b": bytes_digest(b"\r\n\xff"), "inner/a": bytes_digest(b"2")})
    with pytest.raises(UserError) as told:
        path_digest(tmp_path / "none")
    assert str(told.value) == f"There is no file or folder {tmp_path / 'none'}."


@pytest.mark.parametrize("changed", ["st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns"])
def test_a_file_is_read_again_when_anything_the_system_tells_of_it_changed(tmp_path, monkeypatch, changed):
    read = []
    monkeypatch.setattr(encoding, "file_digest", lambda path: read.append(path) or "digest")
    state = {"st_dev": 1, "st_ino": 2, "st_size": 3, "st_mtime_ns": 4, "st_ctime_ns": 5}
    path = tmp_path / "a"
    monkeypatch.setattr(Path, "stat", lambda self: SimpleNamespace(**state))
    assert [encoding._remembered(path) for _ in range(2)] == ["digest"] * 2
    assert len(read) == 1
    state[changed] += 10
    encoding._remembered(path)
    encoding._remembered(path)
    assert len(read) == 2


@pytest.mark.parametrize("newer", ["st_mtime_ns", "st_ctime_ns"])
def test_a_file_of_the_last_two_seconds_is_always_read(tmp_path, monkeypatch, newer):
    read, now = [], 10 * 10**9
    monkeypatch.setattr(encoding, "file_digest", lambda path: read.append(path) or "digest")
    monkeypatch.setattr(encoding.time, "time_ns", lambda: now)
    state = {"st_dev": 1, "st_ino": 2, "st_size": 3, "st_mtime_ns": 4, "st_ctime_ns": 5, newer: now - 2 * 10**9 + 1}
    monkeypatch.setattr(Path, "stat", lambda self: SimpleNamespace(**state))
    path = tmp_path / "a"
    for _ in range(3):
        assert encoding._remembered(path) == "digest"
    assert len(read) == 3
    state[newer] -= 1
    for _ in range(3):
        encoding._remembered(path)
    assert len(read) == 4
