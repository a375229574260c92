"""What happens inside a worker: take the lock, read the inputs, compute, commit."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trueness import plugins
from trueness.boundary import foreign
from trueness.engine.files import StoreError, handles
from trueness.engine.store import Store, machine
from trueness.engine.task import Task, find_task_type
from trueness.errors import UserError, no_room

DEVICE_VARIABLE = "TRUENESS_DEVICE"


@dataclass(frozen=True)
class Request:
    """A task as it travels to a worker: names and keys only."""

    store: str
    key: str
    address: str
    parameters: Mapping[str, Any]
    content: Mapping[str, Any]
    """Canonical parameters and the keys of the inputs."""
    shown: str
    sources: tuple[plugins.Source, ...] = ()
    """Where things outside the package are found that the task, or what it reads, was made with."""
    durable: bool = False

    @classmethod
    def of(cls, task: Task, store: Store) -> Request:
        """The request that computes `task` into `store`."""
        return cls(
            store=str(store.path.resolve()),
            key=task.key,
            address=task.type.address,
            parameters=dict(task.parameters),
            content=task.content,
            shown=str(task),
            sources=tuple(task.sources),
            durable=store.durable,
        )


@dataclass(frozen=True)
class Outcome:
    """What became of a request."""

    status: Literal["computed", "found", "busy", "crowded", "failed", "stopped"]
    seconds: float = 0.0
    error: str = ""
    log: str = ""
    mendable: bool = False
    """Whether a person can put right what failed: the error says how."""


def current_device() -> str:
    """The device this worker was given: "cpu", "cuda:0", ..."""
    return os.environ.get(DEVICE_VARIABLE, "cpu")


_parts: dict[str, float] = {}


@contextlib.contextmanager
def part_of_task(part: int) -> Iterator[None]:
    """What is done inside belongs to one part of the task that runs: its seconds are noted beside those of the task."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        _parts[str(part)] = _parts.get(str(part), 0.0) + time.perf_counter() - begin


def execute(request: Request) -> Outcome:
    """Compute one task unless it is there or another process is at it. Failures come back, they are not raised."""
    store = Store(Path(request.store), durable=request.durable)
    try:
        with store.lock(request.key) as free:
            if not free:
                return Outcome("busy")
            if store.has(request.key):
                return Outcome("found")
            return _compute(store, request)
    except StoreError as error:
        return Outcome("stopped", error=str(error))
    finally:
        _release_memory()


def _compute(store: Store, request: Request) -> Outcome:
    begin = time.perf_counter()
    _parts.clear()
    try:
        plugins.remembered.set({**plugins.remembered.get(), **{source.name: source for source in request.sources}})
        kind = find_task_type(request.address)
        inputs = {
            name: store.get(keys) if isinstance(keys, str) else [store.get(key) for key in keys]
            for name, keys in request.content["inputs"].items()
        }
        with handles():
            payloads = kind.function(inputs, **request.parameters)
        seconds = time.perf_counter() - begin
        store.commit(
            request.key,
            payloads,
            {
                "task": kind.name,
                "version": kind.version,
                **request.content,
                "device": current_device(),
                "seconds": round(seconds, 6),
                **({"parts": {part: round(own, 6) for part, own in _parts.items()}} if _parts else {}),
                "finished": round(time.time(), 3),
                "versions": machine(),
            },
        )
    except BaseException as error:  # the boundary: whatever ends a task, sys.exit too, is recorded and reported
        if isinstance(error, StoreError) or not foreign(error):
            raise
        text = f"task: {request.shown}\nkey: {request.key}\nparameters: {dict(request.parameters)!r}\n\n"
        log = store.write_log(request.key, text + traceback.format_exc())
        mendable = isinstance(error, UserError)
        last = str(error) if mendable else traceback.format_exception_only(error)[-1].strip()
        status: Literal["crowded", "failed"] = "crowded" if no_room(error) else "failed"
        told = last.encode(errors="backslashreplace").decode()
        return Outcome(status, time.perf_counter() - begin, told, str(log), mendable)
    return Outcome("computed", seconds)


_KEPT = 1 << 30
"""Bytes of a GPU that a worker may keep for its next task: to give them back and to take them again costs time."""


def _release_memory() -> None:
    """Give a GPU's memory back that torch keeps for later: other workers share the device."""
    torch = sys.modules.get("torch")
    if torch is not None and current_device().startswith("cuda") and torch.cuda.memory_reserved() > _KEPT:
        gc.collect()
        with contextlib.suppress(Exception):  # after some errors nothing works on the device any more
            torch.cuda.empty_cache()
