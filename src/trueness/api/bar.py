"""How far what lasts is: a bar with time left on a terminal and in notebooks, else a line now and then."""

from __future__ import annotations

import contextlib
import html
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

from trueness.engine import DamagedObjectError, Listener, Task
from trueness.progress import followed

PATIENCE = 2.0
"""Seconds before a bar is shown."""
SILENCE = 30.0
"""Seconds after which a line is written, where no bar can be shown."""
_LEAST = 10.0
"""Seconds between two lines: a tenth that is reached earlier is worth none."""


class _Meter(Protocol):
    """Shows which share is done of what, and how many seconds are left where that is known."""

    def show(self, what: str, share: float, left: float | None) -> None: ...

    def close(self) -> None: ...


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
    """A meter from the moment on that something lasts."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._meter: _Meter | None = None

    def hear(self, what: str, share: float) -> None:
        """Show; the time left is what the share done took for each part."""
        took = time.monotonic() - self._begin
        self.show(what, share, took / share - took if share > 0 else None)

    def show(self, what: str, share: float, left: float | None) -> None:
        """Show, or wait until that is worth it."""
        if time.monotonic() - self._begin < PATIENCE:
            return
        if self._meter is None:
            self._meter = _meter(self._begin)
        self._meter.show(what, share, left)

    def close(self) -> None:
        """Take it away."""
        if self._meter is not None:
            self._meter.close()


class TaskBar(Listener):
    """Shows how many tasks of a plan are done; what was damaged is always said."""

    def __init__(self) -> None:
        self._shown = _Shown()
        self._total = self._done = 0

    def __enter__(self) -> TaskBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.close()

    def planned(self, total: int, cached: int) -> None:
        """Remember the size of the plan."""
        self._total, self._done = total, cached

    def finished(self, task: Task, seconds_left: float | None) -> None:
        """Advance, and show the time left."""
        self._done += 1
        told = f"{task.type.name}, {self._done:,} of {self._total:,} tasks"
        self._shown.show(told, self._done / max(self._total, 1), seconds_left)

    def damaged(self, error: DamagedObjectError) -> None:
        """Say what was set aside."""
        print(f"trueness: {error}; it was set aside and is computed again.", file=sys.stderr)


def listening(listener: Listener | None) -> contextlib.AbstractContextManager[Listener]:
    """The listener that somebody gave, or a bar."""
    return TaskBar() if listener is None else contextlib.nullcontext(listener)


def _meter(begin: float) -> _Meter:
    """What suits where the program runs."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter:
        return _Notebook()
    return _Terminal(console) if console.is_terminal else _Lines(begin)


class _Terminal:
    """A bar in one line, gone at the end."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}")
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("", total=1.0, left="")
        self._progress.start()

    def show(self, what: str, share: float, left: float | None) -> None:
        self._progress.update(self._task, completed=share, description=what, left=_left(left))

    def close(self) -> None:
        self._progress.stop()


class _Notebook:
    """A bar under the cell, which needs no widgets; gone at the end."""

    def __init__(self) -> None:
        shown: Any = import_module("IPython.display")
        self._html = shown.HTML
        self._handle = shown.display(shown.HTML(""), display_id=True)

    def show(self, what: str, share: float, left: float | None) -> None:
        told = html.escape(f"{what} {_left(left)}")
        self._handle.update(self._html(f'<progress value="{share:.3f}" max="1"></progress> <small>{told}</small>'))

    def close(self) -> None:
        self._handle.update(self._html(""))


class _Lines:
    """Lines in a log: after each tenth, and at least every half minute while something is heard."""

    def __init__(self, begin: float) -> None:
        self._begin = self._written = begin
        self._tenth = 0

    def show(self, what: str, share: float, left: float | None) -> None:
        now = time.monotonic()
        silent = now - self._written
        if silent < _LEAST or (silent < SILENCE and int(share * 10) <= self._tenth):
            return
        self._written, self._tenth = now, int(share * 10)
        more = "" if left is None else f", {_left(left)}"
        print(
            f"trueness: {share:.0%}, {what}; {duration(now - self._begin)} so far{more}.", file=sys.stderr, flush=True
        )

    def close(self) -> None:
        """Lines stay."""


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"{duration(seconds)} left"


def duration(seconds: float) -> str:
    """A length of time in words that fit a line: 40 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
