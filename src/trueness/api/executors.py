"""What computes the tasks of a study or an audit."""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from trueness import carried, engine
from trueness.api.devices import check_device
from trueness.engine import LocalExecutor
from trueness.engine.worker import DEVICE_VARIABLE
from trueness.errors import UserError
from trueness.plugins import Source

PER_GPU = 4
"""Processes that share a GPU, unless it is said: more of them wait for one another."""


def open_executor(
    executor: Executor | str | None,
    workers: int | None,
    devices: Sequence[str],
    modules: Sequence[str] = (),
    made_here: Sequence[Source] = (),
) -> contextlib.AbstractContextManager[Executor]:
    """What computes the tasks; a given executor stays open. Processes of this machine begin with `modules` loaded.

    Things `made_here` are sent to them. Where they cannot be packed, this process computes.
    """
    if made_here and executor is not None and not isinstance(executor, Here):
        raise UserError(
            f"{made_here[0].name} was made in this process, and goes to no other machine: leave out executor, or put "
            "it into a file of its own, such as mine.py, and name it mine.py:NAME."
        )
    if isinstance(executor, str):
        if workers is not None or tuple(devices) != ("cpu",):
            raise UserError(f"{executor} has its own workers and devices; leave out both settings.")
        return engine.open_engine(executor)
    if executor is not None:
        return contextlib.nullcontext(executor)
    sent = carried.packed(source.digest for source in made_here)
    if workers == 0 or (sent is None and workers is None):
        for device in devices:
            check_device(device)
        return Here(devices[0] if devices else "cpu")
    if sent is None:
        raise UserError(
            "What was made in this process cannot be sent to another one, as it holds an open file, a connection, or "
            "the like: compute in this process, workers=0."
        )
    return local_executor(workers, devices, modules, sent)


def local_executor(
    workers: int | None, devices: Sequence[str], modules: Sequence[str] = (), sent: dict[str, bytes] | None = None
) -> LocalExecutor:
    """Processes of this machine that share the devices in turn: one per core, of a GPU a few, unless it is said."""
    if workers is not None and not isinstance(workers, int):
        raise UserError(f"The number of workers must be a whole number, not {workers!r}.")
    if not devices:
        raise UserError("At least one device must be named, such as cpu or cuda:0.")
    number = workers if workers is not None else _usual(devices)
    if number < 1:
        raise UserError(f"The number of workers must be at least 0, not {number}.")
    for device in devices:
        check_device(device)
    return LocalExecutor([devices[index % len(devices)] for index in range(number)], modules, sent)


def _usual(devices: Sequence[str]) -> int:
    return engine.cores() if "cpu" in devices else min(engine.cores(), PER_GPU * len(devices))


class Here(Executor):
    """This process: for what no other one has. On a named device it computes as a worker does, with one thread."""

    slots = 1

    def __init__(self, device: str = "") -> None:
        self._device = device

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that is done."""
        done: Future[Any] = Future()
        try:
            # What a task remembers is forgotten after it, as in a worker of its own.
            with _as_worker(self._device) if self._device else contextlib.nullcontext():
                done.set_result(contextvars.copy_context().run(function, *args, **kwargs))
        except Exception as error:  # whatever a worker raises is told by its future
            done.set_exception(error)
        return done


@contextlib.contextmanager
def _as_worker(device: str) -> Iterator[None]:
    """This process as workers are: on a device, and with one thread, so that results do not depend on the cores."""
    import torch

    threads, before = torch.get_num_threads(), os.environ.get(DEVICE_VARIABLE)
    torch.set_num_threads(1)
    os.environ[DEVICE_VARIABLE] = device
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        if before is None:
            del os.environ[DEVICE_VARIABLE]
        else:
            os.environ[DEVICE_VARIABLE] = before
