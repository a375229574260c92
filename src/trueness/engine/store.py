"""The store: a folder of content-addressed results, shared safely by several processes.

trueness-store.json    the format version; makes the folder a store
objects/KEY/           meta.json and payloads of one finished task; present means complete
temporary/KEY.RANDOM/  objects being written; moved into place with one rename
locks/KEY.lock         held while KEY is computed
logs/KEY.log           traceback of the last failure of KEY
runs/NAME.KEY.json     which study was run and which object is its result
damaged/               objects whose digests did not match, kept for inspection
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from trueness.engine.encoding import bytes_digest, digest, file_digest
from trueness.engine.files import StoreError, disk, write_atomically
from trueness.engine.payload import SUFFIXES, parse_payload, write_payload
from trueness.version import __version__

FORMAT = 1
_MARKER = "trueness-store.json"
_FOLDERS = ("objects", "temporary", "locks", "logs", "runs", "damaged")


class DamagedObjectError(Exception):
    """A stored object that is not what was written."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(key, why)
        self.key, self.why = key, why

    def __str__(self) -> str:
        return f"object {self.key} in the store is damaged: {self.why}"


@dataclass(frozen=True)
class Stored:
    """One finished object."""

    store: Store
    key: str

    @property
    def meta(self) -> dict[str, Any]:
        """Task, version, parameters, inputs, device, seconds (of parts too), library versions, payload digests."""
        return self.store.meta(self.key)

    def read(self, name: str) -> Any:
        """The payload of that name, its digest checked."""
        return self.store.read(self.key, name)

    def holds(self, name: str) -> bool:
        """Whether there is a payload of that name."""
        return any(file.rsplit(".", 1)[0] == name for file in self.meta["payloads"])


class Store:
    """Open with `Store.open`; reading never writes, so a read-only store can be reported on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.objects = path / "objects"

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False) -> Store:
        """Open the store at `path`; with `create`, make one where there is nothing or an empty folder."""
        path = Path(path)
        marker = path / _MARKER
        store = cls(path)
        if marker.exists():
            cls._check_format(marker)
            return store
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file, not a store; give a folder.")
        if path.exists() and any(not _ours(item.name) for item in path.iterdir()):
            raise StoreError(
                f"{path} is not a trueness store (it has files but no {_MARKER}); give a new or empty folder."
            )
        if not create:
            raise StoreError(f"There is no store at {path}; run a study with --store {path} first.")
        with store.disk():
            for folder in _FOLDERS:
                (path / folder).mkdir(parents=True, exist_ok=True)
            write_atomically(marker, (json.dumps({"format": FORMAT}) + "\n").encode())
        return store

    @staticmethod
    def _check_format(marker: Path) -> None:
        try:
            found = json.loads(marker.read_text(encoding="utf-8"))["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{marker} is unreadable ({error}); restore it or choose another folder.") from error
        if not isinstance(found, int):
            raise StoreError(f"{marker} is unreadable (format {found!r}); restore it or choose another folder.")
        if found > FORMAT:
            raise StoreError(
                f"{marker.parent} was written by a newer trueness (store format {found}, this one reads up to "
                f"{FORMAT}); upgrade trueness or choose another folder."
            )

    def disk(self) -> contextlib.AbstractContextManager[None]:
        """Turn a full or read-only disk into a sentence."""
        return disk(
            f"the store {self.path}",
            full="free some space and run the same command again: finished tasks are kept",
            refused="choose another with --store",
        )

    def check_writable(self) -> None:
        """Refuse a store that cannot take results, before any work starts."""
        with self.disk():
            probe = self.path / "temporary" / f"probe-{uuid.uuid4().hex}"
            probe.parent.mkdir(exist_ok=True)
            probe.mkdir()
            probe.rmdir()

    def has(self, key: str) -> bool:
        """Whether the object is there; its content is checked when it is read."""
        return (self.objects / key).exists()

    def get(self, key: str) -> Stored:
        """The object of that key."""
        return Stored(self, key)

    def keys(self) -> Iterator[str]:
        """The keys of all objects, in no order."""
        with os.scandir(self.objects) as entries:
            yield from (entry.name for entry in entries)

    def meta(self, key: str) -> dict[str, Any]:
        """The object's meta.json, its own digest checked."""
        try:
            meta = dict(json.loads((self.objects / key / "meta.json").read_bytes()))
            intact = meta.pop("digest") == digest(meta) and meta["key"] == key
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DamagedObjectError(key, f"meta.json is missing or unreadable ({error})") from error
        if not intact:
            raise DamagedObjectError(key, "meta.json does not match its digest")
        return meta

    def read(self, key: str, name: str) -> Any:
        """One payload, its digest checked before it is parsed."""
        payloads = self.meta(key)["payloads"]
        file = next((name + suffix for suffix in SUFFIXES if name + suffix in payloads), None)
        if file is None:
            raise KeyError(f"object {key} has no payload {name!r}, only {', '.join(payloads)}")
        try:
            data = (self.objects / key / file).read_bytes()
        except OSError as error:
            raise DamagedObjectError(key, f"{file} is missing or unreadable ({error})") from error
        if bytes_digest(data) != payloads[file]["digest"]:
            raise DamagedObjectError(key, f"{file} does not match its digest")
        return parse_payload(file, data)

    def verify(self, key: str) -> dict[str, Any]:
        """Check meta.json and every payload against their digests; returns the meta data or raises."""
        meta = self.meta(key)
        for file, recorded in meta["payloads"].items():
            path = self.objects / key / file
            if not path.is_file() or file_digest(path) != recorded["digest"]:
                raise DamagedObjectError(key, f"{file} is missing or does not match its digest")
        return meta

    def digests(self, key: str) -> dict[str, str]:
        """File name to digest, for each payload of the object."""
        return {file: recorded["digest"] for file, recorded in self.meta(key)["payloads"].items()}

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
                self._move_in(temporary, key)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)

    def _move_in(self, temporary: Path, key: str) -> None:
        try:
            os.rename(temporary, self.objects / key)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            # Another process finished the same pure task first; its object stands.

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
                    target.parent.mkdir(exist_ok=True)
                    os.rename(self.objects / key, target)
                return True
            return False

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[bool]:
        """Yield whether this process may compute `key`; never waits. The right ends with the process."""
        path = self.path / "locks" / f"{key}.lock"
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
        for item in sorted((self.path / "temporary").glob("*.*")):
            with self.lock(item.name.split(".")[0]) as abandoned:
                if abandoned:
                    shutil.rmtree(item, ignore_errors=True)
                    removed += 1
        return removed

    def write_log(self, key: str, text: str) -> Path:
        """Keep the account of a failure; returns the file."""
        path = self.path / "logs" / f"{key}.log"
        with self.disk():
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, text.encode("utf-8", errors="backslashreplace"))
        return path

    def record_run(self, name: str, key: str, study: Mapping[str, Any]) -> None:
        """Remember that a study was run with this result."""
        record = {"study": dict(study), "result": key, "finished": time.time()}
        with self.disk():
            (self.path / "runs").mkdir(exist_ok=True)
            write_atomically(self.path / "runs" / f"{name}.{key}.json", json.dumps(record, indent=1).encode())

    def runs(self, name: str | None = None) -> list[dict[str, Any]]:
        """The recorded runs, of one study or of all, the newest last."""
        pattern = f"{name}.*.json" if name else "*.json"
        found = []
        for path in (self.path / "runs").glob(pattern):
            with contextlib.suppress(ValueError):  # cut short by a power failure; the objects themselves are checked
                found.append(json.loads(path.read_bytes()))
        return sorted(found, key=lambda record: float(record["finished"]))


def _ours(name: str) -> bool:
    """Whether a store's own creation, perhaps interrupted, may have left that name in an otherwise empty folder."""
    return name in _FOLDERS or name.startswith(f".{_MARKER}.")


def machine() -> dict[str, str]:
    """What the results were computed on and with, as far as it can change them."""
    from importlib import metadata

    libraries = ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "torch")
    versions = {}
    for name in libraries:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    system = f"{platform.system()}-{platform.machine()}"
    return {"trueness": __version__, "python": platform.python_version(), "platform": system, **versions}
