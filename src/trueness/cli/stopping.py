"""How commands end that can go on: by Ctrl-C, or by the signal with which schedulers end a job."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import typer

from trueness.boundary import Interrupt


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """End with the sentence that the same command goes on, and the status that shells give to the signal."""
    status = 128 + signal.SIGINT

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal status
        status = 128 + number
        signal.signal(number, signal.SIG_IGN)  # `timeout` sends it twice; who is in a hurry sends SIGKILL
        raise Interrupt

    # Who ignores the signal, or has a way of their own, keeps it; only the main thread may set one.
    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        print("trueness: interrupted; the same command continues where it stopped.", file=sys.stderr)
        raise typer.Exit(status) from None
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
