"""What trials are made of: what was measured of an explainer, and checks before they are decided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from trueness.kinds.contract import Words
from trueness.stats.thresholds import ThresholdTest
from trueness.stats.undefined import Bools, Floats, Ints

if TYPE_CHECKING:  # it loads torch
    from trueness.protocols.best_order import Reference, Singles


@dataclass(frozen=True)
class Measured:
    """A check before it is decided."""

    name: str
    measure: str
    found: ThresholdTest | None
    null: float | None = None
    best: float | None = None
    least: float = -math.inf
    """The least that the number can be."""
    unit: str = ""
    """What the interval is taken over; empty: the examples."""
    size: str = "examples"
    """The settings that say how many."""
    asked: int = 0
    """How many examples were looked at; the number may rest on fewer."""
    reason: str = ""
    """Why there is no number, where there is none."""


@dataclass(frozen=True)
class Line:
    """One trial of one explainer before it is decided."""

    trial: str
    checks: Sequence[Measured] = ()
    rule: Literal["all", "any"] = "all"
    """Whether all checks have to pass, or one of them."""
    required: bool = True
    notes: tuple[str, ...] = ()
    missing: str = ""
    """Why it was not held, where it was not."""
    models: int = 0
    """Of planted evidence: how many were trained; 0 where more would tell nothing."""


@dataclass(frozen=True)
class Measurements:
    """What was measured of one explainer on the audited model; (examples,) arrays, the first ones of the audit."""

    cost: Floats
    """What hiding units costs, see `protocols.faithfulness`."""
    soft_cost: Floats
    change: Floats
    """How much less the explanation of a randomised model is like it than it is like itself: (draws, examples),
    or (examples,) of a single draw of weights."""
    reference: Reference
    """What orders of the units can cost, whatever is on trial."""
    moved: float
    """How much the model's own output changes with random weights: total variation."""
    ceiling: Floats
    """How alike two draws of the method are: 1 for one that draws nothing."""
    alone: Floats
    edited: Floats
    flat: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Where every unit has the same score; empty where nobody looked."""
    random: bool = False
    """Whether the method draws at random."""
    stranger: Floats | None = None
    """How much less the explanation of a model trained on random labels is like it than it is like itself."""
    detection: Floats | None = None
    """(models, examples) AUROC of planted evidence."""
    singles: Singles | None = None
    strongest: Sequence[str] = ()
    """The unit, as people see it, that does the most when it is hidden alone; empty where units have no names."""
    predicted: Ints = field(default_factory=lambda: np.zeros(0, dtype=int))
    """The model's classes, and those of the labels: -1 where there is none."""
    labels: Ints = field(default_factory=lambda: np.zeros(0, dtype=int))
    classes: Sequence[str] = ()
    companion: Floats | None = None
    """(examples,) cost of hiding units on the companion, and of the best order found there."""
    companion_best: Floats | None = None
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else was seen, by trial."""
    more: tuple[Line, ...] = ()
    """Trials that only the model's kind has."""
    words: Words = field(default_factory=Words)
    """How people speak of what was measured."""
    looks: int = 1
    """How often the audit may look, each time at more examples (`stats.looks`)."""
