"""What computes the tasks of a study or an audit."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from trueness import engine
from trueness.api.devices import check_device
from trueness.engine import LocalExecutor
from trueness.errors import UserError

PER_GPU = 4
"""Processes that share a GPU, unless it is said: more of them wait for one another."""


def open_executor(
    executor: Executor | str | None, workers: int | None, devices: Sequence[str], modules: Sequence[str] = ()
) -> contextlib.AbstractContextManager[Executor]:
    """What computes the tasks; a given executor stays open. Processes of this machine begin with `modules` loaded."""
    if isinstance(executor, str):
        if workers is not None or tuple(devices) != ("cpu",):
            raise UserError(f"{executor} has its own workers and devices; leave out both settings.")
        return engine.open_engine(executor)
    return local_executor(workers, devices, modules) if executor is None else contextlib.nullcontext(executor)


def local_executor(workers: int | None, devices: Sequence[str], modules: Sequence[str] = ()) -> LocalExecutor:
    """Processes of this machine that share the devices in turn: one per core, of a GPU a few, unless it is said."""
    if workers is not None and not isinstance(workers, int):
        raise UserError(f"The number of workers must be a whole number, not {workers!r}.")
    number = workers if workers is not None else _usual(devices)
    if number < 1:
        raise UserError(f"The number of workers must be at least 1, not {number}.")
    if not devices:
        raise UserError("At least one device must be named, such as cpu or cuda:0.")
    for device in devices:
        check_device(device)
    return LocalExecutor([devices[index % len(devices)] for index in range(number)], modules)


def _usual(devices: Sequence[str]) -> int:
    return engine.cores() if "cpu" in devices else min(engine.cores(), PER_GPU * len(devices))


class Here(Executor):
    """This process: for what no other one has."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that is done."""
        done: Future[Any] = Future()
        try:
            # What a task remembers is forgotten after it, as in a worker of its own.
            done.set_result(contextvars.copy_context().run(function, *args, **kwargs))
        except Exception as error:  # whatever a worker raises is told by its future
            done.set_exception(error)
        return done
