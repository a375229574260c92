"""The figures of each kind of study."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trueness.protocols.result import Result
from trueness.report.agreement import agreement_figures
from trueness.report.attefa import attefa_figures
from trueness.report.attention import attention_figures
from trueness.report.figure import Figure
from trueness.report.ground_truth import ground_truth_figures
from trueness.report.recursive_roar import recursive_roar_figures
from trueness.report.roar_synthetic import roar_synthetic_figures

_OF: dict[str, Callable[[Result], Iterable[Figure]]] = {
    "agreement": agreement_figures,
    "attefa": attefa_figures,
    "attention-is-not-explanation": attention_figures,
    "ground-truth": ground_truth_figures,
    "recursive-roar": recursive_roar_figures,
    "roar-synthetic": roar_synthetic_figures,
}


def figures(kind: str, result: Result) -> list[Figure]:
    """The figures of a study kind; none where it has none."""
    return list(_OF[kind](result)) if kind in _OF else []
