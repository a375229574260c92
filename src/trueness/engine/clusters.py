"""Engines beyond one machine, rented: Parsl (Slurm, PBS, Kubernetes, clouds) and Dask, behind the same contract.

All that travels are names and keys; workers read and write the store, which must be on a file system that all see.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from typing import Any, TypeVar

from trueness.engine.summary import EngineLostError
from trueness.errors import UserError

T = TypeVar("T")


class ClusterExecutor(Executor):
    """Another engine's executor; a worker that was lost reads like a broken process, so that the task runs again.

    `slots` tells how many tasks are worked on at a time, `alive` whether some worker lives; both raise
    `EngineLostError` where the engine itself is gone. Errors of the types `lost` mean that a worker was.
    """

    def __init__(
        self,
        inner: Executor,
        slots: Callable[[], int],
        alive: Callable[[], bool],
        lost: tuple[type[BaseException], ...] = (),
    ) -> None:
        self._inner, self._slots, self.alive, self._lost = inner, slots, alive, lost
        self.finished = 0
        """How many tasks have come back with a result."""

    @property
    def slots(self) -> int:
        """How many tasks are worked on at a time; workers may come and go."""
        return max(1, self._slots())

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run `fn` on some worker."""
        outer: Future[T] = Future()

        def settle(inner: Future[T]) -> None:
            try:
                result = inner.result()
            except CancelledError:
                outer.set_exception(BrokenExecutor("the engine gave the task up; is it still running?"))
            except self._lost as error:
                outer.set_exception(BrokenExecutor(f"a worker was lost: {error}"))
            except BaseException as error:  # whatever it was, somebody waits for this future
                outer.set_exception(error)
            else:
                self.finished += 1
                outer.set_result(result)

        try:
            self._inner.submit(on_one_thread, fn, args, kwargs).add_done_callback(settle)
        except Exception as error:
            raise BrokenExecutor(f"the engine takes no tasks: {error}") from error
        return outer


def on_one_thread(fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    """What a worker does: compute with one thread, so that results have the same bytes on any machine."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    return fn(*args, **kwargs)


@contextlib.contextmanager
def open_engine(name: str) -> Iterator[ClusterExecutor]:
    """The engine that `parsl:FILE` or `dask:ADDRESS` names, while it is used."""
    from trueness.engine.parsl_engine import open_parsl

    kind, _, where = name.partition(":")
    if kind not in ("parsl", "dask") or not where:
        raise UserError(f"There is no engine {name!r}; give parsl:FILE or dask:ADDRESS, or none for this machine.")
    with open_parsl(Path(where)) if kind == "parsl" else _dask(where) as executor:
        yield executor


@contextlib.contextmanager
def _dask(address: str) -> Iterator[ClusterExecutor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError("The engine dask needs a package: pip install 'trueness[dask]'.") from error
    if not re.search(r":\d+$", address):
        raise UserError(f"dask:{address} has no port: give the scheduler's address, such as dask:tcp://HOST:8786.")
    try:
        client: Any = Client(address, timeout="5s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise UserError(f"There is no Dask scheduler at {address}; start one, for example: dask scheduler.") from error

    def threads() -> dict[str, int]:
        """The threads of every living worker; workers that stop sending heartbeats are not among them."""
        try:
            return dict(client.nthreads())
        except (OSError, ValueError, TypeError) as error:  # of a connection that is closed, or being closed
            lost = f"The Dask scheduler at {address} no longer answers"
            raise EngineLostError(lost, "start it and its workers") from error

    with _silent("distributed.client"), client:
        found = threads()
        if not found:
            raise UserError(f"The Dask scheduler at {address} has no workers; start some: dask worker --nthreads 1.")
        if max(found.values()) > 1:
            raise UserError("Dask workers must have one thread each: dask worker --nthreads 1 (and --nworkers N).")
        # A task whose worker died is given to another one by Dask itself, three times.
        yield ClusterExecutor(client.get_executor(pure=False), lambda: len(threads()), lambda: bool(threads()))


@contextlib.contextmanager
def _silent(name: str) -> Iterator[None]:
    """Keep a library's log from saying at length what is raised as one sentence."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
