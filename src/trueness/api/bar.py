"""A bar with time left, on a terminal and in notebooks, for what takes longer than two seconds."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trueness.progress import followed

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 2.0
"""Seconds before anything is shown."""


@contextlib.contextmanager
def bar() -> Iterator[None]:
    """Show on standard error how far what is done inside is."""
    shown = _Shown()
    try:
        with followed(shown.hear):
            yield
    finally:
        shown.close()


class _Shown:
    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def hear(self, what: str, share: float) -> None:
        """Show, or wait until that is worth it."""
        took = time.monotonic() - self._begin
        if took < PATIENCE:
            return
        if self._progress is None:
            self._progress = progress_bar()
            self._task = self._progress.add_task(what, total=1.0, left="")
            self._progress.start()
        assert self._task is not None
        left = f"{duration(took / share - took)} left at most" if share > 0 else ""
        self._progress.update(self._task, completed=share, description=what, left=left)

    def close(self) -> None:
        """Take it away."""
        if self._progress is not None:
            self._progress.stop()


def progress_bar() -> Progress:
    """The one look of all bars; shown on a terminal and in a notebook only."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
        transient=True,
        disable=not (console.is_terminal or console.is_jupyter),
    )


def duration(seconds: float) -> str:
    """A length of time in words that fit a line: 40 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
