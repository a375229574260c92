import enum
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.engine.tasks import double, total
from trueness.engine import TaskType, encoding
from trueness.engine.encoding import canonical, digest, file_digest


def test_equal_meaning_gives_equal_digests():
    @dataclass
    class Options:
        b: float
        a: int

    class Model(BaseModel):
        a: int
        b: float

    class Colour(enum.Enum):
        RED = "red"

    same = [
        {"a": 1, "b": 0.5},
        {"b": 0.50, "a": 1.0},
        {"b": np.float64(0.5), "a": np.int32(1)},
        Options(0.5, 1),
        Model(a=1, b=0.5),
    ]
    assert len({digest(value) for value in same}) == 1
    assert digest((1, 2)) == digest([1, 2.0])
    assert digest({3, 1}) == digest({1, 3})
    assert digest(Colour.RED) == digest("red")
    assert digest(-0.0) == digest(0)
    assert digest(2**60) == digest(2.0**60)


def test_different_meaning_gives_different_digests():
    values = [0, 1, True, False, None, "1", "", [], [1], {}, {"a": 1}, 1.5, [[1], 2], [1, [2]], "true"]
    assert len({digest(value) for value in values}) == len(values)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_survive(value):
    assert float(canonical(value)) == value


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), np.longdouble(0.1), object(), {1: 2}, b"bytes", np.zeros(3)]
)
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(TypeError):
        canonical(value)


def test_a_path_stands_for_its_content(tmp_path):
    first, second = tmp_path / "a" / "data.csv", tmp_path / "b" / "moved.csv"
    for path in (first, second):
        path.parent.mkdir()
        path.write_text("x,y\n")
    assert digest(first) == digest(second)
    assert digest(first.parent) != digest(second.parent)  # a folder's file names count
    second.write_text("x,z\n")
    assert digest(first) != digest(second)
    assert digest(str(first)) != digest(first)


def test_a_file_is_read_once_until_it_is_written_to(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(encoding, "file_digest", lambda path: (read.append(path), file_digest(path))[1])
    path = tmp_path / "weights.bin"
    path.write_bytes(b"old")
    assert digest(path) == digest(path)
    assert len(read) == 2  # just written: its time could hide a second change
    monkeypatch.setattr(encoding, "JUST_NOW", 0)
    old = digest(path)
    assert digest(path) == digest(tmp_path / "weights.bin") == old
    assert len(read) == 3
    time.sleep(0.02)  # so that its time differs
    path.write_bytes(b"new")
    assert digest(path) != old
    assert len(read) == 4
    other = tmp_path / "other.bin"
    other.write_bytes(b"old")
    shutil.copystat(path, other)
    other.replace(path)
    assert digest(path) == old


def test_keys_depend_on_name_version_parameters_and_inputs():
    base = total({"parts": [double(value=1)]})
    changed = TaskType("double", 2, double.function)
    others = [
        total({"parts": [double(value=2)]}),
        total({"parts": [changed(value=1)]}),  # a new version upstream changes keys downstream
        total({"parts": [double(value=1), double(value=1)]}),
        total({"parts": [double(value=1)]}, log="x"),
        double(value=1),
    ]
    assert len({task.key for task in [base, *others]}) == 6
    assert total({"parts": (double(value=1.0),)}).key == base.key
    assert total({"parts": double(value=1)}).key != base.key  # one object is not a list of one
    assert Path(base.key).name == base.key
