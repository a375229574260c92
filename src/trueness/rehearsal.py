"""Work on a file of other people, done first in a copy of this process: how long it takes and what it needs is theirs.

Libraries that are not written in Python cannot be interrupted, and end the process where memory lacks. The copy is
forked, which takes milliseconds; where there is no fork (Windows), nothing is rehearsed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from trueness.boundary import short
from trueness.errors import UserError

SECONDS = 60.0
"""After which the copy is ended."""
MEMORY = 2 << 30
"""Bytes that the copy may take beyond what this process has, where the system tells and limits it."""
_NO_MEMORY = 3


def rehearse(what: str | Path, work: Callable[[], object], *, seconds: float = SECONDS, memory: int = MEMORY) -> None:
    """UserError where the work takes too long or too much memory, or ends its process; what it raises is passed over.

    Whoever calls does the same work afterwards, and meets and tells what it raises. The work must not use several
    threads of torch, which a copy does not have.
    """
    if not hasattr(os, "fork"):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if not child:
        _alone(work, seconds, memory)
    ended = None
    try:
        deadline, pause = time.monotonic() + seconds, 0.001
        while ended is None and time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            ended = os.waitstatus_to_exitcode(status) if done else None
            if ended is None:
                time.sleep(pause := min(2 * pause, 0.05))
    finally:
        if ended is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if ended is None or ended == -signal.SIGXCPU:
        raise UserError(f"{short(what)} is not read within {seconds:g} s: it is damaged, or made to be slow.")
    if ended in (_NO_MEMORY, -signal.SIGABRT):
        raise UserError(f"{short(what)} takes more than {memory / 2**30:g} GiB of memory, or breaks what reads it.")
    if ended < 0:
        name = signal.Signals(-ended).name
        raise UserError(f"{short(what)} ends the process that reads it ({name}): it is damaged.")


def _alone(work: Callable[[], object], seconds: float, memory: int) -> None:
    """In the copy: it ends here, in silence, and changes nothing that others see."""
    status = 0
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        faulthandler.disable()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        _limit(seconds, memory)
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)
        work()
    except MemoryError:
        status = _NO_MEMORY
    except BaseException:  # the process that was copied meets it again
        status = 1
    finally:
        os._exit(status)


def _limit(seconds: float, memory: int) -> None:
    import resource

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))  # should nobody wait any more
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
