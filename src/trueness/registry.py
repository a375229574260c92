"""Names of things: one registry per kind, with the nearest names when one is unknown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from trueness.errors import UserError

T = TypeVar("T")


def nearest(name: str, known: list[str]) -> str:
    """A clause that names what the user may have meant."""
    close = [item for item in known if name and name in item] or difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known are {', '.join(sorted(known))}." if known else "none is registered."


class Registry(Generic[T]):
    """A mapping from names to things of one kind, each with a line that says what it is."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, T] = {}
        self._descriptions: dict[str, str] = {}
        self._families: list[tuple[re.Pattern[str], Callable[..., T]]] = []

    def add_family(self, pattern: str, make: Callable[..., T]) -> None:
        """Names of one form stand for things made from what the pattern's groups hold."""
        self._families.append((re.compile(pattern), make))

    def add(self, name: str, thing: T, description: str) -> T:
        """Register under a new name."""
        if name in self._things:
            article = "an" if self.kind[0] in "aeiou" else "a"
            raise UserError(f"There is already {article} {self.kind} named {name!r}; choose another name.")
        self._things[name] = thing
        self._descriptions[name] = description
        return thing

    def describe(self, name: str) -> str:
        """What it is, in one line."""
        return self._descriptions[name]

    def __getitem__(self, name: str) -> T:
        for pattern, make in self._families:
            if found := pattern.fullmatch(name):
                return make(*found.groups())
        if name not in self._things:
            raise UserError(f"There is no {self.kind} named {name!r}; {nearest(name, list(self._things))}")
        return self._things[name]

    def __contains__(self, name: object) -> bool:
        made = isinstance(name, str) and any(pattern.fullmatch(name) for pattern, _ in self._families)
        return made or name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._things))

    def __len__(self) -> int:
        return len(self._things)
