"""How long tasks take, learnt from those that have run, and when a plan would end."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from trueness.engine.task import Task

Kinds = tuple[tuple[object, ...], ...]


class Timing:
    """Mean seconds of tasks like one: of the same name, words among its parameters and sources, or of the same name."""

    def __init__(self) -> None:
        self._seconds: Counter[tuple[object, ...]] = Counter()
        self._count: Counter[tuple[object, ...]] = Counter()

    @classmethod
    def of(cls, measured: Iterable[tuple[Task, float]]) -> Timing:
        """Learn from tasks that took so many seconds."""
        timing = cls()
        for task, seconds in measured:
            timing.add(task, seconds)
        return timing

    def add(self, task: Task, seconds: float) -> None:
        """A task took so long."""
        for kind in kinds_of(task):
            self._seconds[kind] += seconds  # type: ignore[assignment]  # a Counter sums floats as well
            self._count[kind] += 1

    def estimate(self, kinds: Kinds) -> float | None:
        """Mean seconds of the tasks most like one; of any task, if none of its name has run; None if none at all."""
        for kind in kinds:
            if self._count[kind]:
                return self._seconds[kind] / self._count[kind]
        return None

    def total(self, left: Mapping[Kinds, int]) -> float | None:
        """Seconds of work in so many tasks of each kind; None while nothing at all has been timed."""
        if not self._count:
            return None
        known = [(self.estimate(kinds), count) for kinds, count in left.items()]
        return sum(count * (1.0 if seconds is None else seconds) for seconds, count in known)


def kinds_of(task: Task) -> Kinds:
    """From most alike to least. Words (a model, a method) and sources (a dataset) tell tasks apart, numbers do not."""
    name = task.type.name
    words = tuple(sorted((key, str(value)) for key, value in task.parameters.items() if _in_words(value)))
    sources = tuple(sorted(item.key for item in task.upstream() if not item.inputs))
    alike = ((name, words, sources), (name, sources), (name, words), (name,))
    return alike if task.type.light else (*alike, ())


def _in_words(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def chains(tasks: Sequence[Task], timing: Timing, needed: Iterable[str]) -> dict[str, float]:
    """Per task, the seconds of the longest chain of needed tasks that begins with it; unknown times count as 1.

    `tasks` must be ordered as `walk` orders them.
    """
    to_do = set(needed)
    longest: dict[str, float] = {}
    below: dict[str, float] = {}
    for task in reversed(tasks):
        own = _seconds(task, timing) if task.key in to_do else 0.0
        longest[task.key] = own + below.get(task.key, 0.0)
        for upstream in task.upstream():
            below[upstream.key] = max(below.get(upstream.key, 0.0), longest[task.key])
    return longest


def ends_after(tasks: Sequence[Task], timing: Timing, needed: Iterable[str], slots: int) -> float:
    """Seconds until the needed tasks are done, so many at a time, the longest remaining chain first."""
    to_do = set(needed)
    priority = chains(tasks, timing, to_do)
    known = {task.key: task for task in tasks if task.key in to_do}
    waiting = {key: {item.key for item in task.upstream() if item.key in to_do} for key, task in known.items()}
    after: dict[str, list[str]] = {key: [] for key in known}
    for key, before in waiting.items():
        for other in before:
            after[other].append(key)
    ready = [(-priority[key], key) for key, before in waiting.items() if not before]
    heapq.heapify(ready)
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < slots:
            _, key = heapq.heappop(ready)
            heapq.heappush(running, (now + _seconds(known[key], timing), key))
        now, done = heapq.heappop(running)
        for key in after[done]:
            waiting[key].discard(done)
            if not waiting[key]:
                heapq.heappush(ready, (-priority[key], key))
    return now


def _seconds(task: Task, timing: Timing) -> float:
    found = timing.estimate(kinds_of(task))
    return 1.0 if found is None else found
