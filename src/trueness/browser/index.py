"""What the first page says of the runs of a store: every audit is read once, however often and by whom it is asked."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from trueness.browser.runs import Run, runs_of
from trueness.engine import DamagedObjectError, Store
from trueness.errors import UserError

_PATIENCE = 0.1
"""Seconds that a page waits for audits that were not read before; the rest is read while the page is looked at."""
_State = tuple[int, int, int]


@dataclass(frozen=True)
class Said:
    """What the first page says of a result: a line for each verdict, or why there are none."""

    lines: Sequence[str] = ()
    fault: str = ""
    unread: bool = False


@dataclass(frozen=True)
class Entry:
    """A run with what is said of it."""

    run: Run
    said: Said


class Index:
    """The runs of a store, the newest first. An object's key names what it holds, so that one reading is enough.

    A `patient` index says nothing before all is read.
    """

    def __init__(self, store: Store, *, patient: bool) -> None:
        self.store, self.patient = store, patient
        self._known: dict[str, tuple[_State | None, Said]] = {}
        self._starting = threading.Lock()
        self._reader: threading.Thread | None = None

    def entries(self) -> list[Entry]:
        """All that are there now."""
        runs = runs_of(self.store)
        states = {key: _state(run) for key, run in runs.items() if run.told("kind") == "audit"}
        left = [key for key, state in states.items() if key not in self._known or self._known[key][0] != state]
        until = time.monotonic() + _PATIENCE
        while left and (self.patient or time.monotonic() < until):
            key = left.pop(0)
            self._known[key] = states[key], _said(runs[key])
        if left:
            self._read_later([runs[key] for key in left])
        unread = Said(unread=True)
        return [
            Entry(run, Said() if key not in states else unread if key in left else self._known[key][1])
            for key, run in runs.items()
        ]

    def _read_later(self, left: Sequence[Run]) -> None:
        def read() -> None:
            for run in left:
                self._known[run.key] = _state(run), _said(run)

        with self._starting:
            if self._reader is None or not self._reader.is_alive():
                self._reader = threading.Thread(target=read, daemon=True)
                self._reader.start()


def _said(run: Run) -> Said:
    try:
        with run.opened():
            return Said(run.verdicts)
    except (UserError, DamagedObjectError) as error:
        return Said(fault=str(error).removesuffix("."))


def _state(run: Run) -> _State | None:
    """What changes when another object is put in the place of one."""
    try:
        about = os.lstat(run.store.objects / run.key)
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_ctime_ns
