"""A progress bar with time left, on a terminal and only for what takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from trueness.api.bar import PATIENCE, duration, progress_bar
from trueness.engine import DamagedObjectError, Listener, Task

if TYPE_CHECKING:
    from rich.progress import TaskID


class Bar(Listener):
    """Shows the driver's progress on standard error; warnings and failures are always shown."""

    def __init__(self) -> None:
        self._progress = progress_bar()
        self._bar: TaskID | None = None
        self._total = self._done = 0
        self._begin = time.monotonic()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._progress.stop()

    def planned(self, total: int, cached: int) -> None:
        """Remember the size of the plan."""
        self._total, self._done = total, cached

    def finished(self, task: Task, seconds_left: float | None) -> None:
        """Advance, and show the time left."""
        self._done += 1
        if time.monotonic() - self._begin < PATIENCE:
            return
        if self._bar is None:
            self._bar = self._progress.add_task("", total=self._total, left="")
            self._progress.start()
        left = "" if seconds_left is None else f", {duration(seconds_left)} left"
        told = f"{self._done:,} of {self._total:,} tasks{left}"
        self._progress.update(self._bar, completed=self._done, description=task.type.name, left=told)

    def damaged(self, error: DamagedObjectError) -> None:
        """Say what was set aside."""
        print(f"trueness: {error}; it was set aside and is computed again.", file=sys.stderr)
