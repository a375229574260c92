"""What a run did: its summary, its failures, and who hears of them while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueness.engine.store import DamagedObjectError
from trueness.engine.task import Task
from trueness.errors import UserError


@dataclass(frozen=True)
class Failure:
    """A task that could not be computed."""

    task: Task
    error: str
    log: str
    mendable: bool = False
    """Whether a person can put right what failed: the error says how."""

    def __str__(self) -> str:
        return f"{self.task} failed: {self.told}"

    @property
    def told(self) -> str:
        """What failed, whatever the task."""
        where = f"; traceback in {self.log}" if self.log else ""
        return " ".join(f"{self.error.removesuffix('.')}{where}".split())


@dataclass
class Summary:
    """What a run did."""

    total: int = 0
    cached: int = 0
    computed: int = 0
    found: int = 0
    """Computed by another process while this one ran."""
    failures: list[Failure] = field(default_factory=list)
    blocked: list[Task] = field(default_factory=list)
    """Tasks not tried because something they read from failed."""
    damaged: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether every target is now in the store."""
        return not self.failures and not self.blocked


class TasksFailedError(Exception):
    """Some tasks of a run failed; everything that does not depend on them is in the store."""

    def __init__(self, summary: Summary) -> None:
        super().__init__(summary)
        self.summary = summary

    def __str__(self) -> str:
        failed = "\n".join(str(failure) for failure in self.summary.failures)
        blocked = len(self.summary.blocked)
        return f"{failed}\n{blocked} tasks that need what failed were not tried." if blocked else failed


class EngineLostError(UserError):
    """The engine that computes the tasks is gone; what it finished is in the store."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy} and run the same command again: finished tasks are kept.")


class TimeUpError(Exception):
    """A run that was given so many seconds has used them; what it finished is in the store."""


class Listener:
    """Hears of progress; override what you need."""

    def planned(self, total: int, cached: int) -> None:
        """The graph is known."""

    def finished(self, task: Task, seconds_left: float | None) -> None:
        """One more task is in the store; so much time is left, where that can be told."""

    def damaged(self, error: DamagedObjectError) -> None:
        """A stored object was set aside and will be computed again."""

    def failed(self, failure: Failure) -> None:
        """A task failed; what does not depend on it goes on."""
