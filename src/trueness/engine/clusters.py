"""Engines beyond one machine, rented: Parsl (Slurm, PBS, Kubernetes, clouds) and Dask, behind the same contract.

All that travels are names and keys; workers read and write the store, which must be on a file system that all see.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueness.engine.cluster_executor import ClusterExecutor
from trueness.engine.parsl_engine import open_parsl
from trueness.engine.summary import EngineLostError
from trueness.errors import UserError, install


@contextlib.contextmanager
def open_engine(name: str) -> Iterator[ClusterExecutor]:
    """The engine that `parsl:FILE` or `dask:ADDRESS` names, while it is used."""
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
        raise UserError(f"The engine dask needs a package: {install('dask')}.") from error
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

    with _silent("distributed.client"), _silent("asyncio"), client:
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
