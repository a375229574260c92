"""The conclusions of Jain and Wallace 2019, checked on every dataset, and what the exact solution adds to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trueness.protocols.attention.cell import Cell, crossed
from trueness.protocols.claim_helpers import GAIN, Finding, claim, decide, shown
from trueness.protocols.result import Claim
from trueness.stats import Interval, Undefined, within

if TYPE_CHECKING:
    import pandas as pd

WEAK = 0.5
COMPARABLE = 0.1
PEAKED = 0.5
SMALL_CHANGE = 0.05
NEAR_LN2 = 0.6
MISSED = 0.01
_GRADIENT, _LOO = "attention, gradient@jw2019", "attention, leave-one-out@jw2019"
_REFERENCE = "gradient@jw2019, leave-one-out@jw2019"
_TOLERANCE = 1e-6


def claims(cells: Sequence[Cell]) -> tuple[Claim, ...]:
    """One claim per conclusion, with its evidence dataset by dataset."""
    by = {(cell.dataset, cell.model): cell for cell in cells}
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))

    def each(text: str, find: Callable[[str], Finding | None]) -> Claim | None:
        found = [(dataset, finding) for dataset in datasets if (finding := find(dataset)) is not None]
        return claim(text, found) if found else None

    def of(model: str, check: Callable[[Cell], Finding | None]) -> Callable[[str], Finding | None]:
        return lambda dataset: check(by[dataset, model]) if (dataset, model) in by else None

    def two(first: str, second: str, check: Callable[[Cell, Cell], Finding]) -> Callable[[str], Finding | None]:
        return lambda dataset: (
            check(by[dataset, first], by[dataset, second])
            if (dataset, first) in by and (dataset, second) in by
            else None
        )

    lstm, average = "bilstm-additive", "average-additive"
    found = [
        each(f"BiLSTM attention correlates weakly with gradients (mean tau below {WEAK})", of(lstm, _weak(_GRADIENT))),
        each(f"BiLSTM attention correlates weakly with leave-one-out (mean tau below {WEAK})", of(lstm, _weak(_LOO))),
        each(
            "attention over a plain average of projections correlates more with gradients than a BiLSTM's",
            two(average, lstm, _more),
        ),
        each(
            "gradients and leave-one-out agree more with one another than attention agrees with either",
            of(lstm, _references_agree_more),
        ),
        each(
            f"permuting changes little despite peaked attention: of the instances with a weight above {PEAKED} "
            f"at least a quarter change by less than {SMALL_CHANGE}",
            of(lstm, _little_change),
        ),
        each(
            f"very different attention gives the same output: the authors' search (counted up to a change of 0.05) "
            f"finds a divergence above {NEAR_LN2} (ln 2 is 0.693) in at least half of the instances",
            of(lstm, lambda cell: _near(cell, "search@jw2019")),
        ),
        each(
            f"solved exactly, a divergence above {NEAR_LN2} is possible in at least half of the instances",
            of(lstm, lambda cell: _near(cell, cell.adversary) if cell.exact else None),
        ),
        each(
            "the exact solution is never below the published search (as its text says and as its code does it)",
            _never_below([cell for cell in cells if cell.exact]),
        ),
        each(
            f"the published search finds all there is (the exact solution exceeds it by less than {MISSED} on average)",
            of(lstm, _search_suffices),
        ),
        each(
            "adversarial attention diverges more than attention between seeds, in most instances",
            of(lstm, _beyond_seeds),
        ),
        each(
            f"scaled dot-product attention gives comparable results (mean tau with gradients differs by less than "
            f"{COMPARABLE})",
            two("bilstm-dot", lstm, _comparable),
        ),
        each(f"attention improves performance (over uniform weights, by more than {GAIN})", of(lstm, _improves)),
    ]
    return tuple(item for item in found if item is not None)


def _tau(cell: Cell, pair: str) -> pd.Series:
    return cell.records[f"tau: {pair}"]


def _weak(pair: str) -> Callable[[Cell], Finding]:
    def check(cell: Cell) -> Finding:
        interval = cell.interval(_tau(cell, pair))
        return decide(interval, below=WEAK), shown(interval)

    return check


def _apart(first: Cell, second: Cell) -> Interval:
    """Difference of tau with gradients between two models on the same seeds and instances."""
    keys = ["seed", "instance"]
    taus = [cell.records.set_index(keys)[f"tau: {_GRADIENT}"] for cell in (first, second)]
    return crossed((taus[0] - taus[1]).dropna().rename("value").reset_index())


def _more(first: Cell, second: Cell) -> Finding:
    interval = _apart(first, second)
    return decide(interval, above=0.0), f"by {shown(interval)}"


def _references_agree_more(cell: Cell) -> Finding:
    reference = _tau(cell, _REFERENCE)
    over = [cell.interval(reference - _tau(cell, pair)) for pair in (_GRADIENT, _LOO)]
    decided = [decide(interval, above=0.0) for interval in over]
    holds = True if all(decided) else False if False in decided else None
    return holds, f"by {shown(over[0])} than with gradients, {shown(over[1])} than with leave-one-out"


def _little_change(cell: Cell) -> Finding:
    peaked = cell.records["max_attention"] > PEAKED
    if not peaked.any():
        return None, "no instance has so peaked attention"
    small = (cell.records["permutation"] < SMALL_CHANGE).astype(float).where(peaked)
    interval = within(cell.interval(small), 0.0, 1.0)
    return decide(interval, above=0.25), f"{shown(interval)} of the {peaked.mean():.0%} so peaked"


def _near(cell: Cell, column: str) -> Finding | None:
    if column not in cell.records or cell.records[column].isna().all():
        return None
    interval = within(cell.interval((cell.records[column] > NEAR_LN2).astype(float)), 0.0, 1.0)
    return decide(interval, above=0.5), f"in a share of {shown(interval)}"


def _never_below(cells: Sequence[Cell]) -> Callable[[str], Finding | None]:
    """Every instance of every model; the as-published search is compared at the threshold it is counted by."""

    def check(dataset: str) -> Finding | None:
        below, total, least = 0, 0, np.inf
        for cell in cells:
            if cell.dataset != dataset or "search" not in cell.records:
                continue
            for column, limit in (("search", cell.adversary), ("search@jw2019", "adversary 0.05")):
                room = (cell.records[limit] - cell.records[column]).dropna()
                below, total = below + int((room < -_TOLERANCE).sum()), total + len(room)
                least = min(least, float(room.min()))
        if not total:
            return None
        return below == 0, f"{below} of {total} comparisons below, least room {least:.1e}"

    return check


def _search_suffices(cell: Cell) -> Finding | None:
    """Both searches, each against the exact solution at the change up to which it is counted."""
    if not cell.exact or "search" not in cell.records:
        return None
    pairs = (("search", cell.adversary), ("search@jw2019", "adversary 0.05"))
    over = [cell.interval(cell.records[limit] - cell.records[column]) for column, limit in pairs]
    decided = [decide(interval, below=MISSED) for interval in over]
    holds = True if all(decided) else False if False in decided else None
    return holds, f"exceeds the paper's by {shown(over[0])}, the authors' code by {shown(over[1])}"


def _beyond_seeds(cell: Cell) -> Finding | None:
    if "largest divergence between seeds" not in cell.spread:
        return None
    share = within(cell.beyond_seeds(), 0.0, 1.0)
    return decide(share, above=0.5), f"in a share of {shown(share)}"


def _comparable(first: Cell, second: Cell) -> Finding:
    interval = _apart(first, second)
    inside = [decide(interval, above=-COMPARABLE), decide(interval, below=COMPARABLE)]
    return (True if all(inside) else False if False in inside else None), f"differs by {shown(interval)}"


def _improves(cell: Cell) -> Finding | None:
    gain = cell.gain()
    if isinstance(gain.value, Undefined):
        return None
    return decide(gain, above=GAIN), f"gains {shown(gain)}"
