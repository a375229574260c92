"""What a summary reads: the tasks of a plan, each with its place, such as its dataset and model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueness.engine import Task

Place = Mapping[str, Any]


class Placed:
    """The tasks that a plan makes, by the name under which its summary reads them, and the place of each."""

    def __init__(self, *names: str) -> None:
        self.inputs: dict[str, list[Task]] = {name: [] for name in names}
        self.at: dict[str, list[Place]] = {name: [] for name in names}

    def add(self, name: str, task: Task, **place: Any) -> Task:
        """The task, which is remembered with its place."""
        self.inputs[name].append(task)
        self.at[name].append(place)
        return task
