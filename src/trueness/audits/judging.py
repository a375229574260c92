"""From checks to answers, from answers to one verdict for each explainer, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueness.audits import rule
from trueness.audits.measured import Line, Measured, Measurements
from trueness.audits.rule import FEWEST
from trueness.audits.slices import for_whom
from trueness.audits.trials import ON_MODEL, REMOVAL
from trueness.audits.verdict import Answer, Check, Judged, Trial
from trueness.kinds.contract import Words
from trueness.stats.thresholds import Crossed, Ratio, ThresholdTest
from trueness.stats.ties import in_groups

_DIGITS = 12
_HOPELESS = 50
"""So many times the data: more would be asked for in vain."""
_DRAWN = {"shuffles": "random orders of the weights", "planted_models": "models"}
"""Sizes that do not count examples, and what they count: a mean over both has the variance of both."""


def judge(
    lines: Mapping[str, Sequence[Line]],
    foils: Sequence[str],
    rows: int = 0,
    words: Words | None = None,
    looks: int = 1,
) -> dict[str, Judged]:
    """The verdict of every explainer, by its own measurements alone (`audits.rule`).

    The data have so many `rows` that can be explained, where that is known; `words` are those of the model's kind. The
    audit may look so often, each time at more examples.
    """
    words = words or Words()
    asked = {
        name: max((check.asked for line in some for check in line.checks), default=0) for name, some in lines.items()
    }
    most = max(asked.values(), default=0)
    found = {}
    for name, some in lines.items():
        required = sum(check.found is not None for line in some if line.required for check in line.checks)
        ways = _Ways(required, rows, most, words, most / asked[name] if asked[name] else 1.0, looks)
        trials = [
            _trial(line, [_decided(check, _levels(line, required, looks), words) for check in line.checks])
            for line in some
        ]
        decision, by = rule.of_explainer(trials)
        settle = _settled(trials, some, ways) if decision == "cannot tell" else ""
        found[name] = Judged(
            explainer=name,
            foil=name in foils,
            decision=decision,
            decided_by=by,
            holds=for_whom(decision, trials, words),
            settle=settle,
            trials=tuple(trials),
        )
    return found


def _levels(line: Line, required: int, looks: int) -> rule.Levels:
    """What nothing depends on shares no level with what is required."""
    return rule.levels(required if line.required else len(line.checks), line.rule, looks)


@dataclass(frozen=True)
class _Ways:
    """What advice on open trials is drawn from."""

    required: int
    """Checks of this explainer that share a level."""
    rows: int
    examples: int
    """The audit is of so many."""
    words: Words
    slow: float = 1.0
    """How many times as many that is as this method was asked about: it gets its share of more, too."""
    looks: int = 1

    def flags(self, sizes: str, number: int) -> str:
        """What to set so that a check of these sizes looks at so many examples."""
        every = _tens(number * self.slow)
        wanted = {name: number for name in sizes.split() if name != "examples"}
        wanted |= {"examples": every} if every > self.examples else {}
        return " ".join(f"--set {name}={size}" for name, size in wanted.items())

    @property
    def hardly(self) -> str:
        """That more would not help."""
        return f"the value lies so close to its threshold that more {self.words.examples} would hardly settle it."


def _tens(number: float) -> int:
    return math.ceil(round(number / 10, 6)) * 10


def _decided(check: Measured, levels: rule.Levels, words: Words) -> Check:
    about = {"name": check.name, "measure": check.measure, "null": check.null, "best": check.best}
    about["unit"] = check.unit or words.examples
    test = check.found
    if test is None:
        return Check(answer="cannot tell", reason=check.reason or f"there are too few {words.examples}", **about)
    answer = levels.answer(test) if test.n >= FEWEST else "cannot tell"
    low, high = test.evidence.lower(levels.passes), test.evidence.upper(levels.fails)
    # A ratio may exceed the best there is; then its interval does as well.
    most = math.inf if check.best is None or test.value > check.best else check.best
    return Check(
        answer=answer,
        value=_finite(test.value),
        low=_finite(max(low, min(check.least, test.value))),
        high=_finite(min(high, most)),
        level=levels.coverage,
        threshold=test.threshold,
        n=test.n,
        p_value=levels.corrected(test),
        reason=_few(test, words) if answer == "cannot tell" else "",
        **about,
    )


def _few(test: ThresholdTest, words: Words) -> str:
    """Why so few examples decide nothing."""
    if test.n < FEWEST:
        return f"{test.n} {words.examples} are too few to decide anything; {FEWEST} are needed"
    carriers = test.evidence.carriers if isinstance(test.evidence, Ratio) else math.inf
    if carriers < min(FEWEST, test.n / 2):
        return f"about {carriers:.0f} of {test.n} {words.examples} carry nearly all of it"
    return ""


def _finite(value: float) -> float | None:
    """What a report tells: all numbers of an audit are shares or correlations, in which 1e-15 is rounding."""
    return round(value, _DIGITS) + 0.0 if math.isfinite(value) else None


def _trial(line: Line, checks: Sequence[Check]) -> Trial:
    if line.missing or not checks:
        return Trial(
            name=line.trial,
            answer="cannot tell",
            required=line.required,
            reason=_sentence(line.missing or "nothing could be measured"),
            notes=line.notes,
        )
    answer = rule.of_trial([check.answer for check in checks], line.rule)
    # The check that decides is shown first: of those that fail, or pass, the clearest or the least clear.
    ordered = sorted(checks, key=lambda check: (check.answer != answer, _rank(check, answer, line)))
    first = ordered[0]
    return Trial(
        name=line.trial,
        answer=answer,
        required=line.required,
        reason=_reason(first, [check for check in ordered[1:] if check.answer != first.answer]),
        checks=tuple(ordered),
        notes=line.notes,
    )


def _rank(check: Check, answer: Answer, line: Line) -> float:
    """What any one check decides rests on the clearest; what all have to say together on the least clear."""
    if check.p_value is None or answer == "cannot tell":
        return 0.0
    return check.p_value if (answer == "fail") == (line.rule == "all") else -check.p_value


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _reason(check: Check, others: Sequence[Check]) -> str:
    """What the check that decides says; and what others of the same trial say that did not come out like it."""
    if check.value is None or check.threshold is None:
        return _sentence(f"{check.name}: {check.reason}")
    against = [f"{one.name} {one.value:.2f} ({one.answer})" for one in others if one.value is not None]
    beside = f" But {', '.join(against)}." if against else ""
    side = {"pass": "above", "fail": "below", "cannot tell": "not clearly on one side of"}[check.answer]
    more = f" ({check.reason})" if check.reason else ""
    interval = f" ({check.low:.2f} to {check.high:.2f})" if check.low is not None and check.high is not None else ""
    said = _sentence(f"{check.measure}: {check.value:.2f}{interval}, {side} the threshold {check.threshold:.2f}{more}")
    return said + beside


def _settled(trials: Sequence[Trial], lines: Sequence[Line], known: _Ways) -> str:
    ways: dict[str, list[str]] = {}
    for trial, line in zip(trials, lines, strict=True):
        if trial.required and trial.answer == "cannot tell":
            ways.setdefault(_settle(trial, line, known), []).append(f"“{trial.name}”")
    return " ".join(f"{', '.join(names)}: {way}" for way, names in ways.items())


def _settle(trial: Trial, line: Line, known: _Ways) -> str:
    """What would decide an open trial: how many examples, if the values stay as they are."""
    if line.missing:
        return _sentence(line.missing)
    wanted: list[tuple[float, int, Measured]] = []
    for check in line.checks:
        if next(one.answer for one in trial.checks if one.name == check.name) != "cannot tell":
            continue
        if check.found is None and not line.models:
            return trial.reason
        if check.found is not None:
            n = _counted(check, check.found)
            wanted.append((_needed(check, known), n, check))
    if line.models:
        return f"more models may settle it, --set planted_models={2 * line.models}."
    # One check that passes is enough where any will do.
    if not wanted:
        return known.hardly
    most, n, check = (min if line.rule == "any" else max)(wanted, key=lambda one: one[0] / one[1])
    return _way(most, n, check, known)


def _counted(check: Measured, test: ThresholdTest) -> int:
    """How many there are of what its size counts."""
    crossed = isinstance(test.evidence, Crossed) and check.size in _DRAWN
    return test.evidence.units.n if crossed and isinstance(test.evidence, Crossed) else test.n


def _way(most: float, n: int, check: Measured, known: _Ways) -> str:
    """What to ask for, so that one check rests on so many instead of n."""
    examples = known.words.examples
    things = _DRAWN.get(check.size, examples)
    if most == math.inf and check.found and isinstance(check.found.evidence, Crossed):
        drawn = "planted_models" if check.size == "planted_models" else "shuffles"
        flags = "" if drawn == "planted_models" else f" {known.flags('shuffled_examples', 2 * check.found.n)}"
        ways = f"--set {drawn}={2 * check.found.evidence.units.n}{flags}"
        return f"“{check.name}” with more {_DRAWN[drawn]} and more {examples} may settle it ({ways})."
    if most > _HOPELESS * n:
        return known.hardly
    if check.size in _DRAWN:
        way = f" (--set {check.size}={most})" if most > n else ""
    else:
        # Texts that cannot be edited, say, do not count.
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
    return f"{about} would settle it, if the values stay as they are{way}."


def _needed(check: Measured, known: _Ways) -> float:
    """So many examples (or models, or draws) would decide it, if others were like them; infinite if they would not.

    Of a mean over models and examples more of one leave the error of the other.
    """
    test = check.found
    assert test is not None
    n, drawn = _counted(check, test), check.size in _DRAWN
    levels = rule.levels(known.required, looks=known.looks)
    side, level = (test.evidence.p_above, levels.passes) if test.above else (test.evidence.p_below, levels.fails)

    def decided(number: float) -> bool:
        more = {"unit_times" if drawn and isinstance(test.evidence, Crossed) else "times": number / n}
        return number >= (1 if drawn else FEWEST) and side(test.threshold, **more) <= level

    most: float = n
    while not decided(most):
        most *= 2
        if most > 4 * _HOPELESS * n:
            return math.inf
    low = most / 2 if most > n else 0.0
    while most - low > max(1.0 if drawn else 10.0, low / 20):
        middle = (low + most) / 2
        low, most = (low, middle) if decided(middle) else (middle, most)
    return math.ceil(most) if drawn else max(n, _tens(most))


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
    """What is to be said of a model that always the commonest class would beat or equal; nothing of few examples."""
    counts = np.bincount(labels)
    largest = float(counts.max()) / len(labels)
    if accuracy > largest or len(labels) < FEWEST or (counts > 0).sum() < 2:
        return []
    told = f"the model is right on {accuracy:.0%}, always the most frequent class would be on {largest:.0%}"
    return [f"{told}: ask what it has learned before you show why it decides"]
