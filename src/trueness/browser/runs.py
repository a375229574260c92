"""The finished runs of a store as pages need them; what a run holds never changes, since its key names its content."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trueness.audits.leaderboard import audits_of
from trueness.audits.verdict import Audit
from trueness.boundary import first_line
from trueness.engine import DamagedObjectError, Store, Stored
from trueness.errors import UserError
from trueness.plugins import told_by
from trueness.protocols.result import Result
from trueness.report.figure import Figure
from trueness.report.instances import Instances, instances_of
from trueness.report.page import read_result
from trueness.studies import KINDS, Study
from trueness.version import __version__

KEY = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Run:
    """One result of one study."""

    store: Store
    key: str
    record: Mapping[str, Any]
    state: tuple[int, ...] = ()
    """Of its object: another where another one was put in its place."""

    def told(self, name: str) -> str:
        """A field of the study as it was recorded; nothing where it is missing."""
        return str(self.record["study"].get(name, ""))

    @property
    def title(self) -> str:
        """What the study is called."""
        return self.told("title") or self.told("name") or self.key

    @property
    def finished(self) -> str:
        """When, in words."""
        try:
            return time.strftime("%Y-%m-%d %H:%M", time.localtime(float(self.record["finished"])))
        except (OverflowError, OSError, ValueError):
            return "some time"

    @functools.cached_property
    def study(self) -> Study:
        """As it was recorded; its models and data may be gone by now, so they are not looked for."""
        plain = {name: value for name, value in self.record["study"].items() if name != "left_out"}
        told = {name: self.told(name) for name in ("kind", "name", "title", "question", "paper")}
        with told_by(f"The record of {self.key}"):
            return KINDS[told["kind"]].schema.model_construct(**{**plain, **told})

    @property
    def stored(self) -> Stored:
        """Its result in the store."""
        return self.store.get(self.key)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """What another version of trueness, or somebody, left in the result becomes a UserError, whatever it is."""
        try:
            yield
        except (UserError, DamagedObjectError, MemoryError):
            raise
        except Exception as error:
            kind, said = type(error).__name__, first_line(error)
            raise UserError(
                f"The result {self.key[:10]} is not as trueness {__version__} writes it "
                f"({kind if kind == said else f'{kind}: {said}'}); run the study again."
            ) from error

    @functools.cached_property
    def result(self) -> Result:
        """All of it, digests checked."""
        return read_result(self.study, self.stored)

    @functools.cached_property
    def figures(self) -> dict[str, Figure]:
        """By name."""
        return {figure.name: figure for figure in KINDS[self.study.kind].figures(self.result)}

    @functools.cached_property
    def audits(self) -> list[Audit]:
        """Of a study that is an audit."""
        return audits_of(self.stored.read("audits")) if self.stored.holds("audits") else []

    @functools.cached_property
    def verdicts(self) -> list[str]:
        """Of an audit, in a line for each model."""
        return [
            f"{one.model} on {one.data}, {one.size:,} {one.words.examples}: {_decisions(one)}" for one in self.audits
        ]

    @functools.cached_property
    def instances(self) -> Instances:
        """Texts with what the methods say of them."""
        return instances_of(self.result)


def _decisions(audit: Audit) -> str:
    """Which methods may be shown, which must not be, and of which it cannot be told."""
    found: dict[str, list[str]] = {}
    for one in audit.explainers:
        if not one.foil:
            found.setdefault(one.decision, []).append(one.explainer)
    return "; ".join(f"{decision}: {', '.join(names)}" for decision, names in found.items())


def runs_of(store: Store) -> dict[str, Run]:
    """The newest record of every result that is there, the newest first; links out of the store are passed over."""
    found: dict[str, Run] = {}
    for record in store.runs():
        key = str(record["result"])
        if KEY.fullmatch(key) and (state := _state(f"{store.objects}/{key}")):
            found.pop(key, None)
            found[key] = Run(store, key, record, state)
    return dict(reversed(found.items()))


def _state(path: str) -> tuple[int, ...]:
    """Of a folder; nothing of what is none, or a link."""
    try:
        about = os.lstat(path)
    except OSError:
        return ()
    return (about.st_ino, about.st_mtime_ns, about.st_ctime_ns) if stat.S_ISDIR(about.st_mode) else ()
