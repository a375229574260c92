"""The trials of an audit: from what was measured on a model to checks, each a number beside its threshold.

The thresholds are here and nowhere else. Each says how far above an explanation that knows nothing an explanation has
to be before it may be shown to a person; `docs/audit.md` gives the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.audits import slices
from trueness.audits.measured import Line, Measured, Measurements
from trueness.kinds.contract import Finding
from trueness.stats.thresholds import Evidence, ThresholdTest, crossed_of, mean_of, ratio_of
from trueness.stats.undefined import Floats

DEPENDS, PLANTED, REMOVAL, REPEATS, INFORMATIVE = TRIALS = (
    "depends on the model",
    "finds planted evidence",
    "removal costs",
    "repeats itself",
    "informative",
)
"""Of every kind of input; a kind may have more, which stand before the last."""
ON_MODEL = "on this model"
ON_COMPANION = "on the companion"
"""The check of `REMOVAL` that is not of the audited model."""
CHANGE = 0.25
"""The correlation with the explanation of a model with random weights lies at least this much below the ceiling."""
COST = 0.25
"""Of the distance between a random order of units and the best order found."""
FOUND = 0.75
"""AUROC: a planted unit outranks three of four other units."""
ALIKE = math.sqrt(0.5)
"""Correlation: more than half of the picture (of its variance) comes back."""
SAME = 0.99
"""Correlation: the same picture."""
MOST = 0.75
"""Of the examples: explained alike alone and in a batch."""
APART = 0.05
"""Of the distance between a random order and the best order found: what tells a method from a foil."""
GUESSED = 0.5
"""AUROC of an explanation that knows nothing: of a planted model's mean, the least that is expected."""
MOVED = 0.01
"""Total variation of the model's own output under random weights, below which these tell nothing."""
LEARNED = 0.5
"""Of the mistakes of always the most frequent class: a companion that makes more than this share is not asked."""
MOSTLY = 0.95
"""Of the examples: where every unit of so many has the same score, there is no order to judge."""


def depends(facts: Measurements) -> Line:
    """Do explanations change when the model's weights are random?"""
    if not len(facts.change):
        return Line(DEPENDS, missing="a function has no weights to put into random order", required=False)
    if facts.moved < MOVED:
        return Line(DEPENDS, missing="this model says nearly the same with random weights, so that nothing can be told")
    fall = "fall of the correlation with itself when the model"
    about = f"{fall}'s weights are put into random order"
    again = " repeat_examples" if facts.random else ""  # such a method is compared with itself as well
    checks = [_shuffled(about, facts, f"shuffled_examples{again}")]
    if facts.stranger is not None:
        about = f"{fall} was trained on labels dealt out at random"
        found = _beside(mean_of(_fall(facts.stranger), -1.0), CHANGE)
        size = f"relative_examples{again}"
        checks.append(Measured("random labels", about, found, 0.0, size=size, asked=len(facts.stranger)))
    return Line(DEPENDS, checks, notes=facts.notes.get(DEPENDS, ()))


def _shuffled(about: str, facts: Measurements, examples: str) -> Measured:
    """Draws of weights may disagree: where there are several beside one another, they count as the examples do."""
    change = facts.change
    if change.ndim == 1:
        found = _beside(mean_of(_fall(change), -1.0), CHANGE)
        return Measured("all weights at once", about, found, null=0.0, size=examples, asked=len(change))
    crossed = crossed_of(_fall(change), -1.0)
    found = _beside(crossed, CHANGE)
    size = "shuffles" if crossed is not None and crossed.by_units > 0.5 else examples
    unit = f"{facts.words.examples}, and {len(change)} random orders of the weights"
    return Measured("all weights at once", about, found, null=0.0, unit=unit, size=size, asked=change.shape[1])


def picture(correlations: Floats) -> Floats:
    """How much of a picture comes back: of one that is upside down nothing does."""
    found: Floats = np.clip(correlations, 0.0, 1.0)
    return found


def _fall(change: Floats) -> Floats:
    """A correlation that turns negative has fallen by more than 1, which counts as 1."""
    return np.clip(change, -1.0, 1.0)


def _beside(evidence: Evidence | None, threshold: float) -> ThresholdTest | None:
    return None if evidence is None else ThresholdTest(evidence, threshold)


def planted(facts: Measurements, missing: str = "", *, required: bool = True, trained: int = 0) -> Line:
    """Does it find evidence that models of this architecture had to use?"""
    if facts.detection is None:
        return Line(PLANTED, missing=missing or "it was not held", required=required)
    found = _beside(crossed_of(facts.detection, unit_least=GUESSED), FOUND)
    models, words = len(facts.detection), facts.words  # models that used the evidence
    check = Measured(
        f"planted {words.units}",
        f"chance that a planted {words.unit} outranks another {words.unit} of its {words.example} (AUROC)",
        found,
        null=0.5,
        least=0.0,
        best=1.0,
        unit=f"{words.examples}, and {models} models",
        size="planted_models",
        reason=_unused(models),
    )
    return Line(PLANTED, [check], required=required, notes=facts.notes.get(PLANTED, ()), models=max(trained, models))


def _unused(models: int) -> str:
    return f"{models} of the models used the evidence, two are needed" if models < 2 else ""


def removal(facts: Measurements) -> Line:
    """Does it cost the model more to hide what is called important than what is not?"""
    share, units = "of what the best order found costs; a random order costs 0", facts.words.units
    best = facts.reference.cost
    checks = [
        Measured(
            ON_MODEL,
            f"what hiding important {units} first costs, as a share {share}",
            _beside(ratio_of(facts.cost, best[: len(facts.cost)]), COST),
            null=0.0,
            best=1.0,
            asked=len(facts.cost),
            reason=_nothing("this model", facts),
        )
    ]
    if facts.companion is not None and facts.companion_best is not None:
        checks.append(
            Measured(
                ON_COMPANION,
                f"what hiding important {units} first costs the companion (a model trained with {units} hidden), as a "
                f"share {share}",
                _beside(ratio_of(facts.companion, facts.companion_best), COST),
                null=0.0,
                best=1.0,
                size="companion_examples",
                asked=len(facts.companion),
                reason=_nothing("the companion", facts),
            )
        )
    single, told = slices.checks_of(facts)
    return Line(REMOVAL, [*checks, *single], notes=(*told, *facts.notes.get(REMOVAL, ())))


def _nothing(model: str, facts: Measurements) -> str:
    """Why nothing can be a share of what the best order costs."""
    return f"hiding {facts.words.units} hardly changes what {model} says, in whatever order"


def repeats(facts: Measurements) -> Line:
    """Does it say the same again?"""
    again = "correlation with itself"
    checks = []
    if facts.random:
        about = f"{again} when the method draws anew"
        found = _beside(mean_of(picture(facts.ceiling)), ALIKE)
        checks.append(
            Measured("another draw", about, found, 0.0, 1.0, size="repeat_examples", asked=len(facts.ceiling))
        )
    checks += [
        Measured(
            "after a harmless edit",
            f"{again} when {facts.words.edit}, as a share of that under another draw",
            _beside(ratio_of(picture(facts.edited), picture(facts.ceiling[: len(facts.edited)]), least=0.0), ALIKE),
            null=0.0,
            best=1.0,
            size="repeat_examples edit_examples",
            asked=int(np.flatnonzero(np.isfinite(facts.edited)).max(initial=-1)) + 1,  # the rest was not looked at
            reason=_unedited(facts),
        ),
        Measured(
            "alone or in a batch",
            f"share of the {facts.words.examples} explained alike alone and in a batch (correlation above {SAME})",
            _beside(mean_of(np.where(np.isfinite(facts.alone), facts.alone > SAME, np.nan)), MOST),
            null=0.0,
            least=0.0,
            best=1.0,
            size="alone_examples",
            asked=len(facts.alone),
        ),
    ]
    return Line(REPEATS, checks, notes=facts.notes.get(REPEATS, ()))


def _unedited(facts: Measurements) -> str:
    """Why there is no share of what another draw repeats."""
    known = int((np.isfinite(facts.edited) & np.isfinite(facts.ceiling[: len(facts.edited)])).sum())
    if known < 2:
        return f"{'one' if known else 'no'} {facts.words.example} could be edited without changing what the model says"
    return f"the method does not even repeat itself on the same {facts.words.example}"


def of_kind(trial: str, findings: Sequence[Finding], notes: tuple[str, ...] = ()) -> Line:
    """A trial that only this kind of input has, from what its kind measured: means of what lies between 0 and 1."""
    checks = []
    for one in findings:
        values = np.where(np.isfinite(one.values), one.values > 0, np.nan) if one.shares else one.values
        found = _beside(mean_of(values), one.threshold)
        how: dict[str, Any] = {"null": one.null, "least": 0.0, "best": 1.0, "asked": len(values)}
        checks.append(Measured(one.name, one.measure, found, size="shuffled_examples", **how))
    return Line(trial, checks, notes=notes)


def informative(name: str, facts: Mapping[str, Measurements], foils: Sequence[str]) -> Line:
    """Is it told apart from the foils that know nothing, or less than they seem to, by any measure?

    No verdict depends on it: where a simple list of units ranks as well, a right explanation does not lead.
    """
    own = facts[name]
    words = own.words
    scales: dict[str, tuple[str, Callable[[Measurements], Floats]]] = {
        f"hiding {words.units}": ("cost", lambda one: one.cost),
        f"hiding {words.units} at random by their scores": ("soft_cost", lambda one: one.soft_cost),
    }
    checks = []
    for what, (scale, read) in scales.items():
        rivals = [read(facts[foil]) for foil in foils if foil in facts]
        if not rivals:
            continue
        rival = max(rivals, key=lambda values: float(values.mean()))
        n = min(len(read(own)), len(rival))
        rival, most = rival[:n], getattr(own.reference, scale)[:n]
        about = f"lead over the better of {' and '.join(foils)} by {what}, as a share of the best order found"
        found = _beside(ratio_of(np.clip(read(own)[:n] - rival, -1.0, 1.0), most), APART)
        checks.append(Measured(what, about, found, null=0.0, asked=n, reason=_nothing("this model", own)))
    beside = [facts[foil].detection for foil in foils if foil in facts]
    known = [values for values in beside if values is not None and np.isfinite(values).any()]
    if own.detection is not None and known:
        rival = max(known, key=lambda values: float(np.nanmean(values)))
        found = _beside(crossed_of(own.detection - rival, -1.0), APART)
        about = f"lead over the better of {' and '.join(foils)} in finding planted {words.units} (AUROC)"
        how: dict[str, Any] = {"unit": f"{words.examples} and models", "reason": _unused(len(own.detection))}
        checks.append(Measured(f"planted {words.units}", about, found, 0.0, size="planted_models", **how))
    return Line(INFORMATIVE, checks, rule="any", required=False, notes=own.notes.get(INFORMATIVE, ()))


def learned(wanted: npt.ArrayLike, said: npt.ArrayLike) -> tuple[bool, float, float]:
    """Whether a model names the classes that it was to learn: how often it does, and how often guessing would.

    Where there is one class only, guessing is right as well, and nothing shows that anything was learned.
    """
    classes, named = np.asarray(wanted), np.asarray(said)
    wrong, others = int((classes != named).sum()), len(classes) - int(np.bincount(classes).max())
    return others > 0 and wrong <= LEARNED * others, 1 - wrong / len(classes), 1 - others / len(classes)


def no_order(facts: Measurements) -> str:
    """What is to be said of an explanation that says the same of every unit; nothing of others."""
    same, number, words = int(facts.flat.sum()), len(facts.flat), facts.words
    told = f"gives every {words.unit} of {same} of {number} {words.examples} the same score"
    return told if number and same >= MOSTLY * number else ""


def _without_order(line: Line, why: str) -> Line:
    """The trial of an explanation without an order: only whether it depends on the model can be told."""
    if not why or line.missing or line.trial == DEPENDS or line.trial not in TRIALS:
        return line
    return replace(line, checks=(), models=0, missing=f"it {why}, so that there is no order to judge")


def lines_of(
    facts: Mapping[str, Measurements],
    foils: Sequence[str],
    *,
    missing_planted: str = "",
    planted_required: bool = True,
    trained: int = 0,
) -> dict[str, list[Line]]:
    """All trials of every explainer; so many models were `trained` with planted evidence."""
    blunt = [foil for foil in foils if foil in facts]
    found: dict[str, list[Line]] = {}
    for name, own in facts.items():
        lines = [
            depends(own),
            planted(own, missing_planted, required=planted_required, trained=trained),
            removal(own),
            repeats(own),
            *own.more,
            informative(name, facts, blunt),
        ]
        found[name] = [_without_order(line, no_order(own)) for line in lines]
    return found
