"""Whether an audit meets what a gate states."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trueness.audits.baseline import compared
from trueness.audits.gate_file import Gate, check_names, no_explainer, plain, read_gate
from trueness.audits.gate_outcome import SIGNS, Condition, GateOutcome, State
from trueness.audits.verdict import Audit, Judged
from trueness.errors import UserError
from trueness.registry import matching

__all__ = ["SIGNS", "Condition", "Gate", "GateOutcome", "State", "apply", "check_names", "read_gate"]


def apply(gate: Gate, audit: Audit, baseline: Audit | None = None) -> GateOutcome:
    """What the gate says of an audit; `baseline` is an earlier audit, for a gate that compares with one.

    UserError if the gate speaks of an explainer or trial that is not there, or of a baseline that was not given.
    """
    _check(gate, audit, baseline)
    conditions = [*_broken(audit), *_verdicts(gate, audit), *_floors(gate, audit)]
    conditions += [*_any(gate, audit), *_foils(gate, audit)]
    if gate.no_worse and baseline is not None:
        conditions += compared(_compared_names(gate, baseline), audit, baseline)
    return GateOutcome(tuple(conditions), gate.cannot_tell)


def _check(gate: Gate, audit: Audit, baseline: Audit | None) -> None:
    tried = dict.fromkeys(trial.name for one in audit.explainers for trial in one.trials)
    asked = {trial for floors in gate.floor.values() for trial in floors}
    left_out = {trial for trial in asked if _left_out(audit, trial)}
    names = [*(one.explainer for one in audit.explainers), *(one.explainer for one in audit.broken)]
    check_names(gate, names, [*tried, *left_out])
    place = gate.place("baseline", "no_worse")
    if gate.no_worse and baseline is None:
        raise UserError(f"{place}: there is no earlier audit; give its audit.json by --baseline, or remove [baseline].")
    if baseline is not None and not gate.no_worse:
        raise UserError(f"{place} compares nothing with the baseline; add no_worse = true under [baseline] to it.")
    if baseline is not None and not isinstance(gate.no_worse, bool):
        known = [one.explainer for one in baseline.explainers]
        for name in gate.no_worse:
            if matching(name, known, loosely=True) is None:
                raise UserError(f"{place}: the baseline {no_explainer(name, known)}")


def _left_out(audit: Audit, trial: str) -> str | None:
    """What the audit says about a trial that it left out."""
    return next((line for line in audit.left_out if trial in line), None)


def _broken(audit: Audit) -> Iterator[Condition]:
    for one in audit.broken:
        yield Condition(f"explainer {plain(one.explainer)}", "does not hold", f"its code failed: {plain(one.error)}")


def _failed(audit: Audit, name: str) -> bool:
    return matching(name, (one.explainer for one in audit.broken)) is not None


def _verdicts(gate: Gate, audit: Audit) -> Iterator[Condition]:
    for name, accepted in gate.verdict.items():
        if _failed(audit, name):
            continue
        judged = audit[name]
        sentence = f"the verdict is {judged.decision!r}, decided by {plain(judged.decided_by)!r}"
        if judged.decision in accepted:
            yield Condition(f"verdict of {plain(judged.explainer)}", "holds", f"{sentence}.")
            continue
        wanted = " or ".join(repr(decision) for decision in accepted)
        state: State = "cannot tell" if judged.decision == "cannot tell" else "does not hold"
        settle = f" {plain(judged.settle)}" if state == "cannot tell" and judged.settle else ""
        yield Condition(f"verdict of {plain(judged.explainer)}", state, f"{sentence}; it must be {wanted}.{settle}")


def _floors(gate: Gate, audit: Audit) -> Iterator[Condition]:
    for name, floors in gate.floor.items():
        if _failed(audit, name):
            continue
        for trial, floor in floors.items():
            state, sentence = _floor(audit, audit[name], trial, floor)
            yield Condition(f"floor of {plain(audit[name].explainer)} in {plain(trial)!r}", state, sentence)


def _floor(audit: Audit, judged: Judged, name: str, floor: float) -> tuple[State, str]:
    trial = judged.trial(name)
    if trial is None:
        return "cannot tell", plain(_left_out(audit, name) or "the explainer was not put to this trial.")
    if not trial.checks:
        return "cannot tell", f"the trial has no number: {plain(trial.reason)}"
    check = trial.checks[0]
    if check.low is None or not math.isfinite(check.low):
        return "cannot tell", f"{plain(check.measure)} has no interval: {plain(check.reason or trial.reason)}"
    low, shown = _told_apart(check.low, floor)
    lower_end = f"the lower end of the interval of {plain(check.measure)} (n = {check.n} {plain(check.unit)}) is {low}"
    if check.low >= floor:
        return "holds", f"{lower_end}, and at least {shown} was asked for."
    return "does not hold", f"{lower_end}, below {shown}."


def _told_apart(low: float, floor: float) -> tuple[str, str]:
    """Both numbers, with as many digits as it takes to see that they differ."""
    for digits in range(3, 17):
        texts = f"{low:.{digits}g}", f"{floor:.{digits}g}"
        if low == floor or texts[0] != texts[1]:
            return texts
    return repr(low), repr(floor)


def _any(gate: Gate, audit: Audit) -> Iterator[Condition]:
    if not gate.require_any:
        return
    shown = len(audit.may_be_shown)
    unsettled = sum(one.decision == "cannot tell" and not one.foil for one in audit.explainers)
    state: State = "holds" if shown >= gate.require_any else "does not hold"
    if shown < gate.require_any <= shown + unsettled:
        state = "cannot tell"
    sentence = (
        f"{shown} explainers may be shown and {unsettled} cannot be told; at least {gate.require_any} must be shown."
    )
    yield Condition("require_any", state, sentence)


def _foils(gate: Gate, audit: Audit) -> Iterator[Condition]:
    """A foil is made to fail: an audit that lets it pass, or has none, shows nothing."""
    if not gate.foils_must_fail:
        return
    foils = [one for one in audit.explainers if one.foil]
    states: dict[str, State] = {"may be shown": "does not hold", "must not be shown": "holds"}
    for one in foils:
        state = states.get(one.decision, "cannot tell")
        yield Condition(f"foil {plain(one.explainer)}", state, f"the verdict is {one.decision!r}; a foil must fail.")
    if not foils:
        yield Condition("foils", "cannot tell", "the audit has no foil, so nothing shows that its trials can fail.")


def _compared_names(gate: Gate, baseline: Audit) -> list[str]:
    """Those the gate names, or all of the baseline but foils; an explainer that is new has nothing to be worse than."""
    if not isinstance(gate.no_worse, bool):
        return list(gate.no_worse)
    return [one.explainer for one in baseline.explainers if not one.foil]
