"""Parsl as an engine: its pool, whether its parts live, blocks in the place of lost ones, and an end that comes."""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import sysconfig
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trueness.engine.cluster_executor import ClusterExecutor
from trueness.engine.summary import EngineLostError
from trueness.errors import UserError, install

_UNKNOWN = 64  # slots of an executor that does not tell
_ANSWER = 10.0  # seconds in which the interchange must tell its managers
_END = 60.0  # seconds in which Parsl must end before it is left behind
_END_OF_DEAD = 5.0  # the same where its interchange is gone, for which it would wait for ever


@contextlib.contextmanager
def open_parsl(file: Path) -> Iterator[ClusterExecutor]:
    """The engine that a file with a `parsl.Config` describes, while it is used."""
    try:
        from parsl.concurrent import ParslPoolExecutor
        from parsl.executors.errors import BadStateException
        from parsl.executors.high_throughput.errors import ManagerLost, WorkerLost
    except ImportError as error:
        raise UserError(f"The engine parsl needs a package: {install('parsl')}.") from error
    config = _configuration(file)
    # Parsl starts programs of its own by name; they lie beside this Python, which need not be on the path.
    scripts = sysconfig.get_path("scripts")
    if scripts not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", "")])
    pool: Any = ParslPoolExecutor(config)
    parts = _Parts(config.executors, pool._dfk.run_dir)
    lost = (ManagerLost, WorkerLost, BadStateException)
    executor = ClusterExecutor(pool, lambda: sum(map(_slots, config.executors)), parts.alive, lost)
    _replace_lost_blocks(config.executors, lambda: executor.finished)
    try:
        yield executor
    except BaseException:
        parts.end(pool)  # an interruption does not wait for hours of work: it is done again
        raise
    if parts.without_interchange:
        parts.end(pool)
    else:
        pool.shutdown()


def _configuration(file: Path) -> Any:
    from parsl import Config

    if not file.is_file():
        raise UserError(f"There is no file {file}; it must define config, a parsl.Config.")
    config = runpy.run_path(str(file)).get("config")
    if not isinstance(config, Config):
        raise UserError(f"{file} must define config, a parsl.Config.")
    folder = Path(config.run_dir).absolute()
    if re.search(r"\s", str(folder)) and any(getattr(item, "provider", None) for item in config.executors):
        raise UserError(f"Parsl cannot start workers from {folder}: set run_dir in {file} to a path without spaces.")
    return config


def _slots(executor: Any) -> int:
    """How many tasks a Parsl executor works on at a time, as far as it tells."""
    workers = getattr(executor, "max_workers_per_node", None) or getattr(executor, "max_threads", None)
    provider = getattr(executor, "provider", None)
    if not isinstance(workers, int):
        return _UNKNOWN
    blocks = getattr(provider, "max_blocks", 1) * getattr(provider, "nodes_per_block", 1)
    return max(1, workers * blocks)


class _Parts:
    """The processes of Parsl: an interchange beside the driver, and managers, one per node, which have the workers."""

    def __init__(self, executors: list[Any], logs: str) -> None:
        self._executors, self._logs = executors, logs
        self._managers: dict[str, list[Any]] = {}
        self._asking: dict[str, threading.Thread] = {}

    @property
    def without_interchange(self) -> list[Any]:
        """The executors whose interchange has ended."""
        found = ((executor, getattr(executor, "interchange_proc", None)) for executor in self._executors)
        return [executor for executor, process in found if process is not None and process.poll() is not None]

    def alive(self) -> bool:
        """Whether some manager is connected, or some block waits in a queue for its turn."""
        for executor in self.without_interchange:
            raise EngineLostError(
                f"The interchange of Parsl's executor {executor.label} has ended",
                f"look for the reason in {self._logs}",
            )
        for executor in self._executors:
            if getattr(executor, "bad_state_is_set", False):
                said = " ".join(str(executor.executor_exception).split())[:200]
                raise EngineLostError(
                    f"Parsl gave up its executor {executor.label} ({said})", f"look for the reason in {self._logs}"
                )
        return any(self._lives(executor) for executor in self._executors)

    def _lives(self, executor: Any) -> bool:
        from parsl.jobs.states import JobState
        from parsl.providers import LocalProvider

        if not hasattr(executor, "connected_managers"):
            return True  # it does not tell
        waiting = {JobState.PENDING, JobState.HELD}
        queued = any(status.state in waiting for status in executor.status_facade.values())
        return (queued and not isinstance(executor.provider, LocalProvider)) or bool(self._ask(executor))

    def _ask(self, executor: Any) -> list[Any]:
        """The managers that send heartbeats; none if the interchange, which is asked, does not answer."""
        label = executor.label
        asking = self._asking.get(label)
        if asking is None or not asking.is_alive():
            self._managers[label] = []
            asking = threading.Thread(
                target=lambda: self._managers.update({label: executor.connected_managers()}), daemon=True
            )
            self._asking[label] = asking
            asking.start()
        asking.join(_ANSWER)
        return self._managers[label]

    def end(self, pool: Any) -> None:
        """Shut Parsl down; what waits for a dead interchange is left behind, its blocks cancelled."""
        import parsl

        dead = self.without_interchange
        for executor in dead:
            with contextlib.suppress(Exception):  # some of its tasks may be done
                executor.set_bad_state_and_fail_all(RuntimeError("the interchange has ended"))
            if executor.provider is not None:
                executor.provider.cancel(list(executor.blocks_to_job_id.values()))
        ending = threading.Thread(target=pool.shutdown, kwargs={"wait": False}, daemon=True)
        ending.start()
        ending.join(_END_OF_DEAD if dead else _END)
        if ending.is_alive():
            parsl.clear()  # so that another engine can be opened


def _replace_lost_blocks(executors: list[Any], finished: Callable[[], int]) -> None:
    """Where all blocks are lost (killed, or at the end of their time), start another one.

    Parsl's own way, which gives the executor up, is kept where no task has finished since, or the user chose a way.
    """
    from parsl.jobs.error_handlers import simple_error_handler
    from parsl.jobs.states import JobState

    def replace(executor: Any, status: Mapping[str, Any]) -> None:
        lost = [item for item in status.values() if item.state in (JobState.FAILED, JobState.MISSING)]
        if not lost or len(lost) < len(status):
            return
        if finished() > seen[executor.label]:
            seen[executor.label] = finished()
            executor.scale_out_facade(1)
        else:
            simple_error_handler(executor, dict(status))

    seen = {executor.label: -1 for executor in executors}
    for executor in executors:
        if getattr(executor, "block_error_handler", None) is simple_error_handler:
            executor.block_error_handler = replace
