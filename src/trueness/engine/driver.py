"""The driver: walks a task graph over any PEP 3148 executor, longest remaining chain first.

Running the same targets again resumes: what is in the store, intact, is not computed again.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import Any

from trueness.engine.files import StoreError, handles
from trueness.engine.store import DamagedObjectError, Store
from trueness.engine.summary import EngineLostError, Failure, Listener, Summary, TimeUpError
from trueness.engine.task import Task, in_order, walk
from trueness.engine.timing import Timing, chains, kinds_of
from trueness.engine.worker import Outcome, Request, execute
from trueness.errors import UserError

_ATTEMPTS = 2  # a task whose worker process died is tried once more
_PATIENCE = 0.05  # seconds between looks at a task that another process is computing
_TRIES = 6  # of a task for which a device had no room
_ROOM = 10.0  # seconds until the next one, times how many there were
_LOOK = 5.0  # seconds between looks at the workers
_GLANCE = 0.5  # seconds between looks at the clock
_SILENCE = 300.0  # seconds without progress and without a living worker, after which a run ends


@dataclass(frozen=True)
class Survey:
    """The state of a plan in a store."""

    tasks: list[Task]
    intact: dict[str, dict[str, Any]]
    damaged: list[DamagedObjectError]
    needed: dict[str, Task]
    """What has to be computed: missing or damaged tasks that a target needs."""

    @property
    def timing(self) -> Timing:
        """Learnt from the tasks that have run."""
        done = [(task, self.intact[task.key]) for task in self.tasks if task.key in self.intact]
        timed = [(task, meta) for task, meta in done if {"seconds", "finished"} <= meta.keys()]
        return Timing.of((task, float(meta["seconds"]), float(meta["finished"])) for task, meta in timed)


def survey(targets: Sequence[Task], store: Store | None) -> Survey:
    """Check every stored object of the plan against its digests and find what is left to do."""
    tasks = walk(targets)
    intact: dict[str, dict[str, Any]] = {}
    damaged = []
    for task in tasks:
        if store is not None and store.has(task.key):
            try:
                intact[task.key] = store.verify(task.key)
            except DamagedObjectError as error:
                damaged.append(error)
    wanted = {target.key for target in targets} | {error.key for error in damaged}
    needed: dict[str, Task] = {}
    for task in reversed(tasks):
        if task.key in wanted and task.key not in intact:
            needed[task.key] = task
            wanted.update(item.key for item in task.upstream())
    return Survey(tasks, intact, damaged, needed)


def run(
    targets: Sequence[Task],
    store: Store,
    executor: Executor,
    *,
    slots: int | None = None,
    listener: Listener | None = None,
    seconds: float | None = None,
) -> Summary:
    """Compute the targets and whatever they need; failures are collected, independent branches finish.

    `slots` is the number of tasks the executor works on at a time, where it does not tell (`slots` or `_max_workers`).
    Where it tells by `alive()` whether some worker lives, a run ends that has made no progress without one for long.
    After so many `seconds` it ends by TimeUpError.
    """
    with handles():
        return _Run(targets, store, executor, slots, listener or Listener()).go(seconds)


class _Run:
    def __init__(
        self, targets: Sequence[Task], store: Store, executor: Executor, slots: int | None, listener: Listener
    ) -> None:
        self.begin = time.monotonic()
        self.store, self.executor, self.listener = store, executor, listener
        self._given_slots = slots
        store.check_writable()
        store.collect_garbage()
        found = survey(targets, store)
        for key in found.intact:
            store.keep(key)
        for error in found.damaged:
            if store.set_aside(error.key):
                listener.damaged(error)
        self.timing = found.timing
        self.priority = chains(found.tasks, self.timing, found.needed)
        self.summary = Summary(
            total=len(found.tasks),
            cached=len(found.tasks) - len(found.needed),
            damaged=[error.key for error in found.damaged],
        )
        self.left = Counter(kinds_of(task) for task in found.needed.values())
        self.order, self.waiting = in_order(found.needed), dict(found.needed)
        self.ready: list[tuple[float, str, Task]] = []
        self._go_on()
        self.running: dict[Future[Outcome], Task] = {}
        self.elsewhere: list[tuple[Task, float]] = []
        self.attempts: Counter[str] = Counter()
        self.crowded: Counter[str] = Counter()
        self.seen_alive = self.looked = time.monotonic()
        listener.planned(self.summary.total, self.summary.cached)

    @property
    def slots(self) -> int:
        """How many tasks are worked on at a time: as told, or as the executor tells now."""
        executor = self.executor
        return self._given_slots or getattr(executor, "slots", None) or getattr(executor, "_max_workers", None) or 8

    def go(self, seconds: float | None) -> Summary:
        while self.ready or self.running or self.elsewhere:
            if seconds is not None and time.monotonic() - self.begin > seconds:
                raise TimeUpError
            self._look_elsewhere()
            # Twice as many as there are slots, so that no worker waits for the driver.
            while self.ready and len(self.running) < 2 * self.slots:
                self._submit(heapq.heappop(self.ready)[2])
            if self.running:
                patience = _PATIENCE if self.elsewhere else _LOOK if seconds is None else _GLANCE
                finished, _ = wait(self.running, patience, return_when=FIRST_COMPLETED)
                self._watch(progress=bool(finished))
                for future in finished:
                    self._settle(self.running.pop(future), future)
            elif self.elsewhere:
                time.sleep(_PATIENCE)
                self.seen_alive = time.monotonic()  # no worker is needed now
        self.summary.blocked = list(self.waiting.values())
        self.summary.seconds = time.monotonic() - self.begin
        return self.summary

    def _go_on(self) -> None:
        """Take up the tasks all of whose inputs are there by now."""
        for key in self.order.get_ready():
            self._make_ready(self.waiting.pop(key))

    def _make_ready(self, task: Task) -> None:
        heapq.heappush(self.ready, (-self.priority[task.key], task.key, task))

    def _submit(self, task: Task) -> None:
        try:
            self.running[self.executor.submit(execute, Request.of(task, self.store))] = task
        except BrokenExecutor as error:
            self._alive()
            self._fail(Failure(task, f"the executor is broken and takes no more tasks ({error})", ""))

    def _watch(self, *, progress: bool) -> None:
        """End the run where no worker has lived for long: nothing would ever come back."""
        now = time.monotonic()
        if progress:
            self.seen_alive = now
        elif now - self.looked >= _LOOK:
            self.looked = now
            if self._alive():
                self.seen_alive = now
            elif now - self.seen_alive >= _SILENCE:
                raise EngineLostError(
                    f"No worker has been alive for {now - self.seen_alive:.0f} seconds",
                    "see that workers can start (with Parsl, look into the logs of its run folder)",
                )

    def _alive(self) -> bool:
        """Whether some worker lives, as far as the executor tells; one that is gone altogether raises."""
        alive = getattr(self.executor, "alive", None)
        return alive is None or bool(alive())

    def _look_elsewhere(self) -> None:
        """Tasks another process was computing: done by now, or to be tried again after a while."""
        waiting, self.elsewhere = self.elsewhere, []
        now = time.monotonic()
        for task, again in waiting:
            if self.store.has(task.key):
                self._finish(task, Outcome("found"))
            elif now >= again:
                self._make_ready(task)
            else:
                self.elsewhere.append((task, again))

    def _settle(self, task: Task, future: Future[Outcome]) -> None:
        try:
            with handles():
                outcome = future.result()
        except UserError:
            raise
        except BrokenExecutor:
            self._alive()
            self.attempts[task.key] += 1
            if self.attempts[task.key] < _ATTEMPTS:
                self._make_ready(task)
            else:
                self._fail(
                    Failure(
                        task, "its worker process died twice (killed, out of memory, or ended by code that it ran)", ""
                    )
                )
            return
        except BaseException as error:  # for example a result that an executor could not carry back
            if not isinstance(error, Exception) and error is not future.exception():
                raise  # Ctrl-C
            self._fail(Failure(task, f"{type(error).__name__}: {error}", ""))
            return
        if outcome.status == "stopped":
            raise StoreError(outcome.error)
        if outcome.status == "busy":
            self.elsewhere.append((task, time.monotonic() + _PATIENCE))
        elif outcome.status == "crowded" and self.crowded[task.key] < _TRIES - 1:
            # Its device is shared with other workers, perhaps of other runs: they end some time.
            self.crowded[task.key] += 1
            self.elsewhere.append((task, time.monotonic() + _ROOM * self.crowded[task.key]))
        elif outcome.status in ("failed", "crowded"):
            self._fail(Failure(task, outcome.error, outcome.log, outcome.mendable))
        else:
            self._finish(task, outcome)

    def _finish(self, task: Task, outcome: Outcome) -> None:
        if outcome.status == "computed":
            self.summary.computed += 1
            self.timing.add(task, outcome.seconds, min(self.slots, len(self.running) + 1))
        else:
            self.summary.found += 1
            self.store.keep(task.key)
        self.left[kinds_of(task)] -= 1
        self.order.done(task.key)
        self._go_on()
        self.listener.finished(task, self.timing.total(self.left, self.slots))

    def _fail(self, failure: Failure) -> None:
        self.summary.failures.append(failure)
        self.listener.failed(failure)
