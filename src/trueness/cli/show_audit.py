"""What the terminal shows of an audit."""

from __future__ import annotations

from trueness.audits.trials import ON_COMPANION
from trueness.audits.verdict import Audit, Judged, Trial
from trueness.cli.console import open_console
from trueness.cli.listing import print_rows
from trueness.cli.options import as_flags
from trueness.report.table import NOTHING

_SIGNS = {"pass": "✓", "fail": "✗", "cannot tell": "?"}


def audit(found: Audit) -> None:
    """The verdict of every explainer, its trials in one line each, and what is left open."""
    console = open_console()
    console.print(f"Which explanations of {found.model} may be shown?", style="bold")
    right = "" if found.accuracy is None else f", of which the model gets {found.accuracy:.0%} right"
    console.print(f"{found.size} {found.words.examples} of {found.data}{right}; classes {', '.join(found.classes)}.\n")
    names = list(dict.fromkeys(trial.name for one in found.explainers for trial in one.trials))
    rows = []
    for one in found.explainers:
        cells = [_answer(one.trial(name)) for name in names]
        verdict = one.decision if not one.foil else _foil(one.decision)
        rows.append((f"{one.explainer} (foil)" if one.foil else one.explainer, verdict, *cells))
    print_rows(console, ("explainer", "verdict", *names), rows)
    console.print()
    for one in found.explainers:
        if not one.foil:
            trial = one.trial(one.decided_by)
            why = trial.reason if trial is not None else "It passed all required trials."
            if why.rstrip(".") in one.settle:  # not twice
                said = why if len(_open(one)) == 1 else one.settle
            else:
                said = f"{why} {one.settle}".rstrip()
            console.print(" ".join(filter(None, (f"{one.explainer}: {one.decision}.", one.holds, said))))
    if found.possible_trials:
        console.print(found.possible_trials)
    for (trial_name, why), names_of in _left_open(found).items():
        console.print(f"{trial_name}, {', '.join(names_of)}: {why}")
    for broken in found.broken:
        console.print(f"{broken.explainer}: error, no verdict. {broken.error}")
    for group in found.ties:
        console.print(f"A tie, in no order: {', '.join(group)}.")
    for warning in found.warnings:
        console.print(f"Warning: {warning}.")
    for note in found.notes:
        console.print(f"Note: {as_flags(note)}.")
    for what in found.left_out:
        console.print(f"Left out: {what}.")
    console.print("An audit gives evidence; it makes nothing compliant.")


def _open(one: Judged) -> list[Trial]:
    return [trial for trial in one.trials if trial.required and trial.answer == "cannot tell"]


def _left_open(found: Audit) -> dict[tuple[str, str], list[str]]:
    """Trials that measured nothing and decided nothing: why, and of which explainers."""
    silent: dict[tuple[str, str], list[str]] = {}
    for one in found.explainers:
        for trial in one.trials:
            told = not one.foil and (trial.name == one.decided_by or trial.reason.rstrip(".") in one.settle)
            if trial.answer == "cannot tell" and _value(trial) is None and not told:
                name = f"{one.explainer} (foil)" if one.foil else one.explainer
                silent.setdefault((trial.name, trial.reason), []).append(name)
    return silent


def _foil(decision: str) -> str:
    return "fails, as it must" if decision == "must not be shown" else f"{decision} (should fail)"


def _answer(trial: Trial | None) -> str:
    if trial is None:
        return NOTHING
    if not trial.possible:
        return f"{NOTHING} not possible"
    value = _value(trial)
    of_another = " (companion)" if trial.checks and trial.checks[0].name == ON_COMPANION else ""
    return f"{_SIGNS[trial.answer]} {trial.answer}" + ("" if value is None else f" {value:.2f}{of_another}")


def _value(trial: Trial) -> float | None:
    return trial.checks[0].value if trial.checks else None
