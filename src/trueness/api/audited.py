"""What an audit is about to do, and what a finished one left in its store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trueness.audits.leaderboard import audits_in
from trueness.audits.verdict import Audit, Cost
from trueness.engine import Store, Summary, Task, TasksFailedError, walk
from trueness.errors import UserError
from trueness.kinds.contract import Words
from trueness.protocols.result import Result
from trueness.version import __version__

QUESTION = "Which explanations may be shown?"
_WORK = {
    "audit/read": "reading the data",
    "audit/asked": "asking the model",
    "audit/explained": "explaining",
    "audit/randomised": "random weights",
    "audit/layers": "random weights",
    "audit/removed": "hiding {units}",
    "audit/own-trial": "trials of this kind alone",
    "audit/planted": "planting evidence",
    "audit/planted-model": "training models",
    "audit/planted-found": "looking for planted evidence",
    "audit/labelled": "asking the model",
    "audit/relative": "training relatives",
    "audit/compared": "explaining relatives",
    "audit/companion-removed": "hiding {units} of the companion",
    "audit/bounded": "searching the best order",
    "audit/examples": "examples",
    "audit/verdict": "verdict",
    "audit/summary": "verdict",
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
    words: Words
    """How people speak of what the model reads."""
    seconds: float | None
    """Estimated, until the end; None where nothing has been timed."""
    parts: Mapping[str, float]
    """Estimated seconds of work by what they are for."""
    left_out: tuple[str, ...]
    refused: Mapping[str, str]
    """Explainers that the model cannot have, and why."""
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        end = "no estimate yet" if self.seconds is None else f"about {self.seconds:.0f} s"
        return f"<AuditPlan of {self.model} on {self.data}: {len(self.explainers)} explainers; {end}>"

    def _repr_html_(self) -> str:
        """In a notebook: what is done, and how long each part takes."""
        from html import escape

        from trueness.report.cards import notes, table

        refused = [f"not possible: {name}: {why}" for name, why in self.refused.items()]
        said = [*refused, *(f"left out: {one}" for one in self.left_out), *self.notes]
        parts = [{"work": what, "seconds": f"{seconds:.0f}"} for what, seconds in self.parts.items() if seconds >= 1]
        return f"<b>{escape(repr(self)[1:-1])}</b>{table(parts)}{notes(said)}"


_KEPT = "The results of the other explainers are kept: correct this one, or leave it out, and run again."


def check_done(summary: Summary) -> None:
    """Refuse a run of which a task failed; what a person can mend is told once, without the tasks it befell."""
    if summary.failures and all(failure.mendable for failure in summary.failures):
        told = {failure.error: f"{' '.join(failure.error.split()).removesuffix('.')}." for failure in summary.failures}
        failed = {failure.task.parameters.get("explainer") for failure in summary.failures}
        asked = {name for task in summary.blocked for name in task.parameters.get("explainers", ())}
        kept = [_KEPT] if None not in failed and asked - failed else []
        raise UserError("\n".join([*told.values(), *kept]))
    if not summary.complete:
        raise TasksFailedError(summary)


class AuditRun(Audit):
    """An audit that has run, with what can be done with it: `report`, `table`, `may_be_shown`."""

    def report(self, path: str | Path, *, no_text: bool = False) -> Path:
        """Write the HTML report, and audit.json beside it under the same name; returns the report.

        With `no_text` neither holds an example of the data.
        """
        from trueness.audits.report import write_report

        return write_report(self, path, no_text=no_text)

    def _repr_html_(self) -> str:
        """In a notebook: cards of the verdicts, and how the model's answer falls when units are hidden."""
        from trueness.audits.drawing import drawn_curves

        return f"{super()._repr_html_()}{drawn_curves(self.curves, self.words.units)}"

    def export(self, form: Literal["csv", "junit", "latex", "markdown", "model_card"]) -> str:
        """The audit as other programs take it."""
        from trueness.audits import exports

        made: str = getattr(exports, form)(self)
        return made

    def to_model_card(self) -> str:
        """A block for the card of the model on the Hugging Face hub, with its metadata (`model-index`) first."""
        return self.export("model_card")

    def log_to(
        self, tracker: Literal["mlflow", "tensorboard", "wandb"], *, step: int | None = None, **where: Any
    ) -> str:
        """Log verdicts, numbers and the table where experiments are tracked; says where it is.

        The run that is open is taken, or a new one with what `where` says: of MLflow `run_name` or `run_id`, of wandb
        `project` or `mode="offline"`, of TensorBoard `log_dir`. No example of the data goes there.
        """
        from trueness.audits.trackers import log_to

        return log_to(self, tracker, step=step, **where)


def read_audit(store: Store, target: Task, left_out: Sequence[str] = ()) -> AuditRun:
    """The audit that a finished run left, with what it cost."""
    stored = store.get(target.key)
    (found,) = audits_in(Result.from_payloads(stored.everything()))
    seconds: dict[str, list[float]] = {}
    each: dict[str, float] = {}
    versions: dict[str, str] = {}
    for task in walk([target]):
        meta = store.meta(task.key)
        versions = versions or {**meta.get("versions", {})}
        work = _WORK.get(task.type.name, "training again without {units}").format(units=found.words.units)
        seconds.setdefault(work, []).append(float(meta["seconds"]))
        if "explainer" in task.parameters:
            name = str(task.parameters["explainer"])
            each[name] = each.get(name, 0.0) + float(meta["seconds"])
    cost = [Cost(work=work, tasks=len(some), seconds=sum(some)) for work, some in seconds.items()]
    return AuditRun(
        **{
            **dict(found),
            "explainers": tuple(
                one.model_copy(update={"seconds": each.get(one.explainer, 0.0)}) for one in found.explainers
            ),
            "left_out": tuple(dict.fromkeys([*left_out, *found.left_out])),
            "cost": tuple(sorted(cost, key=lambda one: -one.seconds)),
            "versions": {"trueness": __version__, **versions},
            "key": target.key,
        }
    )
