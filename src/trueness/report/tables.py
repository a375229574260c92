"""The tables of each kind of study."""

from __future__ import annotations

from collections.abc import Callable

from trueness.protocols.result import Result
from trueness.report.agreement_tables import agreement_tables
from trueness.report.attefa_tables import attefa_tables
from trueness.report.attention_tables import attention_tables
from trueness.report.ground_truth import ground_truth_tables
from trueness.report.recursive_roar import recursive_roar_tables
from trueness.report.table import Table

_OF: dict[str, Callable[[Result], list[Table]]] = {
    "agreement": agreement_tables,
    "attefa": attefa_tables,
    "attention-is-not-explanation": attention_tables,
    "ground-truth": ground_truth_tables,
    "recursive-roar": recursive_roar_tables,
}


def tables(kind: str, result: Result) -> list[Table]:
    """The tables of a study kind; none where it has none."""
    return _OF[kind](result) if kind in _OF else []
