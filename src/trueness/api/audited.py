"""What an audit is about to do, and what a finished one left in its store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueness.audits.leaderboard import audits_in
from trueness.audits.verdict import Audit, Cost
from trueness.engine import Store, Summary, Task, TasksFailedError, walk
from trueness.errors import UserError
from trueness.protocols.result import Result
from trueness.version import __version__

QUESTION = "Which explanations may be shown?"
_WORK = {
    "audit/texts": "reading the texts",
    "audit/explained": "explaining",
    "audit/randomised": "random weights",
    "audit/removed": "hiding words",
    "audit/attention": "attention",
    "audit/planted": "planting evidence",
    "text/fine-tune": "training models",
    "text/train": "training models",
    "ground-truth/trial": "looking for planted evidence",
    "audit/labelled": "asking the model",
    "audit/relative": "training relatives",
    "audit/compared": "explaining relatives",
    "roar/hidden": "training again without words",
    "roar/retrained": "training again without words",
    "roar/all-hidden": "training again without words",
    "roar/summary": "training again without words",
    "audit/companion-removed": "hiding words of the companion",
    "audit/bounded": "searching the best order",
    "audit/examples": "examples",
    "audit/verdict": "verdict",
    "audit/summary": "verdict",
    "images/dataset": "reading the images",
    "audit-images/explained": "explaining and hiding squares",
    "audit-images/planted": "models with planted artefacts",
    "audit-images/verdict": "verdict",
}
"""What the tasks are for, in words."""


@dataclass(frozen=True)
class AuditPlan:
    """What an audit is about to do."""

    model: str
    data: str
    explainers: tuple[str, ...]
    foils: tuple[str, ...]
    settings: Mapping[str, Any]
    seconds: float | None
    """Estimated, until the end; None where nothing has been timed."""
    parts: Mapping[str, float]
    """Estimated seconds of work by what they are for."""
    left_out: tuple[str, ...]
    refused: Mapping[str, str]
    """Explainers that the model cannot have, and why."""
    notes: tuple[str, ...]


_KEPT = "The results of the other explainers are kept: correct this one, or leave it out, and run again."


def check_done(summary: Summary) -> None:
    """Refuse a run of which a task failed; what a person can mend is told once, without the tasks it befell."""
    if summary.failures and all(failure.mendable for failure in summary.failures):
        told = {failure.error: f"{failure.told}." for failure in summary.failures}
        failed = {failure.task.parameters.get("explainer") for failure in summary.failures}
        asked = {name for task in summary.blocked for name in task.parameters.get("explainers", ())}
        kept = [_KEPT] if None not in failed and asked - failed else []
        raise UserError("\n".join([*told.values(), *kept]))
    if not summary.complete:
        raise TasksFailedError(summary)


def read_audit(store: Store, target: Task, left_out: Sequence[str] = ()) -> Audit:
    """The audit that a finished run left, with what it cost."""
    stored = store.get(target.key)
    (found,) = audits_in(Result.from_payloads(stored.everything()))
    seconds: dict[str, list[float]] = {}
    each: dict[str, float] = {}
    versions: dict[str, str] = {}
    for task in walk([target]):
        meta = store.meta(task.key)
        versions = versions or {**meta.get("versions", {})}
        seconds.setdefault(_WORK.get(task.type.name, task.type.name), []).append(float(meta["seconds"]))
        if "explainer" in task.parameters:
            name = str(task.parameters["explainer"])
            each[name] = each.get(name, 0.0) + float(meta["seconds"])
    cost = [Cost(work=work, tasks=len(some), seconds=sum(some)) for work, some in seconds.items()]
    return found.model_copy(
        update={
            "explainers": tuple(
                one.model_copy(update={"seconds": each.get(one.explainer, 0.0)}) for one in found.explainers
            ),
            "left_out": tuple(dict.fromkeys([*left_out, *found.left_out])),
            "cost": tuple(sorted(cost, key=lambda one: -one.seconds)),
            "versions": {"trueness": __version__, **versions},
            "key": target.key,
        }
    )
