"""A progress bar with time left, on a terminal and only for what takes longer than two seconds."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn

from trueness.engine import DamagedObjectError, Listener, Task

_PATIENCE = 2.0


class Bar(Listener):
    """Shows the driver's progress on standard error; warnings and failures are always shown."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            transient=True,
        )
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
        if not self._console.is_terminal or time.monotonic() - self._begin < _PATIENCE:
            return
        if self._bar is None:
            self._bar = self._progress.add_task("", total=self._total, left="")
            self._progress.start()
        left = "" if seconds_left is None else f"{duration(seconds_left)} left"
        self._progress.update(self._bar, completed=self._done, description=task.type.name, left=left)

    def damaged(self, error: DamagedObjectError) -> None:
        """Say what was set aside."""
        print(f"trueness: {error}; it was set aside and is computed again.", file=sys.stderr)


def duration(seconds: float) -> str:
    """A length of time in words that fit a line: 40 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
