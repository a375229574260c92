"""Conclusions checked place by place: on every dataset, or with every model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trueness.protocols.result import Claim, Verdict
from trueness.stats import Interval, Reason, Undefined

FEWEST_SEEDS = 3
GAIN = 0.01
"""Learned attention that gains less than this over uniform weights is not needed for the task."""

Finding = tuple[bool | None, str]
"""Whether a conclusion holds in one place (None: cannot be told), and the numbers."""
Places = Iterable[tuple[str, Finding | None]]
"""What was found in each place; None where it cannot be asked. A claim is made if it can be asked anywhere."""


def claim(text: str, places: Places, what: str = "datasets") -> Iterator[Claim]:
    """Supported where it holds everywhere, not supported where it fails somewhere; the evidence says where."""
    found = _known(places)
    failing = [place for place, (holds, _) in found if holds is False]
    which = f", fails on {', '.join(failing)}" if failing else ""
    yield from _claim(text, together([holds for _, (holds, _) in found]), found, f"{what}{which}")


def mostly(text: str, places: Places, what: str = "datasets") -> Iterator[Claim]:
    """Supported where it holds in more than half of the places, not supported where it fails in half of them."""
    found = _known(places)
    holding, failing = (sum(holds is one for _, (holds, _) in found) for one in (True, False))
    holds = True if 2 * holding > len(found) else False if 2 * failing >= len(found) else None
    yield from _claim(text, holds, found, f"{what}, fails on {failing}")


def _known(places: Places) -> list[tuple[str, Finding]]:
    return [(place, finding) for place, finding in places if finding is not None]


def _claim(text: str, holds: bool | None, found: Sequence[tuple[str, Finding]], where: str) -> Iterator[Claim]:
    if found:
        counts = f"holds on {sum(holds is True for _, (holds, _) in found)} of {len(found)} {where}"
        evidence = "; ".join(f"{place}: {numbers}" for place, (_, numbers) in found)
        yield Claim(claim=text, verdict=verdict(holds), evidence=f"{counts}. {evidence}")


def decide(interval: Interval, above: float | None = None, below: float | None = None) -> bool | None:
    """Whether a mean lies above or below a limit; None where the interval holds the limit or there are few seeds."""
    if isinstance(interval.value, Undefined) or interval.n < FEWEST_SEEDS:
        return None
    if isinstance(interval.low, Undefined) and interval.low.reason is not Reason.CONSTANT:
        return None
    low, high = ends(interval)
    if above is not None:
        return True if low > above else False if high < above else None
    assert below is not None
    return True if high < below else False if low > below else None


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


def together(decided: Sequence[bool | None]) -> bool | None:
    """Whether all of several conclusions hold."""
    return True if all(decided) else False if False in decided else None


def shown(interval: Interval) -> str:
    """A mean with its interval, in words."""
    if isinstance(interval.value, Undefined):
        return "undefined"
    if isinstance(interval.low, Undefined) or isinstance(interval.high, Undefined):
        same = isinstance(interval.low, Undefined) and interval.low.reason is Reason.CONSTANT
        return f"{interval.value:.3f} ({'the same everywhere' if same else 'no interval'})"
    return f"{interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f})"
