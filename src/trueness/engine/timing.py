"""How long tasks take, learnt from those that have run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trueness.engine.task import Task


class Timing:
    """Mean seconds per task name."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()
        self._count: Counter[str] = Counter()

    @classmethod
    def of(cls, metas: Iterable[Mapping[str, Any]]) -> Timing:
        """Learn from the meta data of stored objects."""
        timing = cls()
        for meta in metas:
            timing.add(str(meta["task"]), float(meta["seconds"]))
        return timing

    def add(self, name: str, seconds: float) -> None:
        """One more task of that name took so long."""
        self._seconds[name] += seconds  # type: ignore[assignment]  # a Counter sums floats as well
        self._count[name] += 1

    def estimate(self, name: str) -> float | None:
        """Mean seconds of tasks of that name; None if none has run."""
        return self._seconds[name] / self._count[name] if self._count[name] else None

    def total(self, remaining: Mapping[str, int]) -> float | None:
        """Seconds of work in `remaining` (task name to count); None while nothing at all has been timed.

        A kind of task that has not run yet is taken to last as long as the mean of those that have.
        """
        if not self._count:
            return None
        usual = sum(self._seconds.values()) / sum(self._count.values())
        return sum(
            count * (known if (known := self.estimate(name)) is not None else usual)
            for name, count in remaining.items()
        )


def chains(tasks: Sequence[Task], timing: Timing, needed: Iterable[str]) -> dict[str, float]:
    """Per task, the seconds of the longest chain of needed tasks that begins with it; unknown times count as 1.

    `tasks` must be ordered as `walk` orders them.
    """
    to_do = set(needed)
    longest: dict[str, float] = {}
    below: dict[str, float] = {}
    for task in reversed(tasks):
        known = timing.estimate(task.type.name)
        own = (known if known is not None else 1.0) if task.key in to_do else 0.0
        longest[task.key] = own + below.get(task.key, 0.0)
        for upstream in task.upstream():
            below[upstream.key] = max(below.get(upstream.key, 0.0), longest[task.key])
    return longest
