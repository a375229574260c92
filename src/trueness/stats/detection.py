"""How well scores find marked features, one value per instance. Features are ranked by descending magnitude."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness.stats.rows import as_mask, as_rows, rank_rows
from trueness.stats.undefined import Bools, Floats, Measured, Reason


def attribution_share(scores: Any, marked: Any, mask: Any = None) -> Measured:
    """Attr%: the share of all |score| that marked features have (Zhou et al. 2022).

    Range [0, 1]; a constant explanation gets the marked features' share of all features. Undefined where all scores
    are 0.
    """
    rows, marks, inside = _prepared(scores, marked, mask)
    total = rows.sum(axis=1)
    share = (rows * marks).sum(axis=1) / np.where(total > 0, total, 1.0)
    return Measured(
        np.clip(share, 0.0, 1.0), {**_reasons(rows, marks, inside, both=False), Reason.CONSTANT: total == 0}
    )


def detection_auc(scores: Any, marked: Any, mask: Any = None, *, signed: bool = False) -> Measured:
    """The chance that a marked feature ranks above an unmarked one, ties counting half; `signed` by score, not size.

    Range [0, 1], 1/2 by chance. Undefined where all or none are marked.
    """
    rows, marks, inside = _prepared(scores, marked, mask, signed=signed)
    ranks = rank_rows(rows, inside).average
    marked_number, others = marks.sum(axis=1), (inside & ~marks).sum(axis=1)
    surplus = np.where(marks, ranks, 0.0).sum(axis=1) - marked_number * (marked_number + 1) / 2
    return Measured(surplus / np.maximum(marked_number * others, 1), _reasons(rows, marks, inside))


def precision_at(scores: Any, marked: Any, mask: Any = None, *, k: int | None = None) -> Measured:
    """The share of the k top features that are marked; by default k is the number of marked features (and recall too).

    Ties are the expectation over random orders. Range [0, 1]; by chance the marked features' share of all features.
    Undefined where all or none are marked.
    """
    rows, marks, inside = _prepared(scores, marked, mask)
    ranked = rank_rows(-rows, inside)
    limit = marks.sum(axis=1) if k is None else np.minimum(k, inside.sum(axis=1))
    found = np.where(marks, ranked.in_top(limit[:, None]), 0.0).sum(axis=1) / np.maximum(limit, 1)
    return Measured(np.clip(found, 0.0, 1.0), _reasons(rows, marks, inside))


def mean_rank(scores: Any, marked: Any, mask: Any = None) -> Measured:
    """The mean rank of the marked features among all, 0 the first and 1 the last: 1/2 by chance, lower is better."""
    rows, marks, inside = _prepared(scores, marked, mask)
    ranks = rank_rows(-rows, inside).average - 1
    number, size = marks.sum(axis=1), inside.sum(axis=1)
    value = np.where(marks, ranks, 0.0).sum(axis=1) / np.maximum(number, 1) / np.maximum(size - 1, 1)
    return Measured(value, _reasons(rows, marks, inside))


def _prepared(scores: Any, marked: Any, mask: Any, *, signed: bool = False) -> tuple[Floats, Bools, Bools]:
    rows = as_rows(scores) if signed else np.abs(as_rows(scores))
    inside = as_mask(mask, rows.shape)
    return np.where(inside, rows, 0.0), as_mask(marked, rows.shape) & inside, inside


def _reasons(rows: Floats, marks: Bools, inside: Bools, *, both: bool = True) -> dict[Reason, Bools]:
    number = marks.sum(axis=1)
    found = {Reason.NOT_FINITE: ~np.isfinite(rows).all(axis=1), Reason.NOTHING_MARKED: number == 0}
    if both:
        found[Reason.ALL_MARKED] = number == inside.sum(axis=1)
    return found
