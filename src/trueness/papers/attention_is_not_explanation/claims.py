"""The conclusions of Jain and Wallace 2019, checked on every dataset, and what the exact solution adds to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from trueness.kinds.text.attention.cell import AttentionCell
from trueness.protocols.claim_helpers import GAIN, Finding, claim, decide, gains, shown, together
from trueness.protocols.result import Claim
from trueness.stats import Interval, within

WEAK = 0.5
COMPARABLE = 0.1
PEAKED = 0.5
SMALL_CHANGE = 0.05
NEAR_LN2 = 0.6
MISSED = 0.01
_GRADIENT, _LOO = "attention, gradient@jw2019", "attention, leave-one-out@jw2019"
_REFERENCE = "gradient@jw2019, leave-one-out@jw2019"
_TOLERANCE = 1e-6
Find = Callable[[str], Finding | None]
"""What is found on a dataset; None where it cannot be asked there."""


def claims(cells: Sequence[AttentionCell]) -> Iterator[Claim]:
    """One claim per conclusion, with its evidence dataset by dataset."""
    by = {(cell.dataset, cell.model): cell for cell in cells}
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))

    def of(check: Callable[..., Finding | None], *models: str) -> Find:
        def find(dataset: str) -> Finding | None:
            here = [by[dataset, model] for model in models if (dataset, model) in by]
            return check(*here) if len(here) == len(models) else None

        return find

    lstm, average = "bilstm-additive", "average-additive"
    found: dict[str, Find] = {
        f"BiLSTM attention correlates weakly with gradients (mean tau below {WEAK})": of(
            partial(_weak, _GRADIENT), lstm
        ),
        f"BiLSTM attention correlates weakly with leave-one-out (mean tau below {WEAK})": of(
            partial(_weak, _LOO), lstm
        ),
        "attention over a plain average of projections correlates more with gradients than a BiLSTM's": of(
            _more, average, lstm
        ),
        "gradients and leave-one-out agree more with one another than attention agrees with either": of(
            _references_agree_more, lstm
        ),
        (
            f"permuting changes little despite peaked attention: of the instances with a weight above {PEAKED} "
            f"at least a quarter change by less than {SMALL_CHANGE}"
        ): of(_little_change, lstm),
        (
            f"very different attention gives the same output: the authors' search (counted up to a change of 0.05) "
            f"finds a divergence above {NEAR_LN2} (ln 2 is 0.693) in at least half of the instances"
        ): of(lambda cell: _near(cell, "search@jw2019"), lstm),
        f"solved exactly, a divergence above {NEAR_LN2} is possible in at least half of the instances": of(
            lambda cell: _near(cell, cell.adversary) if cell.exact else None, lstm
        ),
        ("the exact solution is never below the published search (as its text says and as its code does it)"): partial(
            _never_below, cells
        ),
        f"the published search finds all there is (the exact solution exceeds it by less than {MISSED} on average)": of(
            _search_suffices, lstm
        ),
        "adversarial attention diverges more than attention between seeds, in most instances": of(_beyond_seeds, lstm),
        (
            f"scaled dot-product attention gives comparable results (mean tau with gradients differs by less than "
            f"{COMPARABLE})"
        ): of(_comparable, "bilstm-dot", lstm),
        f"attention improves performance (over uniform weights, by more than {GAIN})": of(
            lambda cell: gains(cell.gain()), lstm
        ),
    }
    for text, find in found.items():
        yield from claim(text, ((dataset, find(dataset)) for dataset in datasets))


def _tau(cell: AttentionCell, pair: str) -> pd.Series:
    return cell.records[f"tau: {pair}"]


def _weak(pair: str, cell: AttentionCell) -> Finding:
    interval = cell.interval(_tau(cell, pair))
    return decide(interval, below=WEAK), shown(interval)


def _apart(first: AttentionCell, second: AttentionCell) -> Interval:
    """Difference of tau with gradients between two models on the same seeds and instances."""
    keys = ["seed", "instance"]
    taus = [cell.records.set_index(keys)[f"tau: {_GRADIENT}"] for cell in (first, second)]
    return first.crossed((taus[0] - taus[1]).rename("value").reset_index())


def _more(first: AttentionCell, second: AttentionCell) -> Finding:
    interval = _apart(first, second)
    return decide(interval, above=0.0), f"by {shown(interval)}"


def _references_agree_more(cell: AttentionCell) -> Finding:
    reference = _tau(cell, _REFERENCE)
    over = [cell.interval(reference - _tau(cell, pair)) for pair in (_GRADIENT, _LOO)]
    holds = together([decide(interval, above=0.0) for interval in over])
    return holds, f"by {shown(over[0])} than with gradients, {shown(over[1])} than with leave-one-out"


def _little_change(cell: AttentionCell) -> Finding:
    peaked = cell.records["max_attention"] > PEAKED
    if not peaked.any():
        return None, "no instance has so peaked attention"
    small = (cell.records["permutation"] < SMALL_CHANGE).astype(float).where(peaked)
    interval = within(cell.interval(small), 0.0, 1.0)
    return decide(interval, above=0.25), f"{shown(interval)} of the {peaked.mean():.0%} so peaked"


def _near(cell: AttentionCell, column: str) -> Finding | None:
    if column not in cell.records or cell.records[column].isna().all():
        return None
    interval = within(cell.interval((cell.records[column] > NEAR_LN2).astype(float)), 0.0, 1.0)
    return decide(interval, above=0.5), f"in a share of {shown(interval)}"


def _never_below(cells: Sequence[AttentionCell], dataset: str) -> Finding | None:
    """Every instance of every model; the as-published search is compared at the threshold it is counted by."""
    below, total, least = 0, 0, np.inf
    for cell in cells:
        if cell.dataset != dataset or not cell.exact or "search" not in cell.records:
            continue
        for column, limit in _searched(cell):
            room = (cell.records[limit] - cell.records[column]).dropna()
            below, total = below + int((room < -_TOLERANCE).sum()), total + len(room)
            least = min(least, float(room.min()))
    return (below == 0, f"{below} of {total} comparisons below, least room {least:.1e}") if total else None


def _searched(cell: AttentionCell) -> tuple[tuple[str, str], ...]:
    """Both searches, each with the exact solution at the change up to which it is counted."""
    return ("search", cell.adversary), ("search@jw2019", "adversary 0.05")


def _search_suffices(cell: AttentionCell) -> Finding | None:
    if not cell.exact or "search" not in cell.records:
        return None
    over = [cell.interval(cell.records[limit] - cell.records[column]) for column, limit in _searched(cell)]
    holds = together([decide(interval, below=MISSED) for interval in over])
    return holds, f"exceeds the paper's by {shown(over[0])}, the authors' code by {shown(over[1])}"


def _beyond_seeds(cell: AttentionCell) -> Finding | None:
    if "largest divergence between seeds" not in cell.spread:
        return None
    share = within(cell.beyond_seeds(), 0.0, 1.0)
    return decide(share, above=0.5), f"in a share of {shown(share)}"


def _comparable(first: AttentionCell, second: AttentionCell) -> Finding:
    for cell in (first, second):
        if not cell.has_formed:
            return (
                None,
                f"attention of {cell.model} has not formed (largest weight times length {cell.formed.mean():.1f})",
            )
    interval = _apart(first, second)
    inside = [decide(interval, above=-COMPARABLE), decide(interval, below=COMPARABLE)]
    return together(inside), f"differs by {shown(interval)}"
