"""How long tasks take, learnt from those that have run, and when a plan would end."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from trueness.engine.task import Task, in_order

Kinds = tuple[tuple[object, ...], ...]

_DOUBT = 0.1
"""As much spread in the logs of how many ran at once speaks for tasks that do not slow one another."""


class Timing:
    """Mean seconds of tasks like one, alone: of the same name, words among its parameters and sources, or of that name.

    Several at once slow one another: with n of them each takes n ** `crowding` times as long.
    """

    def __init__(self, crowding: float = 0.0) -> None:
        self.crowding = crowding
        self._seconds: defaultdict[tuple[object, ...], float] = defaultdict(float)
        self._count: Counter[tuple[object, ...]] = Counter()

    @classmethod
    def of(cls, measured: Iterable[tuple[Task, float, float]]) -> Timing:
        """Learn from tasks that took so many seconds, and when each finished; those still running are not known."""
        known = list(measured)
        beside = _at_once([(finished - seconds, finished) for _, seconds, finished in known])
        timing = cls(_crowding([(kinds_of(task)[0], seconds) for task, seconds, _ in known], beside))
        for (task, seconds, _), count in zip(known, beside, strict=True):
            timing.add(task, seconds, count)
        return timing

    def add(self, task: Task, seconds: float, beside: float = 1.0) -> None:
        """A task took so long, with about so many at once."""
        for kind in kinds_of(task):
            self._seconds[kind] += seconds / beside**self.crowding
            self._count[kind] += 1

    def estimate(self, kinds: Kinds) -> float | None:
        """Mean seconds of the tasks most like one; of any task, if none of its name has run; None if none at all."""
        known = (kind for kind in kinds if self._count[kind])
        return next((self._seconds[kind] / self._count[kind] for kind in known), None)

    def seconds(self, kinds: Kinds) -> float:
        """The same, or 1 where it is not known."""
        found = self.estimate(kinds)
        return 1.0 if found is None else found

    def total(self, left: Mapping[Kinds, int], slots: int = 1) -> float | None:
        """Seconds for so many tasks of each kind if `slots` are always busy; None while nothing has been timed."""
        if not self._count:
            return None
        work = sum(count * self.seconds(kinds) for kinds, count in left.items())
        spread: float = slots ** (self.crowding - 1)
        return work * spread


def kinds_of(task: Task) -> Kinds:
    """From most alike to least. Words (a model, a method) and sources (a dataset) tell tasks apart, numbers do not."""
    name = task.type.name
    words = tuple(sorted((key, str(value)) for key, value in task.parameters.items() if _in_words(value)))
    sources = tuple(sorted(item.key for item in task.upstream() if not item.inputs))
    alike = ((name, words, sources), (name, sources), (name, words), (name,))
    return alike if task.type.light else (*alike, ())


def _in_words(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _at_once(spans: Sequence[tuple[float, float]]) -> list[float]:
    """For each span how many of them there are during it, in the mean, itself among them."""
    changes = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    running, passed, before = 0, 0.0, 0.0
    until: dict[float, float] = {}
    for time, change in changes:
        passed += running * (time - before)
        until[time] = passed  # the length of all spans up to here
        running, before = running + change, time
    return [max(1.0, (until[end] - until[begin]) / (end - begin)) if end > begin else 1.0 for begin, end in spans]


def _crowding(timed: Sequence[tuple[object, float]], beside: Sequence[float]) -> float:
    """The slope of log seconds over the log of how many ran at once, among tasks of one kind; from 0 to 1.

    Drawn to 0 where these numbers hardly differ: a slope over next to nothing is noise.
    """
    alike: defaultdict[object, list[tuple[float, float]]] = defaultdict(list)
    for (kind, seconds), count in zip(timed, beside, strict=True):
        if seconds > 0:
            alike[kind].append((math.log(count), math.log(seconds)))
    above = below = 0.0
    for points in alike.values():
        x, y = (fmean(part) for part in zip(*points, strict=True))
        above += sum((count - x) * (seconds - y) for count, seconds in points)
        below += sum((count - x) ** 2 for count, _ in points)
    return min(1.0, max(0.0, above / (below + _DOUBT)))


def chains(tasks: Sequence[Task], timing: Timing, needed: Iterable[str]) -> dict[str, float]:
    """Per task, the seconds of the longest chain of needed tasks that begins with it; unknown times count as 1.

    `tasks` must be ordered as `walk` orders them.
    """
    to_do = set(needed)
    longest: dict[str, float] = {}
    below: defaultdict[str, float] = defaultdict(float)
    for task in reversed(tasks):
        own = timing.seconds(kinds_of(task)) if task.key in to_do else 0.0
        longest[task.key] = own + below[task.key]
        for upstream in task.upstream():
            below[upstream.key] = max(below[upstream.key], longest[task.key])
    return longest


def ends_after(tasks: Sequence[Task], timing: Timing, needed: Iterable[str], slots: int) -> float:
    """Seconds until the needed tasks are done, so many at a time, the longest remaining chain first."""
    to_do = set(needed)
    priority = chains(tasks, timing, to_do)
    known = {task.key: task for task in tasks if task.key in to_do}
    order = in_order(known)
    ready: list[tuple[float, str]] = []
    running: list[tuple[float, str]] = []
    now = worked = 0.0  # seconds, and what each running task would have got done in them alone
    while order.is_active():
        for key in order.get_ready():
            heapq.heappush(ready, (-priority[key], key))
        while ready and len(running) < slots:
            _, key = heapq.heappop(ready)
            heapq.heappush(running, (worked + timing.seconds(kinds_of(known[key])), key))
        now += (running[0][0] - worked) * len(running) ** timing.crowding
        worked, done = heapq.heappop(running)
        order.done(done)
    return now
