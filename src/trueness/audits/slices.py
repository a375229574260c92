"""For whom an explanation holds: the share of the examples, of each predicted class, of right and wrong predictions.

A mean may be good while the explanation is wrong for a third of the examples, or for all of one class. So examples are
counted. An explanation reaches an example if its order costs at least `REACHED` of the best order of that example. A
random order does so too, in some examples; the share is corrected for it: it is 0 for random orders, 1 if every example
is reached, and p if the order is right in the share p of the examples and random in the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trueness.audits.measured import Measured, Measurements
from trueness.audits.rule import FEWEST, levels
from trueness.audits.verdict import Decision, Trial
from trueness.kinds.contract import Words
from trueness.stats.thresholds import Mean, Ratio, ThresholdTest, ratio_of
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:  # it loads torch
    from trueness.protocols.best_order import Singles

REACHED = 0.25
"""Of what the best order of the same example costs."""
MOST = 0.8
"""Of the examples: an explanation that is wrong for one in five lies at this threshold."""
OF_SLICE = 0.5
"""Of the examples of one class, or of the right or wrong predictions."""
STRONG = 0.25
"""Of what hiding the strongest unit alone does to the log odds: the top unit should do so much."""
DECISIVE = 0.5
"""Of the log odds: examples in which no unit alone does so much say nothing of single units, as where words repeat."""
NAMED = 0.25
"""Of the units: the strongest one should be among so many that are ranked first."""
SINGLE = 0.5
"""Of the examples: those in which the top unit is strong, and in which the strongest unit is named."""
OF_UNIT = 0.25
"""Of the examples in which one and the same unit is the strongest, such as “not” or a shortcut: there it is named."""
FELT = 0.01
"""Probability: examples in which no order costs as much have nothing to explain."""
IN_MOST, TOP_ALONE, STRONGEST = "in most examples", "the top unit alone", "the strongest unit is named"
_HOPELESS = 1000
_UNJUDGED = "Not judged by itself: "
_PARTS = ("class ", "right predictions", "wrong predictions", "what “")


def checks_of(facts: Measurements) -> tuple[list[Measured], tuple[str, ...]]:
    """The checks of single examples, and what is told of slices that are too small to be judged."""
    words, n = facts.words, len(facts.cost)
    reached, chance = reaches(facts.cost, facts.reference.cost, facts.reference.chance)

    def check(name: str, which: str, how: ThresholdTest | None) -> Measured:
        about = f"share of the {which}, corrected for chance"
        reason = f"in too few {words.examples} hiding {words.units} changes what the model says"
        return Measured(name, about, how, null=0.0, best=1.0, asked=n, reason=reason)

    costs = (
        f"in which hiding the {words.units} it ranks first costs at least {REACHED} of the most that any order costs"
    )
    found = [check(IN_MOST, f"{words.examples} {costs}", share_above(reached, chance, MOST))]
    told, where = [], list[tuple[str, str, Floats, Floats, float]]()
    if facts.singles is not None:
        top = (
            f"{words.examples} that one {words.unit} decides, whose top {words.unit}, hidden alone, does at least "
            f"{STRONG} of what the strongest does"
        )
        strong, by_chance = top_alone(facts.singles.first, facts.reference.alone[:n])
        where.append((TOP_ALONE, top, strong, by_chance, SINGLE))
        among = f"{words.examples} whose strongest {words.unit}, hidden alone, is in the first quarter of the ranking"
        names, by_chance = named(facts.singles, np.isfinite(strong))
        where.append((STRONGEST, among, names, by_chance, SINGLE))
        for name, inside in deciding(facts.strongest[:n]):
            if examples_needed(by_chance[inside], facts.looks) <= np.isfinite(names[inside]).sum():
                what = f"{words.examples} with “{name}” as the strongest {words.unit}"
                ranked = f"{what} in which it is in the first quarter of the ranking"
                where.append((f"what “{name}” decides", ranked, names[inside], by_chance[inside], OF_UNIT))
    for name, inside in slices(facts):
        here = inside[:n]
        where.append((name, f"{words.examples} ({name}) {costs}", reached[here], chance[here], OF_SLICE))
    for name, what, values, by_chance, threshold in where:
        known, needed = int(np.isfinite(values).sum()), examples_needed(by_chance, facts.looks)
        if needed <= known:
            found.append(check(name, what, share_above(values, by_chance, threshold)))
        else:
            more = f"about {needed:,.0f} are needed" if needed < np.inf else "nothing can be told of them"
            told.append(f"{name} ({known} {words.examples}; {more})")
    return found, (f"{_UNJUDGED}{', '.join(told)}.",) if told else ()


def for_whom(decision: Decision, trials: Sequence[Trial], words: Words) -> str:
    """For how many examples a verdict holds, and for which it does not."""
    removal = next((trial for trial in trials if any(check.name == IN_MOST for check in trial.checks)), None)
    if removal is None or decision == "cannot tell":
        return ""
    most = next(check for check in removal.checks if check.name == IN_MOST)
    if decision == "must not be shown":
        failed = [check.name for check in removal.checks if check.answer == "fail"]
        wrong = sorted(name for name in failed if name.startswith(_PARTS))
        some = f"Not for {_listed(wrong)}." if wrong else ""
        few = f"It explains about {max(most.value or 0.0, 0.0):.0%} of the {words.examples}."
        return f"{some} {few}".strip() if most.answer == "fail" else some
    named = sorted(check.name for check in removal.checks if check.name.startswith(_PARTS[:-1]))
    each = f", and for {_listed(named)} each by itself" if named else ""
    told = [note for note in removal.notes if note.startswith(_UNJUDGED)]
    share = f"at least {math.floor(10 * (most.low or 0.0) + 1e-9)} in 10 {words.examples}"
    return " ".join([f"For {share} in which hiding {words.units} changes what the model says{each}.", *told])


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def reaches(cost: Floats, best: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """(examples,) whether an order reaches an example, and how often a random one does; NaN with nothing to explain."""
    best, chance = best[: len(cost)], chance[: len(cost)]
    felt = best >= FELT
    reached = np.where(felt, cost >= REACHED * best, np.nan)
    return reached, np.where(felt, (chance >= REACHED * best[:, None]).mean(axis=1), np.nan)


def top_alone(first: Floats, alone: Floats) -> tuple[Floats, Floats]:
    """(examples,) whether the top unit is strong, and the share of the units that are; NaN where none alone decides."""
    units = np.isfinite(alone).sum(axis=1)
    strongest = np.nan_to_num(alone, nan=-np.inf).max(axis=1)
    known = (strongest >= DECISIVE) & (units > 1)
    limit = np.where(known, STRONG * strongest, np.inf)
    strong = (np.nan_to_num(alone, nan=-np.inf) >= limit[:, None]).sum(axis=1)
    return np.where(known, first >= limit, np.nan), np.where(known, strong / np.maximum(units, 1), np.nan)


@dataclass(frozen=True, eq=False)
class Corrected(Ratio):
    """The mean of reached - chance over that of 1 - chance, of which both lie between 0 and 1."""

    def beside(self, ratio: float) -> Mean:
        """Reached - ratio - chance * (1 - ratio), within its own bounds: narrower than those of any ratio."""
        most = max(1 - ratio, 0.0)
        return Mean(self.above - ratio * self.below, -max(ratio, 1.0), most)


def named(singles: Singles, known: Bools) -> tuple[Floats, Floats]:
    """(examples,) whether the strongest unit is ranked among the first, and how often chance does so."""
    among = np.ceil(NAMED * singles.units)
    share = among / np.maximum(singles.units, 1)
    return np.where(known, singles.place < among, np.nan), np.where(known, share, np.nan)


def deciding(strongest: Sequence[str]) -> Iterator[tuple[str, Bools]]:
    """Units that are the strongest one of many examples, such as “not” or a shortcut, and those examples."""
    names = np.array(strongest, dtype=object)
    for name, number in Counter(strongest).most_common():
        if number >= FEWEST:
            yield name, names == name


def share_above(reached: Floats, chance: Floats, threshold: float) -> ThresholdTest | None:
    """The share corrected for chance beside a threshold; None where there is none."""
    found = ratio_of(reached - chance, 1 - chance)
    return None if found is None else ThresholdTest(Corrected(found.above, found.below), threshold)


def slices(facts: Measurements) -> Iterator[tuple[str, Bools]]:
    """What is looked at by itself: (examples,) truth values."""
    if len(facts.predicted):
        for number, name in enumerate(facts.classes):
            inside = facts.predicted == number
            if 0 < inside.sum() < len(inside):
                yield f"class {name}", inside
    known = facts.labels >= 0
    if known.any() and len(facts.predicted):
        right = facts.predicted == facts.labels
        if (right & known).any() and (~right & known).any():
            yield "right predictions", right & known
            yield "wrong predictions", ~right & known


def examples_needed(chance: Floats, looks: int = 1) -> float:
    """So many examples would do for an explanation that is right in nine of ten of them; infinite if none would."""
    known = chance[np.isfinite(chance)]
    if not len(known):
        return np.inf
    reached = np.where(np.arange(10) < 9, 1.0, 0.0)
    above = (reached[:, None] - known).ravel()  # as if each example had been seen ten times
    test = Corrected(above, np.tile(1 - known, 10))
    level, number = levels(1, looks=looks).passes, float(FEWEST)
    while test.p_above(OF_SLICE, times=number / test.n) > level:
        number = np.ceil(1.1 * number)
        if number > _HOPELESS:
            return np.inf
    return number
