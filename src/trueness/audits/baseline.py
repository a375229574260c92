"""Whether an audit is worse than an earlier one beyond noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

from trueness.audits.gate_file import plain
from trueness.audits.gate_outcome import Condition
from trueness.audits.verdict import Audit, Check, Judged, Trial
from trueness.registry import matching

_LEVEL = 0.95


def compared(explainers: Iterable[str], audit: Audit, baseline: Audit) -> list[Condition]:
    """For each explainer: its verdict, and the difference of each trial's shown check, against the earlier audit.

    A difference speaks against the audit if its interval lies below 0. The intervals hold together: all of them contain
    their true difference with 95 % probability (Bonferroni), so that many comparisons raise no false alarm.
    """
    names = list(explainers)
    pairs = [(name, _find(audit, name, names), _find(baseline, name, names)) for name in names]
    trials = [pair for name, new, old in pairs if old is not None for pair in _pairs(name, new, old)]
    number = sum(pair.difference(1) is not None for pair in trials)
    if not pairs:
        return [Condition("baseline", "cannot tell", "the baseline has no explainer to compare with.")]
    conditions = []
    for name, new, old in pairs:
        conditions.append(_verdict(name, new, old))
        conditions += [_trial(pair, max(number, 1)) for pair in trials if pair.explainer == name]
    return conditions


@dataclass(frozen=True)
class _Pair:
    """One trial of one explainer, now and before."""

    explainer: str
    trial: str
    new: Check | None
    old: Check

    def difference(self, comparisons: int) -> tuple[float, float, float] | None:
        """New minus old, with its interval: of two independent estimates, from the four arms of their intervals.

        Newcombe's way (1998, method 10), which is the normal approximation where the intervals are symmetric.
        """
        now, then = _arms(self.new), _arms(self.old)
        if self.new is None or self.new.name != self.old.name or now is None or then is None:
            return None
        (value, below, above), (before, below_before, above_before) = now, then
        z = NormalDist().inv_cdf(1 - (1 - _LEVEL) / 2 / comparisons)
        difference = value - before
        low, high = difference - z * math.hypot(below, above_before), difference + z * math.hypot(above, below_before)
        return (difference, low, high) if math.isfinite(low) and math.isfinite(high) else None


def _arms(check: Check | None) -> tuple[float, float, float] | None:
    """The value, and how far its interval reaches below and above, in standard errors; None without them."""
    if check is None or check.value is None or check.low is None or check.high is None or not 0 < check.level < 1:
        return None
    if not -math.inf < check.low <= check.value <= check.high < math.inf:
        return None
    z = NormalDist().inv_cdf((1 + check.level) / 2)
    return check.value, (check.value - check.low) / z, (check.high - check.value) / z


def _find(audit: Audit, name: str, names: list[str]) -> Judged | None:
    """Of that name, or with other settings, unless that is another one of the names."""
    known = matching(name, (one.explainer for one in audit.explainers), loosely=True)
    known = None if known != name and known in names else known
    return next((one for one in audit.explainers if one.explainer == known), None)


def _shown(trial: Trial | None) -> Check | None:
    return trial.checks[0] if trial is not None and trial.checks else None


def _pairs(name: str, new: Judged | None, old: Judged) -> Iterator[_Pair]:
    """The trials that the earlier audit has a number for: others have nothing to be worse than."""
    for trial in old.trials:
        before = _shown(trial)
        if before is not None and before.value is not None and new is not None:
            yield _Pair(name, trial.name, _shown(new.trial(trial.name)), before)


def _verdict(name: str, new: Judged | None, old: Judged | None) -> Condition:
    about = f"baseline, verdict of {plain(name)}"
    if new is None:
        return Condition(about, "cannot tell", "the baseline has it, and this audit does not.")
    if old is None:
        return Condition(about, "cannot tell", "this audit has it, and the baseline does not.")
    was = f"it was {old.decision!r} and is {new.decision!r}."
    if old.decision != "may be shown" or new.decision == "may be shown":
        return Condition(about, "holds", was)
    return Condition(about, "cannot tell" if new.decision == "cannot tell" else "does not hold", was)


def _trial(pair: _Pair, comparisons: int) -> Condition:
    about = f"baseline, {plain(pair.explainer)} in {plain(pair.trial)!r}"
    found = pair.difference(comparisons)
    if found is None:
        return Condition(about, "cannot tell", _why_open(pair))
    difference, low, high = found
    interval = f"the difference to the baseline is {difference:+.3g}, with an interval from {low:+.3g} to {high:+.3g}"
    if high < 0:
        return Condition(about, "does not hold", f"it is worse beyond noise: {interval}.")
    return Condition(about, "holds", f"it is not worse beyond noise: {interval}.")


def _why_open(pair: _Pair) -> str:
    if pair.new is None:
        return "the baseline has a number, and this audit has none."
    if pair.new.name != pair.old.name:
        return f"this audit shows {plain(pair.new.name)!r}, and the baseline shows {plain(pair.old.name)!r}."
    which = "this audit" if _arms(pair.new) is None else "the baseline"
    return f"{which} has no number with an interval around it."
