"""The rule: from checks to answers, from answers to one verdict for each explainer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueness.audits.measured import Line, Measured, Measurements
from trueness.audits.trials import ON_MODEL, REMOVAL
from trueness.audits.verdict import Answer, Check, Decision, Judged, Trial
from trueness.kinds.contract import Words
from trueness.stats import holm
from trueness.stats.ties import LEVEL, in_groups

FEWEST = 30
"""Examples below which nothing is decided."""
_DIGITS = 12
_HOPELESS = 50
"""So many times the data: more would be asked for in vain."""
_DRAWN = {"shuffles": "random orders of the weights", "planted_models": "models"}
"""Sizes that do not count examples, and what they count: a mean over both has the variance of both."""


def judge(
    lines: Mapping[str, Sequence[Line]], foils: Sequence[str], rows: int = 0, words: Words | None = None
) -> dict[str, Judged]:
    """The verdict of every explainer; those of foils are corrected apart, so that foils cost nobody else anything.

    The data have so many `rows` that can be explained, where that is known; `words` are those of the model's kind.
    """
    words = words or Words()
    found: dict[str, Judged] = {}
    asked = {
        name: max((check.asked for line in some for check in line.checks), default=0) for name, some in lines.items()
    }
    most = max(asked.values(), default=0)
    for names in ([name for name in lines if name not in foils], [name for name in lines if name in foils]):
        raw = {
            (name, row, number): check.found.p_value
            for name in names
            for row, line in enumerate(lines[name])
            for number, check in enumerate(line.checks)
            if check.found is not None
        }
        corrected = dict(zip(raw, holm(list(raw.values())).tolist(), strict=True))
        for name in names:
            trials = []
            for row, line in enumerate(lines[name]):
                checks = [
                    _decided(check, corrected.get((name, row, number)), words)
                    for number, check in enumerate(line.checks)
                ]
                trials.append(_trial(line, checks))
            ways = _Ways(len(raw), rows, most, words, most / asked[name] if asked[name] else 1.0)
            found[name] = _verdict(name, trials, lines[name], ways, foil=name in foils)
    return found


@dataclass(frozen=True)
class _Ways:
    """What advice on open trials is drawn from."""

    tests: int
    rows: int
    examples: int
    """The audit is of so many."""
    words: Words
    slow: float = 1.0
    """How many times as many that is as this method was asked about: it gets its share of more, too."""

    def flags(self, sizes: str, number: int) -> str:
        """What to set so that a check of these sizes looks at so many examples."""
        every = _tens(number * self.slow)
        wanted = {name: number for name in sizes.split() if name != "examples"}
        wanted |= {"examples": every} if every > self.examples else {}
        return " ".join(f"--set {name}={size}" for name, size in wanted.items())

    @property
    def hardly(self) -> str:
        """That more would not help."""
        return f"the value lies so close to its mark that more {self.words.examples} would hardly settle it."


def _tens(number: float) -> int:
    return math.ceil(round(number / 10, 6)) * 10


def _decided(check: Measured, p_value: float | None, words: Words) -> Check:
    about = {"name": check.name, "measure": check.measure, "null": check.null, "best": check.best}
    about["unit"] = check.unit or words.examples
    if check.found is None or p_value is None:
        return Check(answer="cannot tell", reason=check.reason or f"there are too few {words.examples}", **about)
    found = check.found
    # A ratio may exceed the best there is; then its interval does as well.
    most = math.inf if check.best is None or found.value > check.best else check.best
    known = {
        "value": _finite(found.value),
        "low": _finite(max(found.low, min(check.least, found.value))),
        "high": _finite(min(found.high, most)),
    }
    answer: Answer = "cannot tell"
    reason = ""
    if found.n < check.fewest:
        reason = f"{found.n} {words.examples} are too few to decide anything; {check.fewest} are needed"
    elif found.carriers < min(FEWEST, found.n / 2):
        few = f"about {found.carriers:.0f} of {found.n} {words.examples}"
        reason = f"{few} carry nearly all of it, too few to decide anything"
    elif p_value < LEVEL:
        answer = "pass" if found.above else "fail"
    elif not found.low <= found.mark <= found.high:
        reason = "beyond the mark before the corrections for many comparisons and for skewness, not after them"
    return Check(
        answer=answer, mark=found.mark, n=found.n, level=found.level, p_value=p_value, reason=reason, **known, **about
    )


def _finite(value: float) -> float | None:
    """What a report tells: all numbers of an audit are shares or correlations, in which 1e-15 is rounding."""
    return round(value, _DIGITS) + 0.0 if math.isfinite(value) else None


def _trial(line: Line, checks: Sequence[Check]) -> Trial:
    answers = [check.answer for check in checks]
    answer: Answer = "cannot tell"
    if line.missing or not checks:
        return Trial(
            name=line.trial,
            answer=answer,
            required=line.required,
            reason=_sentence(line.missing or "nothing could be measured"),
            notes=line.notes,
        )
    if line.rule == "all":
        answer = "fail" if "fail" in answers else "pass" if set(answers) == {"pass"} else "cannot tell"
    else:
        answer = "pass" if "pass" in answers else "fail" if set(answers) == {"fail"} else "cannot tell"
    # The check that decides is shown first.
    first = next((check for check in checks if check.answer == answer), checks[0])
    ordered = (first, *(check for check in checks if check is not first))
    return Trial(
        name=line.trial,
        answer=answer,
        required=line.required,
        reason=_reason(first, [check for check in ordered[1:] if check.answer != first.answer]),
        checks=ordered,
        notes=line.notes,
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _reason(check: Check, others: Sequence[Check]) -> str:
    """What the check that decides says; and what others of the same trial say that did not come out like it."""
    if check.value is None or check.mark is None:
        return _sentence(f"{check.name}: {check.reason}")
    against = [f"{one.name} {one.value:.2f} ({one.answer})" for one in others if one.value is not None]
    beside = f" But {', '.join(against)}." if against else ""
    side = {"pass": "above", "fail": "below", "cannot tell": "not clearly on one side of"}[check.answer]
    more = f" ({check.reason})" if check.reason else ""
    interval = f" ({check.low:.2f} to {check.high:.2f})" if check.low is not None and check.high is not None else ""
    said = _sentence(f"{check.measure}: {check.value:.2f}{interval}, {side} the mark {check.mark:.2f}{more}")
    return said + beside


def _verdict(name: str, trials: Sequence[Trial], lines: Sequence[Line], known: _Ways, *, foil: bool) -> Judged:
    needed = [trial for trial in trials if trial.required]
    failed = [trial for trial in needed if trial.answer == "fail"]
    open_ = [trial for trial in needed if trial.answer == "cannot tell"]
    decision: Decision = "must not be shown" if failed else "cannot tell" if open_ or not needed else "may be shown"
    by = (failed or open_)[0].name if failed or open_ else "all required trials"
    settle = ""
    if decision == "cannot tell":
        ways: dict[str, list[str]] = {}
        for trial, line in zip(trials, lines, strict=True):
            if trial in open_:
                ways.setdefault(_settle(trial, line, known), []).append(f"“{trial.name}”")
        settle = " ".join(f"{', '.join(names)}: {way}" for way, names in ways.items())
    return Judged(explainer=name, foil=foil, decision=decision, decided_by=by, settle=settle, trials=tuple(trials))


def _settle(trial: Trial, line: Line, known: _Ways) -> str:
    """What would decide an open trial: how many examples, if the value stays where it is."""
    if line.missing:
        return _sentence(line.missing)
    wanted: list[tuple[float, int, Measured]] = []
    for check, answer in zip(line.checks, [_by_name(trial, check.name).answer for check in line.checks], strict=True):
        if answer != "cannot tell":
            continue
        if check.few is not None and check.found is None:
            carriers, n = check.few
            wanted.append((math.ceil(n * FEWEST / carriers / 10) * 10, n, check))
        elif check.found is None and not line.models:
            return trial.reason
        if check.found is not None:
            n = check.found.models if check.size in _DRAWN else check.found.n
            wanted.append((_needed(check, n, known.tests), n, check))
    if line.models:
        return f"more models may settle it, --set planted_models={2 * line.models}."
    # One check that passes is enough where any will do.
    if not wanted:
        return known.hardly
    most, n, check = (min if line.rule == "any" else max)(wanted, key=lambda one: one[0] / one[1])
    return _way(most, n, check, known)


def _way(most: float, n: int, check: Measured, known: _Ways) -> str:
    """What to ask for, so that one check rests on so many instead of n."""
    examples = known.words.examples
    things = _DRAWN.get(check.size, examples)
    if most == math.inf and check.found:
        drawn = "planted_models" if check.size == "planted_models" else "shuffles"
        flags = "" if drawn == "planted_models" else f" {known.flags('shuffled_examples', 2 * check.found.n)}"
        ways = f"--set {drawn}={2 * check.found.models}{flags}"
        return f"“{check.name}” with more {_DRAWN[drawn]} and more {examples} may settle it ({ways})."
    if most > _HOPELESS * n:
        return known.hardly
    if check.size in _DRAWN:
        way = f" (--set {check.size}={most})" if most > n else ""
    else:
        # Those that cannot be edited, say, do not count.
        looked = int(most) if check.asked <= n else _tens(most * check.asked / n)
        flags = known.flags(check.size, looked)
        way = f" ({flags})" if most > n and flags else ""
        if 0 < known.rows < looked * known.slow:
            way = f"; but only {known.rows:,} can be explained, so that more data are needed"
    about = (
        f"“{check.name}” with about {most:,} {things} instead of {n:,}"
        if most > n
        else f"“{check.name}” with more {things}"
    )
    return f"{about} would settle it, if the value stays where it is{way}."


def _by_name(trial: Trial, name: str) -> Check:
    return next(check for check in trial.checks if check.name == name)


def _needed(check: Measured, n: int, tests: int) -> float:
    """From the distance to the mark in standard errors now, and what Holm asks for at worst.

    Of a mean over draws and examples more of one leave the other's share of the variance: infinite if that is too much.
    """
    from scipy.special import ndtri

    found = check.found
    assert found is not None
    now = abs(float(ndtri(max(found.p_value, 1e-300) / 2)))
    wanted = abs(float(ndtri(LEVEL / max(tests, 1) / 2)))
    carried = n * FEWEST / found.carriers if found.carriers < min(FEWEST, n / 2) else 0.0
    least = n if check.size in _DRAWN else FEWEST
    stays = 0.0 if not found.models else 1 - found.by_models if check.size in _DRAWN else found.by_models
    room = (max(now, 1e-3) / wanted) ** 2 - stays
    if room <= 0:
        return math.inf
    return max(least, math.ceil(max(n * (1 - stays) / room, carried) / 10) * 10)


def in_order(
    judged: Mapping[str, Judged], facts: Mapping[str, Measurements]
) -> tuple[list[Judged], list[tuple[str, ...]]]:
    """Best first: by verdict, then by what removal costs, foils last; and which of those to be shown are ties.

    Two are a tie unless the difference of their costs, example by example, excludes 0 after Holm's correction.
    """
    rank = {"may be shown": 0, "cannot tell": 1, "must not be shown": 2}

    def worth(one: Judged) -> float:
        trial = one.trial(REMOVAL)
        shown = [check.value for check in trial.checks if check.name == ON_MODEL] if trial else []
        return shown[0] if shown and shown[0] is not None else -math.inf

    ordered = sorted(judged.values(), key=lambda one: (one.foil, rank[one.decision], -worth(one), one.explainer))
    shown = [one.explainer for one in ordered if one.decision == "may be shown" and not one.foil]
    groups = in_groups({name: facts[name].cost for name in shown})
    return ordered, [tuple(group) for group in groups if len(group) > 1]


def no_better(accuracy: float, labels: npt.NDArray[np.int64]) -> list[str]:
    """What is to be said of a model that always the most frequent class would beat, or equal; nothing of few examples."""
    counts = np.bincount(labels)
    largest = float(counts.max()) / len(labels)
    if accuracy > largest or len(labels) < FEWEST or (counts > 0).sum() < 2:
        return []
    told = f"the model is right on {accuracy:.0%}, always the most frequent class would be on {largest:.0%}"
    return [f"{told}: ask what it has learned before you show why it decides"]
