"""What is installed, how fast this machine is, and what an audit of a model would take and could decide."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, NoReturn

from trueness.engine import cores
from trueness.errors import UserError
from trueness.version import __version__

if TYPE_CHECKING:
    from trueness.api.audited import AuditPlan

BUDGETS = ("3m", "10m", "1h")
_FOR_DEVELOPERS = {"dev", "docs"}
"""Extras that nobody needs who uses the package."""
_LIBRARIES = ("torch", "numpy", "transformers")
_NO_VERDICT = "no method can be shown"
"""How an audit says that a budget is too small for a good verdict."""
_BATCH, _WORDS, _WIDTH, _LAYERS = 16, 32, 384, 6
"""A transformer of the size of MiniLM, and texts of the length of a sentence."""


@dataclass(frozen=True)
class Prospect:
    """What an audit does within a budget."""

    budget: str
    seconds: float | None
    """Estimated; None: it is too small for any audit."""
    examples: int
    can_show: bool
    """Whether a method may be found fit to be shown; else it can only be refused."""
    told: tuple[str, ...]
    """What the budget leaves out, or why it is too small."""


@dataclass(frozen=True)
class Checkup:
    """What `trueness doctor` found."""

    versions: Mapping[str, str]
    extras: Mapping[str, tuple[str, ...]]
    """Extra to the packages of it that are missing; none: it is there."""
    cores: int
    memory: float
    """GiB."""
    devices: tuple[str, ...]
    speed: float
    """Sentences that one core passes through a transformer of the size of MiniLM in a second."""
    prospects: tuple[Prospect, ...] = ()
    refused: Mapping[str, str] | None = None
    """Explainers that the model cannot have, and why."""

    def to_json(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        """In a notebook: what is missing, and a line for each budget."""
        from trueness.report.cards import notes, table

        missing = [f"extra {name}: {', '.join(some)} missing" for name, some in self.extras.items() if some]
        here = (
            f"{self.cores} cores, {self.memory:.0f} GiB, {', '.join(self.devices)}; {self.speed:.0f} sentences/s a core"
        )
        return notes([here, *missing]) + table([asdict(one) for one in self.prospects])


def doctor(
    model: Any = None,
    data: Any = None,
    *,
    budgets: Sequence[str] = BUDGETS,
    columns: Mapping[str, str] | None = None,
    family: str | None = None,
    devices: Sequence[str] = ("cpu",),
) -> Checkup:
    """What is installed, how fast this machine is, and what an audit would take.

    `tn.doctor("my_model/", "reviews.csv")` looks at both; `tn.doctor()` at the machine alone.

    Args:
        model: what `tn.audit` takes; without it only the machine is looked at.
        data: what `tn.audit` takes.
        budgets: for which an audit is planned; a few examples are explained to see what everything costs.
        columns: text_column, text_b_column, label_column, bad_rows, where they cannot be guessed.
        family: of a saved model of somebody else's family: its name or address.
        devices: what the workers would share: cpu, cuda:0.
    """
    if (model is None) != (data is None):
        raise UserError("An audit needs a model and data: give both, or neither.")
    asked: dict[str, Any] = {"columns": columns, "family": family, "devices": devices}
    plans = {} if model is None else _plans(model, data, budgets, asked)
    refused: dict[str, str] = {}
    prospects = []
    for budget, plan in plans.items():
        if isinstance(plan, str):
            prospects.append(Prospect(budget, None, 0, can_show=False, told=(plan,)))
            continue
        refused |= plan.refused
        can_show = not any(_NO_VERDICT in one for one in plan.left_out)
        prospects.append(Prospect(budget, plan.seconds, plan.settings["examples"], can_show, tuple(plan.left_out)))
    return Checkup(
        {"trueness": __version__, "Python": platform.python_version(), **_versions()},
        missing_extras(),
        cores(),
        _memory(),
        tuple(_devices()),
        _speed(),
        tuple(prospects),
        refused or None,
    )


class _PlannedError(Exception):
    """Ends an audit where its work would start."""


def _plans(model: Any, data: Any, budgets: Sequence[str], asked: Mapping[str, Any]) -> dict[str, AuditPlan | str]:
    """Of each budget the plan, or why it is too small; costs are measured once, in a store that is thrown away."""
    from trueness.api.audits import audit

    found: dict[str, AuditPlan | str] = {}

    def keep(plan: AuditPlan) -> NoReturn:
        found[budget] = plan
        raise _PlannedError

    with tempfile.TemporaryDirectory(prefix="trueness-doctor-") as store:
        for budget in budgets:
            try:
                with contextlib.suppress(_PlannedError):
                    audit(model, data, budget=budget, store=store, planned=keep, **asked)
            except UserError as error:
                if "is too small" not in str(error):
                    raise
                found[budget] = str(error)
    return found


def missing_extras() -> dict[str, tuple[str, ...]]:
    """Of each extra the packages that are not installed."""
    needed: dict[str, list[str]] = {}
    for line in metadata.requires("trueness") or []:
        if found := re.match(r"([\w.-]+).*extra == ['\"](\w+)['\"]", line):
            needed.setdefault(found[2], []).append(found[1])
    return {
        extra: tuple(name for name in names if not _installed(name))
        for extra, names in sorted(needed.items())
        if extra not in _FOR_DEVELOPERS
    }


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in _LIBRARIES if _installed(name)}


def _memory() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    except (AttributeError, OSError, ValueError):  # not on every system
        return float("nan")


def _devices() -> list[str]:
    import torch

    return ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]


def _speed() -> float:
    """Measured for about a second, on one core as workers use it."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            part = torch.nn.TransformerEncoderLayer(_WIDTH, 12, 4 * _WIDTH, batch_first=True).eval()
            texts = torch.zeros(_BATCH, _WORDS, _WIDTH)
            part(texts)  # the first one prepares
            begin, times = time.perf_counter(), 0
            while time.perf_counter() - begin < 1 or not times:
                part(texts)
                times += 1
            return _BATCH * times / _LAYERS / (time.perf_counter() - begin)
    finally:
        torch.set_num_threads(threads)
