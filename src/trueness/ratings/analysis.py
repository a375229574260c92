"""What raters said, as numbers: how plausible explanations are to people. It says nothing about the model."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from trueness.audits.verdict import Audit
from trueness.ratings.design import FOILS, NONE, RANDOM, Design, top
from trueness.ratings.session import Answer
from trueness.report.instances import MARKS, Instances
from trueness.stats.intervals import t_interval
from trueness.stats.preferences import bradley_terry, krippendorff
from trueness.stats.undefined import Undefined

TITLE = "Plausibility"
CAVEAT = (
    "Plausibility is what people find convincing. It is not faithfulness: an explanation can please and be untrue to "
    "the model, or be true and please nobody."
)


@dataclass(frozen=True)
class Measured:
    """A number with its 95 % interval; None where it cannot be told."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Rated:
    """One explanation method, or a foil, as people saw it."""

    method: str
    foil: bool
    plausibility: Measured
    verdict: str = ""
    """Of the audit: whether it is faithful enough to be shown."""
    removal: float | None = None
    """Of the audit: what hiding its words costs, of the best found."""
    note: str = ""


@dataclass(frozen=True)
class Plausibility:
    """The outcome of a rating."""

    mode: str
    measure: str
    """What the numbers of the methods are."""
    chance: float | None
    """What knows nothing gets."""
    raters: int
    answers: int
    methods: tuple[Rated, ...]
    agreement: Measured = field(default_factory=lambda: Measured(None))
    """Krippendorff's alpha between raters."""
    consistency: Measured = field(default_factory=lambda: Measured(None))
    """Share of repeated questions that a rater answered the same."""
    discrimination: Measured = field(default_factory=lambda: Measured(None))
    """Share of choices for an explanation against a foil."""
    title: str = TITLE
    caveat: str = CAVEAT

    def to_json(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return asdict(self)


def analyse(
    design: Design, answers: Sequence[Answer], instances: Instances, audits: Sequence[Audit] = ()
) -> Plausibility:
    """The rating in numbers, beside what the audit said of the same methods."""
    first = [one for one in answers if not design.items[one.item].repeated]
    measure, chance, found = {
        "pairwise": _pairwise,
        "simulation": _simulation,
        "highlight": _highlight,
    }[design.mode](design, first, instances)
    return Plausibility(
        mode=design.mode,
        measure=measure,
        chance=chance,
        raters=len({one.rater for one in answers}),
        answers=len(answers),
        methods=tuple(_beside(name, one, chance, audits) for name, one in found.items()),
        agreement=_agreement(design, first),
        consistency=_consistency(design, answers),
        discrimination=_discrimination(design, first),
    )


def _beside(name: str, measured: Measured, chance: float | None, audits: Sequence[Audit]) -> Rated:
    judged = [one for audit in audits for one in audit.explainers if one.explainer == name]
    if not judged:
        return Rated(name, name in FOILS or name == NONE, measured)
    removal = judged[0].trial("removal costs")
    cost = removal.checks[0].value if removal and removal.checks else None
    liked = measured.low is not None and chance is not None and measured.low > chance
    decision = judged[0].decision
    note = "people like it, and it must not be shown" if liked and decision == "must not be shown" else ""
    if decision == "may be shown" and measured.high is not None and chance is not None and measured.high <= chance:
        note = "it may be shown, and people do not prefer it to a foil"
    return Rated(name, judged[0].foil, measured, decision, cost, note)


def _share(chosen: float, number: int) -> Measured:
    """A share with Wilson's interval; a tie counts as half."""
    if not number:
        return Measured(None, reason="nobody was asked")
    share, square = chosen / number, statistics.NormalDist().inv_cdf(0.975) ** 2
    middle = (share + square / (2 * number)) / (1 + square / number)
    half = math.sqrt(square * (share * (1 - share) / number + square / (4 * number**2))) / (1 + square / number)
    return Measured(share, middle - half, middle + half, number)


def _pairwise(design: Design, answers: Sequence[Answer], _: Instances) -> tuple[str, float | None, dict[str, Measured]]:
    measure = "log-odds of being chosen rather than random words (Bradley–Terry)"
    choices, texts = [], []
    for one in answers:
        left, right = design.items[one.item].shown
        choices.append((left, right, 0.5 if one.answer is None else float(one.answer == left)))
        texts.append(design.items[one.item].text)
    names = [*design.methods, *FOILS]
    found = bradley_terry(choices, texts) if choices else None
    if found is None or RANDOM not in found.names:
        why = "too few pairs were compared to say how the methods stand"
        return measure, 0.0, {name: Measured(None, reason=why) for name in names}
    asked = {name: sum(name in pair[:2] for pair in choices) for name in names}
    strengths = {
        name: Measured(*found.difference(name, RANDOM), n=asked[name])
        if name in found.names
        else Measured(None, reason="nobody was asked")
        for name in names
        if name != RANDOM
    }
    ordered = sorted(strengths.items(), key=lambda item: -(item[1].value if item[1].value is not None else -1e9))
    return (
        measure,
        0.0,
        {**dict(ordered), RANDOM: Measured(0.0, n=asked[RANDOM], reason="the others are measured from it")},
    )


def _simulation(
    design: Design, answers: Sequence[Answer], _: Instances
) -> tuple[str, float | None, dict[str, Measured]]:
    """How often people foretell the model, by what they saw."""
    found = {}
    for name in (NONE, *design.methods, *FOILS):
        some = [one for one in answers if design.items[one.item].shown == [name]]
        right = sum(one.answer == design.items[one.item].predicted for one in some)
        found[name] = _share(right, len(some))
    return "share of the model's outputs that people foretold", found[NONE].value, found


def _highlight(
    design: Design, answers: Sequence[Answer], instances: Instances
) -> tuple[str, float | None, dict[str, Measured]]:
    """How far each method's strongest words are those that people marked."""
    marked = [(design.items[one.item].text, one.answer) for one in answers]
    return (
        "share of people's words among as many of the method's strongest, minus that of random words",
        0.0,
        overlap(marked, instances, design.methods),
    )


def overlap(
    marked: Iterable[tuple[int, Iterable[int]]], instances: Instances, methods: Sequence[str] = ()
) -> dict[str, Measured]:
    """For each method: how far its strongest words are those that people marked, chance taken off; over texts.

    `marked` are pairs of a text's place and the places of words, from raters or from data that come with highlights.
    """
    names = list(methods) or [name for name in instances.methods if name not in MARKS]
    by_text: dict[str, dict[int, list[float]]] = {name: {} for name in names}
    for text, places in marked:
        people, one = set(places), instances.all[text]
        if not people or len(people) >= len(one.words):
            continue  # nothing or everything marked tells nothing
        chance = len(people) / len(one.words)
        for name in names:
            if name in one.scores:
                both = len(people & top(one.scores[name], len(people))) / len(people)
                by_text[name].setdefault(text, []).append(both - chance)
    found = {}
    for name, texts in by_text.items():
        values = [statistics.fmean(some) for some in texts.values()]
        if len(values) < 2:
            found[name] = Measured(None, n=len(values), reason="fewer than two texts were marked")
            continue
        interval = t_interval(values)
        low, high = (None if isinstance(end, Undefined) else end for end in (interval.low, interval.high))
        found[name] = Measured(statistics.fmean(values), low, high, len(values))
    return found


def _agreement(design: Design, answers: Sequence[Answer]) -> Measured:
    units: dict[Any, dict[str, Any]] = {}
    for one in answers:
        if design.mode == "highlight":
            for place in range(len(design.items[one.item].words)):
                units.setdefault((one.item, place), {})[one.rater] = place in one.answer
        elif design.mode == "pairwise":
            # Which of the two: names of methods differ between items, so that chance would seem to agree less.
            shown = design.items[one.item].shown
            units.setdefault(one.item, {})[one.rater] = None if one.answer is None else shown.index(one.answer)
        else:
            units.setdefault(one.item, {})[one.rater] = one.answer
    value = krippendorff(list(units.values()))
    several = sum(len(unit) > 1 for unit in units.values())
    if value is None:
        return Measured(None, n=several, reason="no question has answers of two raters that could differ")
    return Measured(value, n=several)


def _consistency(design: Design, answers: Sequence[Answer]) -> Measured:
    """Of highlights: a repeated one counts by the share of marked words that are in both."""
    said: Mapping[tuple[str, int], Any] = {(one.rater, one.item): one.answer for one in answers}
    same, number = 0.0, 0
    for one in answers:
        item = design.items[one.item]
        if not item.repeated:
            continue
        twin = next(n for n, other in enumerate(design.items) if other.text == item.text and other.shown == item.shown)
        if (one.rater, twin) in said:
            before = said[one.rater, twin]
            number += 1
            if design.mode == "highlight":
                same += len(set(before) & set(one.answer)) / len(set(before) | set(one.answer))
            else:
                same += before == one.answer
    return _share(same, number) if number else Measured(None, reason="no question was asked twice")


def _discrimination(design: Design, answers: Sequence[Answer]) -> Measured:
    if design.mode != "pairwise":
        return Measured(None, reason="only pairs are compared with foils")
    chosen, number = 0.0, 0
    for one in answers:
        shown = design.items[one.item].shown
        if sum(name in FOILS for name in shown) == 1:
            number += 1
            chosen += 0.5 if one.answer is None else float(one.answer not in FOILS)
    return _share(chosen, number)
