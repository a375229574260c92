"""The store: a folder of content-addressed results, shared safely by several processes.

trueness-store.json    the format version; makes the folder a store
objects/KEY/           meta.json and payloads of one finished task; present means complete
temporary/KEY.RANDOM/  objects being written; moved into place with one rename
locks/KEY.lock         held while KEY is computed
logs/KEY.log           traceback of the last failure of KEY
runs/NAME.KEY.json     which study was run and which object is its result
progress/              how far runs are
ratings/               what people said of explanations
damaged/               objects whose digests did not match, kept for inspection
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import platform
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from trueness.boundary import first_line, parse_json
from trueness.engine.encoding import bytes_digest, digest, file_digest, open_digest
from trueness.engine.files import (
    StoreError,
    disk,
    inside,
    make_folder,
    read_inside,
    sync,
    sync_folder,
    write_atomically,
)
from trueness.engine.layout import abandoned_candidates, mend, open_folder
from trueness.engine.payload import SUFFIXES, check_payload, parse_payload, part_ending, write_payload
from trueness.engine.remembered import Remembered
from trueness.errors import UserError
from trueness.version import __version__

_LARGEST_META, _LARGEST_RECORD, _LARGEST_LOG = 256 << 20, 16 << 20, 1 << 20
"""Bytes that are read of meta.json (it names all inputs), of the record of a run, and of the end of a log."""
_META: dict[str, Any] = {
    **{"task": str, "device": str, "parameters": dict, "versions": dict, "inputs": dict, "parts": dict},
    **{"version": int, "seconds": int | float, "finished": int | float},
}
"""What meta.json holds beside the payloads."""


class DamagedObjectError(Exception):
    """A stored object that is not what was written."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(key, why)
        self.key, self.why = key, why

    def __str__(self) -> str:
        return f"object {self.key} in the store is damaged: {self.why}"


@dataclass(frozen=True)
class Stored:
    """One finished object, or one of the parts of a task that leaves several alike (see `in_parts`)."""

    store: Store
    key: str
    ending: str = ""
    """Of the names of a part's payloads."""

    @property
    def meta(self) -> dict[str, Any]:
        """Task, version, parameters, inputs, device, seconds (of parts too), library versions, payload digests."""
        return self.store.meta(self.key)

    def read(self, name: str) -> Any:
        """The payload of that name, its digest checked."""
        return self.store.read(self.key, name + self.ending)

    def part(self, number: int | None) -> Stored:
        """What one part left; with None all of it."""
        return self if number is None else replace(self, ending=part_ending(number))

    def names(self) -> list[str]:
        """Its payloads."""
        names = (file.rsplit(".", 1)[0] for file in self.meta["payloads"])
        return [name.removesuffix(self.ending) for name in names if name.endswith(self.ending)]

    def everything(self) -> dict[str, Any]:
        """All payloads by their names."""
        return {name: self.read(name) for name in self.names()}

    def holds(self, name: str) -> bool:
        """Whether there is a payload of that name."""
        return name in self.names()


class Store:
    """Open with `Store.open`; reading never writes, so a read-only store can be reported on."""

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self.path = path
        self.durable = durable
        self.objects = path / "objects"
        self._records = Remembered(path, "runs", _LARGEST_RECORD)
        self.progress = Remembered(path, "progress", 1 << 20)

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False, durable: bool = False) -> Store:
        """Open the store at `path`; with `create`, make one where there is none (see `open_folder`).

        With `durable`, what is written is on the disk before it counts as there, and survives a power cut. Otherwise a
        power cut may damage what was written last, which is found by its digest and computed again.
        """
        open_folder(Path(path), create=create, durable=durable)
        return cls(Path(path), durable=durable)

    def disk(self) -> contextlib.AbstractContextManager[None]:
        """Turn a full or read-only disk into a sentence."""
        return disk(
            f"the store {self.path}",
            full="free some space and run the same command again: finished tasks are kept",
            refused="choose another with --store",
        )

    def check_writable(self) -> None:
        """Refuse a store that cannot take results, before any work starts; folders it lacks are made."""
        with self.disk():
            mend(self.path, durable=self.durable)
            probe = self.path / "temporary" / f"probe-{uuid.uuid4().hex}"
            probe.mkdir()
            probe.rmdir()

    def has(self, key: str) -> bool:
        """Whether the object is there; its content is checked when it is read."""
        return os.path.lexists(self.objects / key)

    def get(self, key: str) -> Stored:
        """The object of that key."""
        return Stored(self, key)

    def keys(self) -> Iterator[str]:
        """The keys of all objects, in no order."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.objects) as entries:
            yield from (entry.name for entry in entries)

    def meta(self, key: str) -> dict[str, Any]:
        """The object's meta.json, its own digest checked."""
        try:
            meta = dict(parse_json(read_inside(self.objects, key, "meta.json", largest=_LARGEST_META)))
            intact = meta.pop("digest") == digest(meta) and meta["key"] == key
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DamagedObjectError(key, f"meta.json is missing or unreadable ({error})") from error
        if not intact:
            raise DamagedObjectError(key, "meta.json does not match its digest")
        if fault := _fault(meta):
            raise DamagedObjectError(key, f"meta.json is not as a store writes it: {fault}")
        return meta

    def read(self, key: str, name: str) -> Any:
        """One payload, its digest checked before it is parsed."""
        payloads = self.meta(key)["payloads"]
        file = next((name + suffix for suffix in SUFFIXES if name + suffix in payloads), None)
        if file is None:
            raise KeyError(f"object {key} has no payload {name!r}, only {', '.join(payloads)}")
        try:
            with inside(self.objects, key, file) as opened:
                whole = _size(opened) == payloads[file]["bytes"]
                data = opened.read() if whole else b""
        except OSError as error:
            raise DamagedObjectError(key, f"{file} is missing or unreadable ({error})") from error
        if not whole or bytes_digest(data) != payloads[file]["digest"]:
            raise DamagedObjectError(key, f"{file} does not match its digest")
        try:
            return parse_payload(file, data)
        except MemoryError:
            raise
        except Exception as error:  # whatever a library says of what was signed and is no payload
            raise DamagedObjectError(key, f"{file} cannot be read ({first_line(error)})") from error

    def verify(self, key: str) -> dict[str, Any]:
        """Check meta.json and every payload: its digest, and that it can be read; returns the meta data or raises."""
        meta = self.meta(key)
        for file, recorded in meta["payloads"].items():
            try:
                with inside(self.objects, key, file) as opened:
                    intact = _size(opened) == recorded["bytes"] and open_digest(opened) == recorded["digest"]
                    unreadable = _unreadable(file, opened) if intact else ""
            except OSError:
                intact = False
            if not intact:
                raise DamagedObjectError(key, f"{file} is missing or does not match its digest")
            if unreadable:
                raise DamagedObjectError(key, f"{file} cannot be read ({unreadable})")
        return meta

    def commit(self, key: str, payloads: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
        """Write the object beside its place and move it in with one rename; all of it or nothing."""
        with self.disk():
            temporary = self.path / "temporary" / f"{key}.{uuid.uuid4().hex}"
            temporary.mkdir(parents=True)
            try:
                files = [write_payload(temporary, name, value) for name, value in payloads.items()]
                recorded = {
                    file.name: {"digest": file_digest(file), "bytes": file.stat().st_size} for file in sorted(files)
                }
                full = {"key": key, **meta, "payloads": recorded}
                text = json.dumps({**full, "digest": digest(full)}, indent=1, ensure_ascii=False) + "\n"
                (temporary / "meta.json").write_text(text, encoding="utf-8")
                if self.durable:
                    sync_folder(temporary)
                self._move_in(temporary, key)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)

    def _move_in(self, temporary: Path, key: str) -> None:
        make_folder(self.objects, durable=self.durable)
        try:
            os.rename(temporary, self.objects / key)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            self.keep(key)  # another process finished the same pure task first; its object stands
        else:
            if self.durable:
                sync(self.objects)

    def keep(self, key: str) -> None:
        """Where the store is durable, bring an object to the disk that another run may not have brought there."""
        if self.durable:
            with self.disk(), contextlib.suppress(FileNotFoundError):  # set aside by another run
                sync_folder(self.objects / key)
                sync(self.objects)

    def set_aside(self, key: str) -> bool:
        """Move an object out of the way if it is damaged, so that it is computed again; whether it was moved.

        Another process may have done so, or be computing it anew: its lock and a second look prevent moving a good one.
        """
        with self.lock(key) as free:
            if not free or not self.has(key):
                return False
            try:
                self.verify(key)
            except DamagedObjectError:
                target = self.path / "damaged" / f"{key}.{uuid.uuid4().hex[:8]}"
                with self.disk():
                    make_folder(target.parent)
                    os.rename(self.objects / key, target)
                return True
            return False

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[bool]:
        """Yield whether this process may compute `key`; never waits. The right ends with the process."""
        path = self.path / "locks" / f"{key}.lock"
        if path.is_symlink() or (path.exists() and not path.is_file()):
            kind = "a link" if path.is_symlink() else "a folder" if path.is_dir() else "no ordinary file"
            raise StoreError(f"{path} is {kind} where a store has a lock; move it away and run again.")
        lock = FileLock(path, timeout=0)
        try:
            with self.disk():
                lock.acquire()
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            if self.has(key):
                path.unlink(missing_ok=True)
            lock.release()

    def collect_garbage(self) -> int:
        """Remove temporaries whose writer is gone (nobody holds their key's lock); returns how many."""
        removed = 0
        for key, folder in abandoned_candidates(self.path):
            with self.lock(key) as abandoned:
                if abandoned:
                    shutil.rmtree(folder, ignore_errors=True)
                    removed += 1
        return removed

    def write_log(self, key: str, text: str) -> Path:
        """Keep the account of a failure; returns the file."""
        path = self.path / "logs" / f"{key}.log"
        with self.disk():
            make_folder(path.parent)
            write_atomically(path, text.encode("utf-8", errors="backslashreplace"))
        return path

    def read_log(self, key: str) -> str | None:
        """The account of the last failure of a task, or None; of a very long one the end, where the error stands."""
        try:
            with inside(self.path, "logs", f"{key}.log") as file:
                file.seek(max(0, _size(file) - _LARGEST_LOG))
                return file.read(_LARGEST_LOG).decode("utf-8", "replace")[-100_000:]
        except OSError:
            return None

    def failed(self) -> list[str]:
        """The keys of tasks that failed and are not in the store by now, the last one first."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self.path / "logs") as entries:
            for entry in entries:
                key = entry.name.removesuffix(".log")
                with contextlib.suppress(OSError):
                    if key != entry.name and not self.has(key):
                        found.append((entry.stat(follow_symlinks=False).st_mtime, key))
        return [key for _, key in sorted(found, reverse=True)]

    def record_run(self, name: str, key: str, study: Mapping[str, Any]) -> None:
        """Remember that a study was run with this result."""
        record = {"study": dict(study), "result": key, "finished": time.time()}
        with self.disk():
            path = self.path / "runs" / f"{name}.{key}.json"
            make_folder(path.parent, durable=self.durable)
            write_atomically(path, json.dumps(record, indent=1).encode(), durable=self.durable)

    def runs(self, name: str | None = None) -> list[dict[str, Any]]:
        """The recorded runs, of one study or of all, the newest last; files that hold no record are passed over."""
        found = []
        for file, record in self._records.read().items():
            # Cut short by a power failure, or put there by somebody; the objects themselves are checked.
            with contextlib.suppress(ValueError, KeyError, TypeError):
                ours = name is None or file.startswith(f"{name}.")
                if ours and isinstance(record["study"], dict) and isinstance(record["result"], str):
                    found.append((float(record["finished"]), file, record))
        return [record for _, _, record in sorted(found, key=lambda item: item[:2])]


def _size(file: BufferedReader) -> int:
    return os.fstat(file.fileno()).st_size


def _unreadable(name: str, file: BufferedReader) -> str:
    """Why a payload that is as it was written is none; empty where it is one."""
    try:
        check_payload(name, file)
    except (MemoryError, OSError, UserError):
        raise
    except Exception as error:  # whatever a library says, as in `Store.read`
        return first_line(error)
    return ""


def _fault(meta: dict[str, Any]) -> str:
    """What of meta.json is not as this program writes it, though the digest is right."""
    payloads = meta.get("payloads")
    if not isinstance(payloads, dict):
        return "it lists no payloads"
    for file, about in payloads.items():
        name, dot, suffix = file.partition(".")
        told = about if isinstance(about, dict) else {}
        if not name.isidentifier() or dot + suffix not in SUFFIXES:
            return f"{file!r} is no name of a payload"
        if not isinstance(told.get("digest"), str) or not isinstance(told.get("bytes"), int) or told["bytes"] < 0:
            return f"{file} has no digest and size"
    if wrong := [name for name, kind in _META.items() if name in meta and not isinstance(meta[name], kind)]:
        return f"{wrong[0]} is {type(meta[wrong[0]]).__name__}"
    for keys in meta.get("inputs", {}).values():
        if not all(isinstance(key, str) for key in (keys if isinstance(keys, list) else [keys])):
            return "an input is no key"
    return ""


@functools.cache
def machine() -> dict[str, str]:
    """What the results were computed on and with, as far as it can change them."""
    from importlib import metadata

    versions = {}
    for name in ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "torch"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    system = f"{platform.system()}-{platform.machine()}"
    return {"trueness": __version__, "python": platform.python_version(), "platform": system, **versions}
