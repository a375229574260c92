"""What code of other people may change of the process that it runs in, and find as it was at its next call."""

from __future__ import annotations

import contextlib
import faulthandler
import operator
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import IO, Any

MOST_OUTPUT = 1 << 20
"""Characters that code of other people may print in one process; the rest is cut."""
CALL_SECONDS = 3600.0
"""After which a call is ended, unless the variable TRUENESS_CALL_SECONDS says otherwise."""
VARIABLE = "TRUENESS_CALL_SECONDS"
_GRACE = 10.0
"""Seconds beyond twice that time, after which a process of ours is ended with the call."""
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name))
_HOOKS = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks", "parameter_registration_hooks")
_OWNERS = (
    *("builtins", "json", "os", "os.path", "pathlib.Path"),
    *("numpy", "numpy.random", "torch", "torch.nn.functional", "torch.Tensor", "torch.nn.Module"),
)
"""Modules and classes whose functions all code shares."""
_printed = {"characters": 0}
_alone = {"process": 0}


class OverdueError(BaseException):
    """A call that took too long; no Exception, so that the code that hangs does not catch it by the way."""


@contextlib.contextmanager
def kept(*, importing: bool = False) -> Iterator[None]:
    """Leave the process as it was: folder, streams, signals, environment, and what numpy and torch do and have.

    What is printed goes to standard error, and no more than `MOST_OUTPUT` of it. A module that is imported may change
    the environment and the libraries, since it is imported once. Where numbers are drawn at random stays as it is left:
    put back, every call would draw the same. Threads that are not the main one change none of this.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # the folder may be gone
            stack.callback(_go_to, Path.cwd())
        stack.enter_context(_streams())
        for number in _SIGNALS:
            if (handler := signal.getsignal(number)) is not None:
                stack.callback(signal.signal, number, handler)
        stack.enter_context(_in_time())
        if not importing:
            stack.callback(sys.setrecursionlimit, sys.getrecursionlimit())
            stack.callback(os.umask, _umask())
            for owner in map(_find, _OWNERS):
                if owner is not None:
                    stack.callback(_put_functions_back, owner, dict(vars(owner)))
            stack.callback(_put_back, lambda: os.environ, _of_environment, dict(os.environ))
            _libraries(stack)
        yield


def may_end(process: int) -> None:
    """That this process is ours alone: it is ended where a call in it hangs so that nothing else ends the call."""
    _alone["process"] = process


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now


def _find(owner: str) -> Any:
    """A module or class, if it is loaded."""
    if owner in sys.modules:
        return sys.modules[owner]
    module, _, name = owner.rpartition(".")
    return getattr(sys.modules.get(module), name, None)


def _put_functions_back(owner: Any, before: dict[str, Any]) -> None:
    """What was there and is another one now, or gone; what is new stays, since modules load their parts late.

    In a class what is new may hide what it inherits.
    """
    now = dict(vars(owner))
    if len(now) == len(before) and all(map(operator.is_, now.values(), before.values())):
        return
    inherited = {name for base in getattr(owner, "__mro__", (owner,))[1:] for name in vars(base)}
    with contextlib.suppress(AttributeError, TypeError):  # what belongs to Python itself does not change
        for name in [name for name in now if name not in before and name in inherited]:
            delattr(owner, name)
        for name in [name for name, one in before.items() if now.get(name) is not one]:
            setattr(owner, name, before[name])


def _put_back(look: Callable[[], Any], put: Callable[[Any], object], before: Any) -> None:
    if look() != before:
        put(before)


def _go_to(folder: Path) -> None:
    with contextlib.suppress(OSError):
        os.chdir(folder)


def _of_environment(before: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(before)


def _libraries(stack: contextlib.ExitStack) -> None:
    """What numpy and torch do by default, of those that are loaded."""
    if numpy := sys.modules.get("numpy"):
        stack.callback(_put_back, numpy.geterr, lambda errors: numpy.seterr(**errors), numpy.geterr())
    if torch := sys.modules.get("torch"):
        for look, put in (
            (torch.get_default_dtype, torch.set_default_dtype),
            (torch.is_grad_enabled, torch.set_grad_enabled),
            (torch.get_num_threads, torch.set_num_threads),
            (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
        ):
            stack.callback(_put_back, look, put, look())
        for name in _HOOKS:
            hooks = getattr(torch.nn.modules.module, f"_global_{name}", None)
            if hooks is not None:
                stack.callback(_put_hooks_back, hooks, dict(hooks))


def _put_hooks_back(hooks: dict[Any, Any], before: dict[Any, Any]) -> None:
    hooks.clear()
    hooks.update(before)


class _Output:
    """Standard error, for as much as a process may print."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        left = MOST_OUTPUT - _printed["characters"]
        _printed["characters"] += len(text)
        if left > 0:
            self._stream.write(text[:left])
        if 0 < left <= len(text):
            self._stream.write("\ntrueness: What your code prints from here on is cut.\n")
        return len(text)

    def close(self) -> None:
        """Nothing: the stream is not the code's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _streams() -> Iterator[None]:
    before = sys.stdout, sys.stderr, sys.stdin
    if sys.stderr is not None and not isinstance(sys.stdout, _Output):
        sys.stdout = sys.stderr = _Output(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr, sys.stdin = before


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """End what takes too long; a call inside another one has the other's time."""
    try:
        seconds = float(os.environ.get(VARIABLE, CALL_SECONDS))
    except ValueError:
        seconds = CALL_SECONDS
    timed = hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    if not timed or not 0 < seconds < 1e9:
        yield
        return

    def overdue(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise OverdueError(f"it did not come back within {seconds:g} s; {VARIABLE} gives it longer")

    signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, seconds, 5.0)  # again, should it be caught
    with contextlib.ExitStack() as stack:
        if _alone["process"] == os.getpid():  # what no Python code is asked in between hears of no signal
            silence = stack.enter_context(open(os.devnull, "w"))  # noqa: PTH123  # Path may be the code's own by then
            faulthandler.dump_traceback_later(2 * seconds + _GRACE, exit=True, file=silence)
            stack.callback(faulthandler.cancel_dump_traceback_later)
        stack.callback(_stop_timer)
        yield


def _stop_timer() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
