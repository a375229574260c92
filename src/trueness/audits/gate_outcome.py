"""What became of a gate: its conditions, and the one rule that makes both the text and the exit status."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

State = Literal["holds", "does not hold", "cannot tell"]
Openness = Literal["fail", "pass", "report"]

SIGNS: dict[State, str] = {"holds": "✓", "does not hold": "✗", "cannot tell": "?"}
_WORDS: dict[State, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "cannot tell": ("cannot be told", "cannot be told"),
}
"""Of one condition, and of several."""
_STATUS: dict[State, int] = {"holds": 0, "does not hold": 1, "cannot tell": 3}
_OPEN: dict[Openness, State] = {"fail": "does not hold", "pass": "holds", "report": "cannot tell"}


@dataclass(frozen=True)
class Condition:
    """One thing that must hold."""

    name: str
    state: State
    sentence: str


@dataclass(frozen=True)
class GateOutcome:
    """What became of each condition, and of the gate."""

    conditions: tuple[Condition, ...]
    cannot_tell: Openness = "report"
    """What the gate makes of conditions that cannot be told."""

    @property
    def state(self) -> State:
        """Of the gate: one condition that does not hold decides; an open one passes only if the gate says so."""
        states = {condition.state for condition in self.conditions}
        if "does not hold" in states:
            return "does not hold"
        return _OPEN[self.cannot_tell] if "cannot tell" in states else "holds"

    @property
    def exit_status(self) -> int:
        """0 holds, 1 does not hold, 3 cannot tell."""
        return _STATUS[self.state]

    @property
    def summary(self) -> str:
        """One sentence about the whole."""
        counts = Counter(condition.state for condition in self.conditions)
        parts = [f"{number} {_WORDS[state][number > 1]}" for state in SIGNS if (number := counts[state])]
        rule = f' (cannot_tell = "{self.cannot_tell}")' if counts["cannot tell"] else ""
        verb = "cannot be told to hold" if self.state == "cannot tell" else self.state
        return f"The gate {verb}: of {len(self.conditions)} conditions, {', '.join(parts)}{rule}."

    @property
    def text(self) -> str:
        """A line for each condition, then the summary."""
        lines = [f"{SIGNS[one.state]} {one.name}: {one.sentence}" for one in self.conditions]
        return "\n".join([*lines, self.summary])
