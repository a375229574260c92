"""How far a run is, in a file of its store: what a page shows while the run goes on."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from typing import Any

from trueness.engine.files import make_folder, write_atomically
from trueness.engine.store import DamagedObjectError, Store
from trueness.engine.summary import Failure, Listener
from trueness.engine.task import Task

_EVERY = 0.5
"""Seconds between two writes."""
_KEPT = 20
"""Failures and last tasks that are told."""


_TOLD = {
    **dict.fromkeys(("study", "title", "state", "machine"), str),
    **dict.fromkeys(("total", "done", "cached", "damaged", "process"), int),
    **{"last": list, "failed": list, "seconds_left": float | int | None},
}
"""What a file of ours holds."""


class ProgressFile(Listener):
    """Tells another listener too; use as a context, so that the end of the run is told."""

    def __init__(self, store: Store, name: str, title: str, other: Listener | None = None) -> None:
        self.path = store.path / "progress" / f"{name}.{platform.node()}.{os.getpid()}.json"
        self.other = other or Listener()
        self.told: dict[str, Any] = {
            **{"study": name, "title": title, "state": "running", "total": 0, "done": 0, "cached": 0},
            **{"seconds_left": None, "begun": time.time(), "last": [], "failed": [], "damaged": 0},
            **{"process": os.getpid(), "machine": platform.node()},
        }
        self.written = 0.0

    def __enter__(self) -> ProgressFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        failed = kind is not None or bool(self.told["failed"])
        self.told["state"] = "ended with failures" if failed else "finished"
        self._write(now=True)

    def planned(self, total: int, cached: int) -> None:
        """The graph is known."""
        self.told |= {"total": total, "cached": cached, "done": cached}
        self._write(now=True)
        self.other.planned(total, cached)

    def finished(self, task: Task, seconds_left: float | None) -> None:
        """One more task is in the store."""
        self.told["done"] += 1
        self.told["seconds_left"] = seconds_left
        self.told["last"] = [*self.told["last"][1 - _KEPT :], {"key": task.key, "task": str(task)}]
        self._write()
        self.other.finished(task, seconds_left)

    def damaged(self, error: DamagedObjectError) -> None:
        """An object was set aside."""
        self.told["damaged"] += 1
        self._write()
        self.other.damaged(error)

    def failed(self, failure: Failure) -> None:
        """A task failed."""
        told = {"key": failure.task.key, "task": str(failure.task), "error": failure.error}
        self.told["failed"] = [*self.told["failed"][1 - _KEPT :], told]
        self._write(now=True)
        self.other.failed(failure)

    def _write(self, *, now: bool = False) -> None:
        if not now and time.monotonic() - self.written < _EVERY:
            return
        self.written = time.monotonic()
        content = json.dumps({**self.told, "written": time.time()}).encode()
        with contextlib.suppress(OSError):  # a run does not fail because nobody can watch it
            make_folder(self.path.parent)
            write_atomically(self.path, content)


def read_progress(store: Store) -> list[dict[str, Any]]:
    """What the runs of a store told last, the newest first; a run whose process is gone is called stopped."""
    found = []
    for told in store.progress.read().values():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            if not all(isinstance(told[name], kind) for name, kind in _TOLD.items()):
                continue
            here = told["state"] == "running" and told["machine"] == platform.node()
            state = "stopped" if here and not _lives(told["process"]) else told["state"]
            found.append((float(told["written"]), {**told, "state": state}))
    return [told for _, told in sorted(found, key=lambda item: -item[0])]


def _lives(process: int) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
