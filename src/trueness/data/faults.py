"""Rows without anything in them, rows that cannot be read, labels that are missing: counted, in few words."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from trueness.boundary import short
from trueness.errors import UserError

_KINDS = 4
"""Kinds of faults that a note tells apart."""


class Gap(str):
    """Why a row counts as empty: it is left out and counted, where a row that cannot be read stops the command."""

    __slots__ = ()


def refuse_row(where: str, number: int, fault: str, more: str = "") -> UserError:
    """That a row cannot be read, and how to go on without it."""
    return UserError(f'{where}, row {number}: {fault}; {more}bad_rows="drop" leaves such rows out.')


class Faults:
    """How often rows have which fault, and where it is first."""

    def __init__(self) -> None:
        self._seen: dict[str, list[int]] = {}

    def add(self, problem: str, number: int, count: int = 1) -> None:
        """Faults that differ only by what is quoted in brackets are of one kind."""
        if count:
            self._seen.setdefault(problem.partition(" (")[0], [number, 0])[1] += count

    @property
    def count(self) -> int:
        """Of rows."""
        return sum(count for _, count in self._seen.values())

    def __bool__(self) -> bool:
        return bool(self._seen)

    def __str__(self) -> str:
        kinds = sorted(self._seen.items(), key=lambda kind: -kind[1][1])
        told = [
            f"{short(problem)} ({count:,}{f', first in row {first}' if first else ''})"
            for problem, (first, count) in itertools.islice(kinds, _KINDS)
        ]
        return "; ".join([*told, *(["and others"] if len(kinds) > _KINDS else [])])


def told_gaps(gaps: Iterable[str]) -> str:
    """How many labels are missing because of what stands in their place; nothing where none is."""
    found = [gap for gap in gaps if gap]
    return f", {len(found):,} of them since it is {' or '.join(dict.fromkeys(found))}" if found else ""
