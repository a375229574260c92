"""Tasks: pure functions with a declared version, bound to parameters and to the tasks they read from."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

from trueness import plugins
from trueness.engine.encoding import canonical, digest, plain

TaskFunction = Callable[..., Mapping[str, Any]]


@dataclass(frozen=True)
class TaskType:
    """A function that makes payloads. Raise `version` whenever its results change: all keys downstream change too."""

    name: str
    version: int
    function: TaskFunction = field(repr=False, compare=False)
    description: str = ""
    light: bool = False
    """Whether it computes little, so that how long other tasks take says nothing about it."""

    def __call__(self, inputs: Mapping[str, Task | Iterable[Task]] | None = None, **parameters: Any) -> Task:
        """Bind parameters and inputs; nothing is computed.

        Parameters become plain values (mappings, lists, numbers, text, paths), which is what the function receives.
        """
        given = sorted((inputs or {}).items())
        bound = {name: value if isinstance(value, Task) else tuple(value) for name, value in given}
        return Task(self, plain(parameters), bound)

    @functools.cached_property
    def address(self) -> str:
        """Where a worker finds this task type: module:name."""
        source = plugins.home(self.function)
        if source is None:
            return f"{self.function.__module__}:{self.function.__qualname__}"
        return plugins.Reference(source.name, (source,))


def task(name: str, *, version: int, light: bool = False) -> Callable[[TaskFunction], TaskType]:
    """Make a task type of a module-level function `f(inputs, **parameters) -> payloads`.

    `inputs` maps each input name to a stored object or a list of them. A payload is a DataFrame, a mapping of names to
    arrays, or plain JSON.
    """

    def decorate(function: TaskFunction) -> TaskType:
        description = (function.__doc__ or "").strip().split("\n")[0]
        return TaskType(name, version, function, description, light)

    return decorate


def find_task_type(address: str) -> TaskType:
    """Import the task type that `TaskType.address` names."""
    if isinstance(address, plugins.Reference):
        found = address.sources[0].load()
    else:
        module, name = address.split(":")
        found = getattr(importlib.import_module(module), name)
    if not isinstance(found, TaskType):
        raise TypeError(f"{address} is not a task")
    return found


@dataclass(frozen=True, eq=False)
class Task:
    """A task type with its parameters and inputs: one node of a plan. Its key names its result in the store."""

    type: TaskType
    parameters: Mapping[str, Any]
    inputs: Mapping[str, Task | tuple[Task, ...]]

    @functools.cached_property
    def key(self) -> str:
        """Digest of task name, version, canonical parameters and input keys; outside the package also of the source."""
        address = self.type.address
        outside = {"outside": address} if isinstance(address, plugins.Reference) else {}
        return digest({"task": self.type.name, "version": self.type.version, **outside, **self.content})

    @functools.cached_property
    def content(self) -> dict[str, Any]:
        """Canonical parameters and input keys, as they are recorded in the store."""
        return {"parameters": canonical(self.parameters), "inputs": self.input_keys}

    @property
    def input_keys(self) -> dict[str, str | list[str]]:
        """The keys of the inputs, by input name."""
        return {
            name: value.key if isinstance(value, Task) else [item.key for item in value]
            for name, value in self.inputs.items()
        }

    @functools.cached_property
    def sources(self) -> frozenset[plugins.Source]:
        """All that lies outside the package and has a part in this task, or in one it reads from."""
        found = set(_sources([self.parameters, self.type.address]))
        return frozenset(found.union(*(item.sources for item in self.upstream())))

    def upstream(self) -> Iterator[Task]:
        """The tasks this one reads from."""
        for value in self.inputs.values():
            yield from (value,) if isinstance(value, Task) else value

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        return f"{self.type.name}({shown})"


def _short(value: Any, limit: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _sources(value: Any) -> Iterator[plugins.Source]:
    if isinstance(value, plugins.Reference):
        yield from value.sources
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _sources(item)


def walk(targets: Iterable[Task]) -> list[Task]:
    """Every task the targets need, themselves included, each once and after the tasks it reads from."""
    found: dict[str, Task] = {}
    stack = [(target, False) for target in reversed(list(targets))]
    entered: set[str] = set()
    while stack:
        current, finished = stack.pop()
        if finished:
            found.setdefault(current.key, current)
        elif current.key not in entered:
            entered.add(current.key)
            stack.append((current, True))
            stack.extend((item, False) for item in current.upstream())
    return list(found.values())


def in_order(tasks: Mapping[str, Task]) -> TopologicalSorter[str]:
    """The keys of some tasks, each ready once those among them that it reads from are done."""
    order = TopologicalSorter(
        {key: [item.key for item in task.upstream() if item.key in tasks] for key, task in tasks.items()}
    )
    order.prepare()
    return order
