"""Processes that begin with their libraries loaded: forked from a server that has imported them, once for all.

Python's own fork server, one for each set of modules, which nobody else in this process uses. It imports while its
starter does something else, has one thread, and touches no device, so that forking it is safe. Not on Windows, and not
on a Mac, whose libraries do not bear a fork: there processes are spawned.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import context, get_context, popen_forkserver, reduction, spawn, util
from multiprocessing.context import set_spawning_popen
from multiprocessing.forkserver import ForkServer, read_signed
from multiprocessing.process import BaseProcess
from typing import Any

ONE_THREAD: Mapping[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""Variables by which libraries take one thread, whatever the number of cores."""
UNLESS_SAID: Mapping[str, str] = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
"""Recorded steps of many shapes would leave most of what they reserve unused, and other workers share the device."""
_ASKING: Mapping[str, str] = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""Whether there is a GPU is asked of its driver then: what has begun to use a GPU cannot be forked."""

_chosen = threading.local()


class _Server(ForkServer):
    """Imports the modules, and what every process would do first."""

    def __init__(self, modules: Sequence[str]) -> None:
        super().__init__()
        self.set_forkserver_preload([*modules, "trueness.engine.settled"])

    def ensure_running(self) -> None:
        with _environment({**UNLESS_SAID, **os.environ, **ONE_THREAD, **_ASKING}):
            super().ensure_running()


class _Process(context.ForkServerProcess if sys.platform == "linux" else BaseProcess):  # type: ignore[misc]
    """A process forked from the server that this thread has chosen."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802  # Python's name
        return _Popen(process_obj)


if sys.platform == "linux":

    class _Popen(popen_forkserver.Popen):
        """As Python's, with a server of ours."""

        def _launch(self, process_obj: Any) -> None:
            data, buffer = spawn.get_preparation_data(process_obj.name), io.BytesIO()
            set_spawning_popen(self)
            try:
                reduction.dump(data, buffer)
                reduction.dump(process_obj, buffer)
            finally:
                set_spawning_popen(None)
            inherited: list[int] = getattr(self, "_fds", [])
            self.sentinel, writing = _chosen.server.connect_to_new_process(inherited)
            # Closed when this process ends, by which the new one notices.
            kept = os.dup(writing)
            self.finalizer = util.Finalize(self, _close, (kept, self.sentinel))
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(buffer.getbuffer())
            self.pid = read_signed(self.sentinel)


class _Context(context.ForkServerContext if sys.platform == "linux" else context.SpawnContext):  # type: ignore[misc]
    Process = _Process


def _close(*descriptors: int) -> None:
    for one in descriptors:
        os.close(one)


@functools.cache
def _server(modules: tuple[str, ...]) -> _Server:
    return _Server(modules)


def can_fork() -> bool:
    """Whether there are such servers here."""
    return sys.platform == "linux"


def begin(modules: Sequence[str]) -> None:
    """Let the modules be imported from now on; returns at once."""
    if can_fork():
        with contextlib.suppress(OSError):  # whoever needs a process says what is wrong
            _server(tuple(modules)).ensure_running()


@contextlib.contextmanager
def starting(modules: Sequence[str]) -> Iterator[Any]:
    """How processes are started inside: forked with the modules loaded, or spawned where there are none."""
    if not modules or not can_fork():
        yield get_context("spawn")
        return
    _chosen.server = _server(tuple(modules))
    try:
        yield _Context()
    finally:
        del _chosen.server


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """The environment that a process started inside begins with."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)
