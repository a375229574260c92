"""The executor of another engine, behind the contract of `concurrent.futures`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any, TypeVar

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
