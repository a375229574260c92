"""The process that gives a command's exit status: it believes the command's last word alone.

Code of the user may end the process that it runs in, by os._exit(0) or a fault of a library, and the status of that
process would say that all went well. So a command runs in a child, and the process that was started waits for it: only
a command that has come to its end writes its status into a pipe. The child is forked, which takes a millisecond;
where there is no fork (Windows), it is started anew and leaves its last word in a file.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from trueness.boundary import interrupt
from trueness.process_state import may_end

_WORD = "TRUENESS_LAST_WORD"
"""Names the file in which a process that was started anew leaves its status."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
VANISHED = 2
"""The exit status of a command whose process ended before the command did."""


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """What is inside runs in a child; the process that was started ends here, with the status that the child tells."""
    if word := os.environ.pop(_WORD, ""):
        with _telling(lambda said: Path(word).write_bytes(said)):
            yield
        return
    if not hasattr(os, "fork"):
        os._exit(_started())
    ours, theirs = os.pipe(), os.pipe()  # for the last word, and to notice that the other process is gone
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of numpy, which minds forks
        child = os.fork()
    if child:
        os.close(ours[1])
        os.close(theirs[0])
        os._exit(_status_of(child, ours[0]))
    os.close(ours[0])
    os.close(theirs[1])
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    threading.Thread(target=_end_with, args=(theirs[0],), daemon=True).start()
    with _telling(lambda said: os.write(ours[1], said)):
        yield


@contextlib.contextmanager
def _telling(tell: Callable[[bytes], object]) -> Iterator[None]:
    """The command itself, in a process that is ours alone; `tell` takes its last word."""
    me = os.getpid()
    may_end(me)
    try:
        yield
    except SystemExit as ended:
        if os.getpid() == me:  # and no copy of it that the user's code made
            tell(b"%d\n" % (ended.code if isinstance(ended.code, int) else VANISHED))
        raise


def _started() -> int:
    """The exit status of the same command in a process that is started anew."""
    handle, word = tempfile.mkstemp(prefix="trueness-")
    os.close(handle)
    child = subprocess.Popen([sys.executable, "-m", "trueness", *sys.argv[1:]], env={**os.environ, _WORD: word})
    ended = None
    while ended is None:
        with contextlib.suppress(KeyboardInterrupt):  # the terminal told the child, too
            ended = child.wait()
    told = Path(word).read_bytes()
    with contextlib.suppress(OSError):
        Path(word).unlink()
    return _believed(told, ended)


def _end_with(pipe: int) -> None:
    """End when the process at the other end does, however that ends."""
    os.read(pipe, 1)
    os.kill(os.getpid(), signal.SIGKILL)


def _status_of(child: int, pipe: int) -> int:
    """The exit status of a command, once its process has ended; a signal to this process is one to that."""

    def forward(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.set_blocking(pipe, False)
    try:
        told = os.read(pipe, 16)
    except BlockingIOError:  # a process that the command left behind holds the other end
        told = b""
    return _believed(told, ended)


def _believed(told: bytes, ended: int) -> int:
    if told.strip().isdigit():
        return int(told) or (0 if ended == 0 else _vanished(ended))
    return _vanished(ended)


def _vanished(ended: int) -> int:
    if ended < 0:
        name = signal.Signals(-ended).name
        print(f"trueness: The command was ended by the signal {name}, and has no result.", file=sys.stderr)
        return 128 - ended
    print(
        f"trueness: The process of the command ended with status {ended} before the command did, and there is no "
        "result: code that you named ended it, such as by os._exit().",
        file=sys.stderr,
    )
    return VANISHED
