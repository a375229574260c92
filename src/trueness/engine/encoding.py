"""Canonical encoding of parameters: equal meaning gives equal bytes, and so equal keys.

Order of mapping keys, 1 or 1.0, list or tuple, NumPy or Python numbers do not matter. A `Path` stands for what it
holds, not for where it lies: two copies of a file have the same key, and editing one changes it. The name of something
outside the package stands for its source as well.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

from trueness.boundary import ordinary
from trueness.errors import UserError
from trueness.plugins import Reference

JUST_NOW = 2 * 10**9
"""Nanoseconds in which a file may change twice without its time saying so."""


def canonical(value: Any) -> Any:
    """The JSON value that stands for `value`; TypeError for what has no canonical form."""
    return _convert(value, _content)


def plain(value: Any) -> Any:
    """The same with paths and references kept: what travels to a task, so that equal keys mean equal parameters."""
    return _convert(value, lambda outside: outside)


def _content(outside: Path | Reference) -> Any:
    return outside.identity if isinstance(outside, Reference) else {"content of a path": path_digest(outside)}


def _convert(value: Any, outside: Callable[[Path | Reference], Any]) -> Any:  # noqa: PLR0911  # one return per type is the clearest form
    if isinstance(value, enum.Enum):
        return _convert(value.value, outside)
    if isinstance(value, Path | Reference):
        return outside(value)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _canonical_float(float(value))
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("parameter mappings must have string keys")
        return {key: _convert(value[key], outside) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_convert(item, outside) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_convert(item, outside) for item in value), key=_dump)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _convert({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, outside)
    if hasattr(value, "model_dump"):
        return _convert(value.model_dump(), outside)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0 and not isinstance(value.item(), type(value)):
        return _convert(value.item(), outside)
    raise TypeError(f"a parameter of type {type(value).__name__} has no canonical form")


def _canonical_float(value: float) -> float | int:
    if not math.isfinite(value):
        raise TypeError(f"{value} is not a valid parameter")
    return int(value) if value.is_integer() else value


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """40 hexadecimal digits of the canonical encoding."""
    return bytes_digest(_dump(canonical(value)).encode())


def bytes_digest(data: bytes) -> str:
    """40 hexadecimal digits of some bytes."""
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def file_digest(path: Path) -> str:
    """40 hexadecimal digits of a file's content, read in pieces."""
    with ordinary(path) as file:
        return open_digest(file)


def open_digest(file: BufferedReader) -> str:
    """The same of an open file."""
    return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20)).hexdigest()


def path_digest(path: Path) -> str:
    """Digest of a file, or of a folder's relative names and contents."""
    if path.is_dir():
        files = sorted(item for item in path.rglob("*") if item.is_file())
        return digest({item.relative_to(path).as_posix(): _remembered(item) for item in files})
    if not path.exists():
        raise UserError(f"There is no file or folder {path}.")
    return _remembered(path)


def _remembered(path: Path) -> str:
    """A file's digest, computed once as long as nothing was written to it: the keys of many tasks contain it.

    What a program writes through a memory map may not change a file's times; such a file must have been closed before.
    """
    state = path.stat()
    newest = max(state.st_mtime_ns, state.st_ctime_ns)
    if time.time_ns() - newest < JUST_NOW:  # another change may have the same time
        return file_digest(path)
    return _digest_of(path, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@functools.cache
def _digest_of(path: Path, *_: int) -> str:
    return file_digest(path)
