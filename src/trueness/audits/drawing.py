"""Where the marks of the page's drawings stand, and how its numbers are written; the template has the SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from trueness.audits.verdict import Check, Curve
from trueness.report.table import known
from trueness.report.table import written as number

BAR = 128
"""Width of a bar in a cell."""
_EDGE = 6.0
"""Room for a dot at either end of a bar."""
_PANEL = (32.0, 8.0, 200.0, 112.0)
"""Left, top, right and bottom of a curve's field."""


def digits(values: Sequence[float]) -> int:
    """Decimals that keep numbers of this spread apart."""
    span = max(values, default=0.0) - min(values, default=0.0)
    return 2 if span >= 0.05 or span == 0 else min(6, 1 - math.floor(math.log10(2 * span)))


def duration(seconds: float) -> str:
    """Such as 1 h 4 min, 9 min 30 s or 0.4 s."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"
    return (f"{minutes} min {rest} s" if rest else f"{minutes} min") if minutes else f"{rest} s"


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`, both round numbers, with a number at every `step`."""

    low: float
    high: float
    step: float

    @classmethod
    def over(cls, values: Iterable[float], parts: int = 10) -> Scale:
        """The narrowest axis with about so many parts that holds all values."""
        values = list(values) or [0.0, 1.0]
        span = max(values) - min(values) or abs(max(values)) or 1.0
        power = 10.0 ** math.floor(math.log10(span / parts))
        step = next(power * size for size in (1, 2, 5, 10) if power * size * parts >= span * (1 - 1e-9))
        low, high = math.floor(min(values) / step + 1e-9) * step, math.ceil(max(values) / step - 1e-9) * step
        return cls(low, high if high > low else low + step, step)

    def at(self, value: float, start: float, end: float) -> float:
        """The place of a value between two ends of a drawing."""
        return round(start + (value - self.low) / (self.high - self.low) * (end - start), 1)

    @property
    def ticks(self) -> list[float]:
        """Where numbers stand."""
        return [self.low + self.step * place for place in range(round((self.high - self.low) / self.step) + 1)]

    def text(self, value: float) -> str:
        """A tick's number."""
        return f"{round(value / self.step) * self.step:.6g}".replace("-", "−")

    def ends(self) -> list[tuple[float, str, str]]:
        """Place, number and anchor of both ends of a bar's axis."""
        return [(0.0, self.text(self.low), "start"), (float(BAR), self.text(self.high), "end")]


@dataclass(frozen=True)
class Bar:
    """A check as a dot in its interval, beside the null value and the threshold; places from 0 to BAR."""

    value: float
    low: float | None
    high: float | None
    null: float | None
    threshold: float | None
    label: str
    """What it shows, in words."""


def numbers_of(check: Check) -> list[float]:
    """All that must find room on a check's axis."""
    return known(check.value, check.low, check.high, check.null, check.threshold)


def bar(check: Check, scale: Scale, decimals: int) -> Bar | None:
    """The drawing of a check, or None if it has no number."""
    if not known(check.value) or check.value is None:
        return None

    def place(value: float | None) -> float | None:
        return scale.at(value, _EDGE, BAR - _EDGE) if value is not None and known(value) else None

    said = [f"value {number(check.value, decimals)}"]
    if known(check.low, check.high) == [check.low, check.high]:
        said.append(f"interval {number(check.low, decimals)} to {number(check.high, decimals)}")
    said += [f"threshold {number(value, decimals)}" for value in known(check.threshold)]
    said += [f"without knowledge {number(value, decimals)}" for value in known(check.null)]
    at = scale.at(check.value, _EDGE, BAR - _EDGE)
    return Bar(at, place(check.low), place(check.high), place(check.null), place(check.threshold), ", ".join(said))


@dataclass(frozen=True)
class Panel:
    """Two removal curves of one explainer, as places in its field."""

    explainer: str
    important: list[tuple[float, float]]
    unimportant: list[tuple[float, float]]
    label: str

    @property
    def between(self) -> list[tuple[float, float]]:
        """The outline of what lies between the curves."""
        return [*self.important, *reversed(self.unimportant)]


@dataclass(frozen=True)
class Panels:
    """Small multiples with the same axes."""

    panels: list[Panel]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    field: tuple[float, float, float, float] = _PANEL


def panels(curves: Sequence[Curve], units: str) -> Panels:
    """All removal curves on one pair of axes; `units` are what is hidden, in a word."""
    left, top, right, bottom = _PANEL
    across = Scale.over([0.0, *(share for one in curves for share in known(*one.hidden))], 5)
    heights = [value for one in curves for value in known(*one.important_first, *one.unimportant_first)]
    up = Scale.over([*heights, 1.0] if heights else [0.0, 1.0], 3)

    def line(hidden: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
        pairs = zip(hidden, values, strict=True)
        return [(across.at(x, left, right), up.at(y, bottom, top)) for x, y in pairs if len(known(x, y)) == 2]

    def label(one: Curve) -> str:
        middle = min(range(len(one.hidden)), key=lambda place: abs(one.hidden[place] - 0.2), default=None)
        if middle is None:
            return "No curve."
        return (
            f"With {one.hidden[middle]:.0%} of the {units} hidden the probability is "
            f"{number(one.important_first[middle])} if important {units} go first, "
            f"{number(one.unimportant_first[middle])} if unimportant {units} go first."
        )

    return Panels(
        [
            Panel(
                one.explainer,
                line(one.hidden, one.important_first),
                line(one.hidden, one.unimportant_first),
                label(one),
            )
            for one in curves
        ],
        [(across.at(tick, left, right), f"{tick:.0%}") for tick in across.ticks],
        [(up.at(tick, bottom, top), up.text(tick)) for tick in up.ticks],
    )


_LINES = (("unimportant", "#2a78b8", 'stroke-dasharray="4 3"'), ("important", "#c2571a", ""))


def drawn_curves(curves: Sequence[Curve], units: str) -> str:
    """The same panels for a notebook: plain SVG with its own styles."""
    made = panels(curves, units)
    left, _, right, bottom = made.field
    axes = [f'<path d="M{left} {y}H{right}" stroke="#8885"/>' for y, _ in made.up]
    axes += [f'<text x="{left - 5}" y="{y + 3}" text-anchor="end">{text}</text>' for y, text in made.up]
    axes += [f'<text x="{x}" y="{bottom + 14}" text-anchor="middle">{text}</text>' for x, text in made.across]
    found = []
    for one in made.panels:
        lines = []
        for name, colour, dash in _LINES:
            points = " ".join(f"{x},{y}" for x, y in getattr(one, name))
            lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" {dash}/>')
        picture = f'<svg viewBox="0 0 220 132" width="220" font-size="10" fill="#888">{"".join([*axes, *lines])}</svg>'
        caption = f"<figcaption>{escape(one.explainer)}</figcaption>"
        found.append(f'<figure style="display:inline-block;margin:4px">{caption}{picture}</figure>')
    told = f"Probability of the predicted class with {units} hidden: important ones first (solid), or last (dashed)."
    return f"<div><small>{told}</small></div><div>{''.join(found)}</div>" if found else ""
