"""The rule of verdicts: at which levels a check passes and fails, and what follows for an explainer.

*May be shown* claims that every required check lies above its threshold. It is false only if one that lies below
passed, so that each is held at the full level, however many there are (an intersection-union test, Berger 1982). *Must
not be shown* claims that at least one lies below; there the checks share the level (Bonferroni).

The level of an explainer is fixed before anything is measured. It does not depend on how many others are audited: a
verdict never changes because another explainer is left out or added. An audit that may look several times, with more
examples each time, shares the level among its looks (`stats.looks`); a verdict stands at the look that reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trueness.audits.verdict import Answer, Decision, Trial
from trueness.stats.looks import shared as over_looks
from trueness.stats.thresholds import ThresholdTest

ERROR = 0.05
METHODS = 10
"""Among so many explainers, there is any false verdict with a chance of at most `ERROR`: half of it for each kind."""
FEWEST = 30
"""Examples below which nothing is decided."""


@dataclass(frozen=True)
class Levels:
    """Of the one-sided tests of one check."""

    passes: float
    fails: float

    @property
    def coverage(self) -> float:
        """The least chance that the interval holds the true value: from its limit at one level to that at the other."""
        return int(1000 * (1 - self.passes - self.fails)) / 1000

    def answer(self, test: ThresholdTest) -> Answer:
        """Whether the value lies above its threshold, or below."""
        if test.p_above <= self.passes:
            return "pass"
        return "fail" if test.p_below <= self.fails else "cannot tell"

    def corrected(self, test: ThresholdTest) -> float:
        """The p-value on its side of the threshold, so enlarged that a check is decided where it is at most `ERROR`."""
        p_value, level = (test.p_above, self.passes) if test.above else (test.p_below, self.fails)
        return min(1.0, p_value / level * ERROR)


def levels(checks: int, rule: Literal["all", "any"] = "all", looks: int = 1) -> Levels:
    """Of one of so many checks of an explainer, all of which have to pass, or any; in an audit of so many looks."""
    whole = over_looks(ERROR / 2 / METHODS, looks)
    shared = whole / max(checks, 1)
    return Levels(whole, shared) if rule == "all" else Levels(shared, whole)


def of_trial(answers: Sequence[Answer], rule: Literal["all", "any"] = "all") -> Answer:
    """What its checks say together."""
    one, every = ("fail", "pass") if rule == "all" else ("pass", "fail")
    if one in answers:
        return "fail" if rule == "all" else "pass"
    if answers and set(answers) == {every}:
        return "pass" if rule == "all" else "fail"
    return "cannot tell"


def of_explainer(trials: Sequence[Trial]) -> tuple[Decision, str]:
    """The verdict, and the trial on which it rests: the one that fails most clearly, or the first that is open."""
    needed = [trial for trial in trials if trial.required]
    failed = [trial for trial in needed if trial.answer == "fail"]
    if failed:
        return "must not be shown", min(failed, key=lambda trial: trial.checks[0].p_value or 0.0).name
    waiting = [trial.name for trial in needed if trial.answer == "cannot tell"]
    if waiting or not needed:
        return "cannot tell", waiting[0] if waiting else "no trial"
    return "may be shown", "all required trials"
