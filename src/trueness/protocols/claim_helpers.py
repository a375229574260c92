"""Conclusions checked place by place: on every dataset, or with every model."""

from __future__ import annotations

from collections.abc import Sequence

from trueness.protocols.result import Claim, Verdict
from trueness.stats import Interval, Reason, Undefined

FEWEST_SEEDS = 3
GAIN = 0.01
"""Learned attention that gains less than this over uniform weights is not needed for the task."""

Finding = tuple[bool | None, str]
"""Whether a conclusion holds in one place (None: cannot be told), and the numbers."""


def claim(text: str, found: Sequence[tuple[str, Finding]], places: str = "datasets") -> Claim:
    """Supported where it holds everywhere, not supported where it fails somewhere; the evidence says where."""
    holding = [place for place, (holds, _) in found if holds]
    failing = [place for place, (holds, _) in found if holds is False]
    verdict: Verdict = "not supported" if failing else "supported" if len(holding) == len(found) else "cannot tell"
    counts = f"holds on {len(holding)} of {len(found)} {places}"
    if failing:
        counts += f", fails on {', '.join(failing)}"
    evidence = "; ".join(f"{place}: {numbers}" for place, (_, numbers) in found)
    return Claim(claim=text, verdict=verdict, evidence=f"{counts}. {evidence}")


def mostly(text: str, found: Sequence[tuple[str, Finding]], places: str = "datasets") -> Claim:
    """Supported where it holds in more than half of the places, not supported where it fails in half of them."""
    holding = sum(holds is True for _, (holds, _) in found)
    failing = sum(holds is False for _, (holds, _) in found)
    verdict: Verdict = (
        "supported" if 2 * holding > len(found) else "not supported" if 2 * failing >= len(found) else "cannot tell"
    )
    evidence = "; ".join(f"{place}: {numbers}" for place, (_, numbers) in found)
    counts = f"holds on {holding} of {len(found)} {places}, fails on {failing}"
    return Claim(claim=text, verdict=verdict, evidence=f"{counts}. {evidence}")


def decide(interval: Interval, above: float | None = None, below: float | None = None) -> bool | None:
    """Whether a mean lies above or below a limit; None where the interval holds the limit or there are few seeds."""
    if isinstance(interval.value, Undefined) or interval.n < FEWEST_SEEDS:
        return None
    if isinstance(interval.low, Undefined) and interval.low.reason is not Reason.CONSTANT:
        return None
    # The same value in every seed and instance is its own interval.
    low = interval.value if isinstance(interval.low, Undefined) else interval.low
    high = interval.value if isinstance(interval.high, Undefined) else interval.high
    if above is not None:
        return True if low > above else False if high < above else None
    assert below is not None
    return True if high < below else False if low > below else None


def shown(interval: Interval) -> str:
    """A mean with its interval, in words."""
    if isinstance(interval.value, Undefined):
        return "undefined"
    if isinstance(interval.low, Undefined) or isinstance(interval.high, Undefined):
        same = isinstance(interval.low, Undefined) and interval.low.reason is Reason.CONSTANT
        return f"{interval.value:.3f} ({'the same everywhere' if same else 'no interval'})"
    return f"{interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f})"
