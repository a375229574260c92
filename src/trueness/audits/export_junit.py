"""An audit as JUnit XML, which continuous integration shows as tests."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from trueness.audits.export_cells import clean, interval, value
from trueness.audits.gate_outcome import GateOutcome
from trueness.audits.verdict import Audit, Judged, Trial

_KINDS = {"fail": "failure", "error": "error"}


def junit(audit: Audit, outcome: GateOutcome | None = None) -> str:
    """A suite for each explainer with a case for each trial, and one for the gate; what cannot be told is skipped.

    A foil is there to fail: its suite has one case, which fails if the foil may be shown.
    """
    root = Element("testsuites", name=clean(f"audit of {audit.model}"))
    for one in audit.explainers:
        suite = SubElement(root, "testsuite", name=clean(one.explainer), time=f"{one.seconds:.3f}")
        if one.foil:
            _foil(suite, one)
        else:
            for trial in one.trials:
                _trial(suite, one.explainer, trial, gated=outcome is not None)
    for broken in audit.broken:
        suite = SubElement(root, "testsuite", name=clean(broken.explainer), time="0.000")
        _case(suite, broken.explainer, "its code runs", "error", broken.error)
    if outcome is not None:
        suite = SubElement(root, "testsuite", name="gate", time="0.000")
        for condition in outcome.conditions:
            answer = {"holds": "pass", "does not hold": "fail"}.get(condition.state, "cannot tell")
            _case(suite, "gate", condition.name, answer, condition.sentence)
    _count(root)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _foil(suite: Element, one: Judged) -> None:
    answer = {"must not be shown": "pass", "may be shown": "fail"}.get(one.decision, "cannot tell")
    found = ", ".join(f"{trial.name}: {trial.answer}" for trial in one.trials if trial.possible)
    _case(
        suite, one.explainer, "the foil fails", answer, f"the verdict is {one.decision!r}; a foil must fail ({found})"
    )


def _trial(suite: Element, explainer: str, trial: Trial, *, gated: bool) -> None:
    """With a gate its conditions alone fail a build: what it does not ask for is told."""
    found = f"{trial.reason} {value(trial)} {interval(trial)}"
    if not trial.possible:
        _case(suite, explainer, trial.name, "not possible", found)
    elif gated and trial.answer == "fail":
        _case(suite, explainer, trial.name, "pass", f"fail, and the gate decides whether that matters: {found}")
    else:
        _case(suite, explainer, trial.name, trial.answer, found)


def _case(suite: Element, group: str, name: str, answer: str, reason: str) -> None:
    case = SubElement(suite, "testcase", classname=clean(group), name=clean(name))
    if answer in ("fail", "error"):
        SubElement(case, _KINDS[answer], message=clean(reason), type=answer).text = clean(reason)
    elif answer != "pass":
        SubElement(case, "skipped", message=clean(f"{answer}: {reason}"))
    else:
        SubElement(case, "system-out").text = clean(reason)


def _count(root: Element) -> None:
    for element in (root, *root):
        element.set("tests", str(len(list(element.iter("testcase")))))
        element.set("failures", str(len(list(element.iter("failure")))))
        element.set("errors", str(len(list(element.iter("error")))))
        if element is not root:
            element.set("skipped", str(len(list(element.iter("skipped")))))
