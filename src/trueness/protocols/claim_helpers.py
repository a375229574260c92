"""Conclusions checked place by place: on every dataset, or with every model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trueness.protocols.result import Claim, Verdict
from trueness.stats import Interval, Reason, Undefined, holm

FEWEST_SEEDS = 3
GAIN = 0.01
"""Learned attention that gains less than this over uniform weights is not needed for the task."""

MOST_EVIDENCE = 300
"""Characters of a claim's evidence; every place's numbers are among the scores."""
ONE_SIDED = 0.025


@dataclass(frozen=True)
class Decision:
    """Whether a conclusion holds by its interval (None: cannot be told); true where it does."""

    holds: bool | None
    chance: float = 1.0
    """Of numbers that speak so much against it, if it held: one-sided."""

    def __bool__(self) -> bool:
        return self.holds is True


Decided = Decision | bool | None
"""A decision by an interval, or what was counted."""
Finding = tuple[Decided, str]
"""Whether a conclusion holds in one place (None: cannot be told), and the numbers."""
Places = Iterable[tuple[str, Finding | None]]
"""What was found in each place; None where it cannot be asked. A claim is made if it can be asked anywhere."""


def claim(text: str, places: Places, what: str = "datasets") -> Iterator[Claim]:
    """Supported where it holds everywhere, not supported where it surely fails somewhere; the evidence says where.

    Of many places one may fail by chance: one counts only after Holm's correction over all of them. To hold
    everywhere needs no correction.
    """
    found = _known(places)
    chances = [1.0 if one.holds is None else one.chance for one in (as_decision(decided) for _, (decided, _) in found)]
    surely = holm(chances) < ONE_SIDED
    failing = [place for (place, _), fails in zip(found, surely, strict=True) if fails]
    holds = together([decided for _, (decided, _) in found])
    which = f", fails on {_listed(failing)}" if failing else ""
    yield from _claim(text, False if failing else True if holds else None, found, f"{what}{which}", failing)


def mostly(text: str, places: Places, what: str = "datasets") -> Iterator[Claim]:
    """Supported where it holds in more than half of the places, not supported where it fails in half of them."""
    found = _known(places)
    decisions = [(place, as_decision(decided).holds) for place, (decided, _) in found]
    holding = sum(holds is True for _, holds in decisions)
    failing = [place for place, holds in decisions if holds is False]
    holds = True if 2 * holding > len(found) else False if 2 * len(failing) >= len(found) else None
    yield from _claim(text, holds, found, f"{what}, fails on {len(failing)}", failing)


def _known(places: Places) -> list[tuple[str, Finding]]:
    return [(place, finding) for place, finding in places if finding is not None]


def _claim(
    text: str, holds: bool | None, found: Sequence[tuple[str, Finding]], where: str, failing: Sequence[str]
) -> Iterator[Claim]:
    if not found:
        return
    counts = f"holds on {sum(as_decision(decided).holds is True for _, (decided, _) in found)} of {len(found)} {where}"
    # What decides comes first: where it fails, then where it cannot be told, then the rest.
    rank = {True: 2, None: 1, False: 0}
    order = sorted(found, key=lambda one: (one[0] not in failing, rank[as_decision(one[1][0]).holds]))
    yield Claim(
        claim=text,
        verdict=verdict(holds),
        evidence=evidence(f"{counts}.", [f"{place}: {n}" for place, (_, n) in order]),
    )


def evidence(counts: str, parts: Sequence[str]) -> str:
    """As many of the parts as there is room for, and how many more there are."""
    told = counts
    for number, part in enumerate(parts):
        longer = f"{told}{' ' if number == 0 else '; '}{part}"
        left = len(parts) - number - 1
        if len(longer) + (len(f"; and {left} more") if left else 0) > MOST_EVIDENCE:
            return f"{told}; and {left + 1} more" if number else told
        told = longer
    return told


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def as_decision(decided: Decided) -> Decision:
    """What was counted is no sample: if it fails, that is sure."""
    return decided if isinstance(decided, Decision) else Decision(decided, 0.0 if decided is False else 1.0)


def decide(interval: Interval, above: float | None = None, below: float | None = None) -> Decision:
    """Whether a mean lies above or below a limit; None where the interval holds the limit or there are few seeds."""
    if isinstance(interval.value, Undefined) or interval.n < FEWEST_SEEDS:
        return Decision(None)
    if isinstance(interval.low, Undefined) and interval.low.reason is not Reason.CONSTANT:
        return Decision(None)
    low, high = ends(interval)
    limit, sign = (above, 1.0) if above is not None else (below, -1.0)
    assert limit is not None
    beyond, against = (low > limit, high < limit) if above is not None else (high < limit, low > limit)
    holds = True if beyond else False if against else None
    return Decision(holds, _chance(interval, sign * (limit - float(interval.value))))


def _chance(interval: Interval, distance: float) -> float:
    """One-sided, Student's with n - 1 degrees of freedom, of a mean so far on the wrong side of its limit."""
    low, high = ends(interval)
    half = max(high - float(interval.value), float(interval.value) - low)  # one side may have been cut to the range
    if half <= 0:
        return 0.0 if distance > 0 else 1.0
    from scipy.special import stdtr, stdtrit

    freedom = interval.n - 1
    error = half / float(stdtrit(freedom, (1 + interval.level) / 2))
    return float(stdtr(freedom, -distance / error))


def gains(gain: Interval, unit: str = "") -> Finding | None:
    """Whether learned attention gains enough over uniform weights to be needed; None where that was not measured."""
    return None if isinstance(gain.value, Undefined) else (decide(gain, above=GAIN), f"gains {shown(gain)}{unit}")


def ends(interval: Interval) -> tuple[float, float]:
    """Both bounds; the same value in every seed and instance is its own interval."""
    if isinstance(interval.low, Undefined) or isinstance(interval.high, Undefined):
        return float(interval.value), float(interval.value)
    return interval.low, interval.high


def verdict(holds: bool | None) -> Verdict:
    """Of a conclusion that holds, fails, or cannot be told."""
    return "cannot tell" if holds is None else "supported" if holds else "not supported"


def together(decided: Sequence[Decided]) -> Decision:
    """Whether all of several conclusions hold; the chance that one fails is corrected for their number (Bonferroni)."""
    found = [as_decision(one) for one in decided]
    chance = min(1.0, len(found) * min(one.chance for one in found)) if found else 1.0
    holds = True if all(found) else False if any(one.holds is False for one in found) else None
    return Decision(holds, chance)


def shown(interval: Interval) -> str:
    """A mean with its interval, in words."""
    if isinstance(interval.value, Undefined):
        return "undefined"
    if isinstance(interval.low, Undefined) or isinstance(interval.high, Undefined):
        same = isinstance(interval.low, Undefined) and interval.low.reason is Reason.CONSTANT
        return f"{interval.value:.3f} ({'the same everywhere' if same else 'no interval'})"
    return f"{interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f})"
