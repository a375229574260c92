"""What running a study would do, and how long it would take."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueness import engine, studies
from trueness.api.executors import local_executor
from trueness.api.studies import DEFAULT_STORE, loaded_study
from trueness.engine import Store, Survey
from trueness.studies import Study


@dataclass(frozen=True)
class Plan:
    """What running a study would do."""

    study: Study
    tasks: dict[str, dict[str, int]]
    """Task name to how many there are in all, in the store, and to be computed."""
    damaged: tuple[str, ...]
    workers: int
    seconds: float | None
    """Estimated seconds until the end; None where no task of the plan has run in this store."""
    critical_path: float | None
    """Estimated seconds of the longest chain of tasks: no number of workers is faster."""
    guessed: tuple[str, ...]
    """Tasks to be computed of which none has run, so that other tasks' times stand for theirs."""
    in_vain: float | None = None
    """Seconds for which the study was tried without any task coming to its end."""
    simulated: Mapping[int, float] = field(default_factory=dict)
    """The same estimate for other numbers of workers, each with a core or device of its own."""

    def to_json(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {
            "study": self.study.name,
            "tasks": self.tasks,
            "total": sum(row["total"] for row in self.tasks.values()),
            "cached": sum(row["cached"] for row in self.tasks.values()),
            "damaged": list(self.damaged),
            "workers": self.workers,
            "seconds": self.seconds,
            "critical_path_seconds": self.critical_path,
            "tried_in_vain_seconds": self.in_vain,
            "guessed": list(self.guessed),
            "simulated": {str(number): seconds for number, seconds in self.simulated.items()},
        }


def plan(
    study: str | Path | Study,
    *,
    store: str | Path = DEFAULT_STORE,
    workers: int | None = None,
    probe: float | None = None,
    **settings: Any,
) -> Plan:
    """The tasks a study expands to, what the store holds of them, and how long the rest takes.

    How long is known from tasks that have run. With `probe`, where none has, the study runs for so many seconds; what
    it finishes stays in the store.
    """
    loaded = loaded_study(study, settings)
    path = Path(store)
    tried = probe is not None and _probed(loaded, path, workers, probe)
    place = Store.open(path) if path.is_file() or (path.is_dir() and any(path.iterdir())) else None
    found = engine.survey([studies.plan(loaded)], place)
    total = Counter(task.type.name for task in found.tasks)
    needed = Counter(task.type.name for task in found.needed.values())
    slots = workers or engine.cores()
    timed = bool(found.intact) or not found.needed
    measured = {task.type.name for task in found.tasks if task.key in found.intact}
    longest = max(engine.chains(found.tasks, found.timing, found.needed).values(), default=0.0) if timed else None
    seconds = engine.ends_after(found.tasks, found.timing, found.needed, slots) if timed else None
    return Plan(
        study=loaded,
        tasks={
            name: {"total": count, "cached": count - needed[name], "to_compute": needed[name]}
            for name, count in total.items()
        },
        damaged=tuple(error.key for error in found.damaged),
        workers=slots,
        seconds=seconds,
        critical_path=longest,
        guessed=tuple(name for name in needed if name not in measured),
        in_vain=probe if tried and not timed else None,
        simulated=_simulated(found) if timed and found.needed else {},
    )


def _probed(study: Study, path: Path, workers: int | None, seconds: float) -> bool:
    """Run a study for some seconds, unless the store knows how long its tasks take; whether it did."""
    target = studies.plan(study)
    place = Store.open(path, create=True)
    if engine.survey([target], place).intact:
        return False
    with contextlib.suppress(engine.TimeUpError), local_executor(workers, ("cpu",)) as executor:
        engine.run([target], place, executor, seconds=seconds)
    return True


def _simulated(found: Survey) -> dict[int, float]:
    """Seconds with 10, 100 and 1,000 workers that do not slow one another, as on several machines."""
    timing = copy(found.timing)
    timing.crowding = 0.0
    return {number: engine.ends_after(found.tasks, timing, found.needed, number) for number in (10, 100, 1000)}
