"""What the first page says of the runs of a store: every audit is read once, however often and by whom it is asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from trueness.browser.runs import Run, runs_of
from trueness.engine import DamagedObjectError, Store
from trueness.errors import UserError

_PATIENCE = 0.1
"""Seconds that a page waits for audits that were not read before; the rest is read while the page is looked at."""


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
        self._known: dict[str, tuple[tuple[int, ...], Said]] = {}
        self._starting, self._one = threading.Lock(), threading.Lock()
        self._reader: threading.Thread | None = None

    def entries(self) -> list[Entry]:
        """All that are there now."""
        runs = runs_of(self.store)
        audits = [run for run in runs.values() if run.told("kind") == "audit"]
        left = [run for run in audits if self._known.get(run.key, ((), None))[0] != run.state]
        begin = time.monotonic()
        while left and (self.patient or (self._idle() and time.monotonic() < begin + _PATIENCE)):
            self._read(left.pop(0))
        if left:
            self._read_later(left)
        said = {run.key: self._known[run.key][1] for run in audits if run.key in self._known}
        said |= {run.key: Said(unread=True) for run in left}
        return [Entry(run, said.get(run.key, Said())) for run in runs.values()]

    def _read(self, run: Run) -> None:
        with self._one:
            if self._known.get(run.key, ((), None))[0] == run.state:
                return  # another thread was first
            try:
                with run.opened():
                    said = Said(run.verdicts)
            except (UserError, DamagedObjectError) as error:
                said = Said(fault=str(error).removesuffix("."))
            self._known[run.key] = run.state, said

    def _idle(self) -> bool:
        return self._reader is None or not self._reader.is_alive()

    def _read_later(self, left: Sequence[Run]) -> None:
        def read() -> None:
            for run in left:
                self._read(run)

        with self._starting:
            if self._idle():
                self._reader = threading.Thread(target=read, daemon=True)
                self._reader.start()
