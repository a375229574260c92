"""An audit where experiments are tracked: MLflow, Weights & Biases, TensorBoard. No example of the data goes there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from trueness.audits.export_markdown import markdown
from trueness.audits.verdict import Audit, Decision
from trueness.errors import UserError
from trueness.registry import nearest

VERDICTS: dict[Decision, float] = {"may be shown": 1.0, "cannot tell": 0.0, "must not be shown": -1.0}
"""As numbers, which trackers can draw."""


def log_to(audit: Audit, tracker: str, *, step: int | None = None, **where: Any) -> str:
    """Log an audit to `mlflow`, `wandb` or `tensorboard`, in the run that is open or in a new one; says where it is."""
    if tracker not in TRACKERS:
        raise UserError(f"There is no tracker {tracker!r}; {nearest(tracker, list(TRACKERS))}")
    return TRACKERS[tracker](audit.model_copy(update={"examples": ()}), step, where)


def numbers(audit: Audit) -> dict[str, float]:
    """By `explainer/trial/value` the check that is shown, beside it the ends of its interval; of each its verdict."""
    found: dict[str, float | None] = {"may_be_shown": float(len(audit.may_be_shown)), "accuracy": audit.accuracy}
    for one in audit.explainers:
        found[_key(one.explainer, "verdict")] = VERDICTS[one.decision]
        for trial in one.trials:
            if trial.checks:
                check = trial.checks[0]
                for part, number in (("value", check.value), ("low", check.low), ("high", check.high)):
                    found[_key(one.explainer, trial.name, part)] = number
    return {f"trueness/{name}": value for name, value in found.items() if value is not None and math.isfinite(value)}


def words(audit: Audit) -> dict[str, str]:
    """What was audited, and what came of it."""
    shown = ", ".join(audit.may_be_shown) or "none"
    about = {"model": audit.model, "data": audit.data, "may_be_shown": shown, "key": audit.key}
    return {f"trueness.{name}": value for name, value in about.items()}


def _key(*parts: str) -> str:
    """A name that all trackers take."""
    return "/".join(re.sub(r"[^\w.-]+", "-", part).strip("-") or "unnamed" for part in parts)


def _plain(audit: Audit) -> str:
    return json.dumps(json.loads(audit.model_dump_json()), indent=1, ensure_ascii=False)


def _mlflow(audit: Audit, step: int | None, where: Mapping[str, Any]) -> str:
    """`where` is what `mlflow.start_run` takes: run_id, run_name, experiment_id."""
    mlflow = _imported("mlflow", "mlflow-skinny")
    ours = mlflow.active_run() is None or bool(where)
    run = mlflow.start_run(nested=mlflow.active_run() is not None, **where) if ours else mlflow.active_run()
    try:
        mlflow.log_metrics(numbers(audit), step=step)
        mlflow.set_tags(words(audit))
        mlflow.log_text(_plain(audit), "trueness/audit.json")
        mlflow.log_text(markdown(audit), "trueness/audit.md")
    finally:
        if ours:
            mlflow.end_run()
    return str(run.info.run_id)


def _wandb(audit: Audit, step: int | None, where: Mapping[str, Any]) -> str:
    """`where` is what `wandb.init` takes: project, name, mode."""
    wandb = _imported("wandb", "wandb")
    run = wandb.run if wandb.run is not None and not where else None
    ours = run is None
    run = run or wandb.init(**{"project": "trueness", **where})
    try:
        rows = [{name: row[name] for name in _COLUMNS} for row in audit.rows()]
        table = wandb.Table(columns=list(_COLUMNS), data=[list(row.values()) for row in rows])
        run.log({**numbers(audit), "trueness/checks": table}, step=step)
        run.summary.update(words(audit))
    finally:
        if ours:
            run.finish()
    return str(run.id)


_COLUMNS = ("explainer", "foil", "verdict", "trial", "answer", "check", "value", "low", "high", "n", "unit")


def _tensorboard(audit: Audit, step: int | None, where: Mapping[str, Any]) -> str:
    """`where` is what `SummaryWriter` takes: log_dir."""
    _imported("tensorboard", "tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(**where) as writer:
        for name, value in numbers(audit).items():
            writer.add_scalar(name, value, step)
        writer.add_text("trueness/audit", markdown(audit), step)
        return str(writer.log_dir)


TRACKERS: dict[str, Callable[[Audit, int | None, Mapping[str, Any]], str]] = {
    "mlflow": _mlflow,
    "tensorboard": _tensorboard,
    "wandb": _wandb,
}


def _imported(name: str, package: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(f"This needs {name}: pip install {package}.") from error
