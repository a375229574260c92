"""The local executor: one process per slot, each slot tied to a device.

A process that dies (killed, out of memory) costs the task it was computing and nothing else: its slot starts a new one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker, util
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import SemLock
from typing import Any, TypeVar

from trueness import carried
from trueness.boundary import warning_line
from trueness.engine import warm
from trueness.engine.worker import DEVICE_VARIABLE
from trueness.process_state import may_end

T = TypeVar("T")
_starting = threading.Lock()


def cores() -> int:
    """How many cores this process may use, as far as the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalExecutor(Executor):
    """A PEP 3148 executor over processes; `devices` names one device per slot, e.g. two slots on cuda:0.

    Its processes begin with `modules` loaded, which are imported once for all (see `engine.warm`). Each is `sent` what
    only this process has when it starts (see `trueness.carried`).
    """

    def __init__(
        self,
        devices: Sequence[str] = ("cpu",),
        modules: Sequence[str] = (),
        sent: Mapping[str, bytes] | None = None,
    ) -> None:
        if not devices:
            raise ValueError("a local executor needs at least one slot")
        self.slots = len(devices)
        self._all = [_Slot(device, tuple(modules), sent) for device in devices]
        self._free: queue.SimpleQueue[_Slot] = queue.SimpleQueue()
        for slot in self._all:
            self._free.put(slot)
        self._threads = ThreadPoolExecutor(self.slots, thread_name_prefix="trueness-slot")

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run `fn` in the next free slot."""
        return self._threads.submit(self._run, fn, args, kwargs)

    def _run(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        slot = self._free.get()
        try:
            return slot.run(fn, args, kwargs)
        finally:
            self._free.put(slot)

    def alive(self) -> bool:
        """Whether some worker process lives."""
        return any(slot.alive() for slot in self._all)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Leaving by an exception (Ctrl-C too) ends what is running; leaving normally waits for it."""
        self.shutdown(cancel_futures=kind is not None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """With `cancel_futures`, running tasks are ended too; not being in the store, they run again next time."""
        self._threads.shutdown(wait=False, cancel_futures=cancel_futures)
        if cancel_futures:
            for slot in self._all:
                slot.kill()
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        if wait:
            closing.join()

    def _close(self) -> None:
        """Wait for what was submitted, then end the processes."""
        self._threads.shutdown(wait=True)
        for slot in self._all:
            slot.close()


class _Slot:
    def __init__(self, device: str, modules: tuple[str, ...] = (), sent: Mapping[str, bytes] | None = None) -> None:
        self._device, self._preload, self._sent = device, modules, sent or {}
        self._pool: ProcessPoolExecutor | None = None
        self._killed = False
        self._changing = threading.Lock()

    def run(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        with self._changing:
            if self._killed:
                raise BrokenProcessPool("the executor was shut down")
            future = self._submit(fn, args, kwargs)
        try:
            return future.result()
        except BrokenProcessPool:
            self.close()
            raise

    def _submit(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future[T]:
        """To its process, or to another one: where that has died meanwhile, or the server that it was forked from."""
        try:
            return self._given(fn, args, kwargs)
        except BrokenProcessPool:
            self._pool = None
        except (OSError, EOFError):  # no process could be started
            self._pool = None
            if not self._preload:
                raise
            self._preload = ()
        try:
            return self._given(fn, args, kwargs)
        except OSError:
            self._pool = None
            raise

    def _given(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future[T]:
        with _starting, _main_not_imported(), warm.starting(self._preload) as context:
            _mend_tracker()
            if self._pool is None:
                given = (self._device, self._sent, dict(os.environ) if self._preload else None)
                self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_start, initargs=given)
            return self._pool.submit(fn, *args, **kwargs)

    def alive(self) -> bool:
        ends = [process.sentinel for process in self._processes()]
        return len(wait(ends, timeout=0)) < len(ends)

    def _processes(self) -> list[BaseProcess]:
        pool = self._pool
        return list((pool._processes or {}).values()) if pool is not None else []

    def kill(self) -> None:
        with self._changing:
            self._killed = True
            for process in self._processes():
                process.kill()

    def close(self) -> None:
        with self._changing:
            if self._pool is not None:
                _mend_tracker()
                self._pool.shutdown(wait=True)
            self._pool = None


def _mend_tracker() -> None:
    """Where Python's resource tracker was killed, start another one and tell it the semaphores of this process.

    Otherwise Python starts one that knows none of them, and prints a traceback for each that it is told to forget.
    """
    tracker: Any = resource_tracker._resource_tracker
    if tracker._fd is not None and not tracker._check_alive():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tracker.ensure_running()
        registry: Any = util._finalizer_registry  # type: ignore[attr-defined]  # not in the stubs
        for one in list(registry.values()):
            if one._callback is SemLock._cleanup:  # type: ignore[attr-defined]  # the same
                tracker.register(one._args[0], "semaphore")


@contextlib.contextmanager
def _main_not_imported() -> Iterator[None]:
    """Keep a spawned process from running the user's script again, which would start the study a second time.

    Tasks are found by module and name, so workers never need `__main__`.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _start(device: str, sent: Mapping[str, bytes], environment: Mapping[str, str] | None = None) -> None:
    """Prepare a fresh worker: its device, one thread (the same bytes on any machine), and an end with its parent.

    One that was forked has the environment of its server, which began with that of another time.
    """
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment)
    os.environ.update({**warm.UNLESS_SAID, **os.environ, **warm.ONE_THREAD, DEVICE_VARIABLE: device})
    carried.receive(sent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # standard output is the command's alone
        os.dup2(2, 1)
    warnings.formatwarning = warning_line
    may_end(os.getpid())
    end_with_parent()


def end_with_parent() -> None:
    """From now on this process ends when the one that started it does, however that ends."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
