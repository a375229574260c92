"""What all exports of an audit share: one line of clean text, numbers, and which explainer went through which trial."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from trueness.audits.verdict import Answer, Audit, Decision, Judged, Trial
from trueness.boundary import printable

SIGNS: dict[Answer, str] = {"pass": "✓", "fail": "✗", "cannot tell": "?"}
VERDICTS: dict[Decision, str] = {"may be shown": "✓", "must not be shown": "✗", "cannot tell": "?"}
NOTHING = "–"
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
"""Which XML and YAML do not allow."""


def clean(text: str) -> str:
    """The same on one line, without what XML, YAML or a terminal could stumble over."""
    return " ".join(_NO_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", printable(text)).split())


def sign(trial: Trial | None) -> str:
    """Of a trial's answer; of one that was not held, or could not be, that there is nothing."""
    return NOTHING if trial is None or not trial.possible else SIGNS[trial.answer]


def trial_names(audit: Audit) -> list[str]:
    """Of all explainers, in order of appearance."""
    return list(dict.fromkeys(trial.name for one in audit.explainers for trial in one.trials))


def not_required(audit: Audit, name: str) -> bool:
    """Whether no verdict depends on a trial."""
    return not any(trial.required for one in audit.explainers for trial in one.trials if trial.name == name)


def value(trial: Trial | None) -> str:
    """The number of the check that is shown; empty without one."""
    found = [trial.checks[0].value] if trial is not None and trial.checks else []
    return _numbers(found)


def interval(trial: Trial | None) -> str:
    """The interval of the check that is shown; empty without one."""
    found = [trial.checks[0].low, trial.checks[0].high] if trial is not None and trial.checks else []
    numbers = _numbers(found)
    return f"[{numbers}]" if numbers else ""


def _numbers(found: Sequence[float | None]) -> str:
    """Empty if one is missing or not finite."""
    there = [number for number in found if number is not None and math.isfinite(number)]
    return ", ".join(f"{number:.3g}" for number in there) if len(there) == len(found) else ""


def levels(audit: Audit) -> str:
    """The levels of the intervals that are shown, such as 95 %."""
    shown = [trial.checks[0] for one in audit.explainers for trial in one.trials if trial.checks]
    return " and ".join(f"{level * 100:.4g} %" for level in dict.fromkeys(check.level for check in shown)) or "95 %"


def decided(audit: Audit, decision: Decision) -> Sequence[Judged]:
    """The explainers that were decided so, best first, without foils."""
    return [one for one in audit.explainers if one.decision == decision and not one.foil]
