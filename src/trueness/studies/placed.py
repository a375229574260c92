"""What a summary reads: the tasks of a plan, each with its place, such as its dataset and model; and small tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trueness.engine import Task

if TYPE_CHECKING:
    import pandas as pd

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


def small(records: pd.DataFrame) -> pd.DataFrame:
    """The same in single precision and with short integers."""
    changes = {
        column: records[column].astype("float32" if kind == "f" else "int32")
        for column in records
        if (kind := records[column].dtype.kind) in "fi"
    }
    changed: pd.DataFrame = records.assign(**{str(column): values for column, values in changes.items()})
    return changed
