"""Engines beyond one machine, rented: Parsl (Slurm, PBS, Kubernetes, clouds) and Dask, behind the same contract.

All that travels are names and keys; workers read and write the store, which must be on a file system that all see.
"""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from typing import Any, TypeVar

from trueness.errors import UserError

T = TypeVar("T")
_UNKNOWN = 64  # slots of a Parsl executor that does not tell


class ClusterExecutor(Executor):
    """Another engine's executor; a worker that was lost reads like a broken process, so that the task runs again."""

    def __init__(self, inner: Executor, slots: Callable[[], int], lost: tuple[type[BaseException], ...]) -> None:
        self._inner, self._slots, self._lost = inner, slots, lost

    @property
    def slots(self) -> int:
        """How many tasks are worked on at a time; workers may come and go."""
        return max(1, self._slots())

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Run `fn` on some worker."""
        outer: Future[T] = Future()

        def settle(inner: Future[T]) -> None:
            try:
                outer.set_result(inner.result())
            except CancelledError:
                outer.set_exception(BrokenExecutor("the engine gave the task up; is it still running?"))
            except self._lost as error:
                outer.set_exception(BrokenExecutor(f"a worker was lost: {error}"))
            except BaseException as error:  # whatever it was, somebody waits for this future
                outer.set_exception(error)

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
    kind, _, where = name.partition(":")
    if kind not in ("parsl", "dask") or not where:
        raise UserError(f"There is no engine {name!r}; give parsl:FILE or dask:ADDRESS, or none for this machine.")
    with _parsl(Path(where)) if kind == "parsl" else _dask(where) as executor:
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
    except (OSError, ValueError, TimeoutError) as error:
        raise UserError(f"There is no Dask scheduler at {address}; start one, for example: dask scheduler.") from error
    with client:
        threads = client.nthreads()
        if not threads:
            raise UserError(f"The Dask scheduler at {address} has no workers; start some: dask worker --nthreads 1.")
        if max(threads.values()) > 1:
            raise UserError("Dask workers must have one thread each: dask worker --nthreads 1 (and --nworkers N).")
        # A task whose worker died is given to another one by Dask itself, three times.
        yield ClusterExecutor(client.get_executor(pure=False), lambda: len(client.nthreads()), ())


@contextlib.contextmanager
def _parsl(file: Path) -> Iterator[ClusterExecutor]:
    try:
        from parsl import Config
        from parsl.concurrent import ParslPoolExecutor
        from parsl.executors.high_throughput.errors import ManagerLost, WorkerLost
    except ImportError as error:
        raise UserError("The engine parsl needs a package: pip install 'trueness[parsl]'.") from error
    if not file.is_file():
        raise UserError(f"There is no file {file}; it must define config, a parsl.Config.")
    config = runpy.run_path(str(file)).get("config")
    if not isinstance(config, Config):
        raise UserError(f"{file} must define config, a parsl.Config.")
    # Parsl starts programs of its own by name; they lie beside this Python, which need not be on the path.
    scripts = sysconfig.get_path("scripts")
    if scripts not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", "")])
    pool = ParslPoolExecutor(config)
    slots = sum(map(_slots, config.executors))
    try:
        yield ClusterExecutor(pool, lambda: slots, (ManagerLost, WorkerLost))
    except BaseException:
        pool.shutdown(wait=False)  # an interruption does not wait for hours of work: it is done again
        raise
    pool.shutdown()


def _slots(executor: Any) -> int:
    """How many tasks a Parsl executor works on at a time, as far as it tells."""
    workers = getattr(executor, "max_workers_per_node", None) or getattr(executor, "max_threads", None)
    provider = getattr(executor, "provider", None)
    if not isinstance(workers, int):
        return _UNKNOWN
    blocks = getattr(provider, "max_blocks", 1) * getattr(provider, "nodes_per_block", 1)
    return max(1, workers * blocks)
