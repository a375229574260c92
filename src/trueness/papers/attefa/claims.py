"""The conclusions of AtteFa (2022), under its own score and under AtteFa*, and of Wiegreffe and Pinter's tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trueness.protocols.attefa.cell import MAIN, PUBLISHED, RETRAINED, TWIN, TwinCell
from trueness.protocols.attefa.guided_training import BASE, UNIFORM
from trueness.protocols.attefa.guided_training import TWIN as TWIN_GUIDE
from trueness.protocols.claim_helpers import GAIN, Finding, claim, decide, shown
from trueness.protocols.result import Claim
from trueness.stats import Undefined, kendall, t_interval, within

if TYPE_CHECKING:
    import pandas as pd

CONTEXT, ALONE = "bilstm-additive", "average-additive"
COUNTED = tuple(f"mock-{number}" for number in range(1, 11))
SHARED = tuple(f"mock-{quarters}q" for quarters in range(1, 5))
"""Mock datasets by how many tokens inform: numbers, then quarters of the length."""

Cells = Mapping[tuple[str, str], TwinCell]
Scores = Callable[[TwinCell], "pd.Series"]


def claims(cells: Sequence[TwinCell]) -> tuple[Claim, ...]:
    """One claim per conclusion and score, with its evidence place by place."""
    by = {(cell.dataset, cell.model): cell for cell in cells}
    found: list[Claim | None] = []
    measures: dict[str, Scores] = {
        "AtteFa": lambda cell: cell.attefa(PUBLISHED),
        "AtteFa*": TwinCell.star,
    }
    for name, scores in measures.items():
        found += [_context(name, scores, by), _informative(name, scores, by), _real(name, scores, by)]
    found += [_alive(by), _needed(by), _beyond_seeds(by)]
    found += [
        _guide("the base model's attention guides an encoder without context better than uniform weights", UNIFORM, by),
        _guide("the base model's attention guides an encoder without context better than a twin's", TWIN_GUIDE, by),
    ]
    return tuple(item for item in found if item is not None)


def _claim(text: str, found: Sequence[tuple[str, Finding]], places: str = "datasets") -> Claim | None:
    return claim(text, found, places) if found else None


def _context(name: str, scores: Scores, by: Cells) -> Claim | None:
    found: list[tuple[str, Finding]] = []
    for dataset in dict.fromkeys(dataset for dataset, _ in by):
        if (dataset, CONTEXT) in by and (dataset, ALONE) in by:
            apart = (scores(by[dataset, ALONE]) - scores(by[dataset, CONTEXT])).dropna()
            if len(apart):
                interval = t_interval(apart.to_numpy())
                found.append((dataset, (decide(interval, above=0.0), f"by {shown(interval)}")))
    return _claim(f"contextual encoders are less faithful: {name} of a BiLSTM lies below an average's", found)


def _informative(name: str, scores: Scores, by: Cells) -> Claim | None:
    """Per model and seed: tau between the number of informative tokens and the score."""
    import pandas as pd

    found: list[tuple[str, Finding]] = []
    for model in dict.fromkeys(model for _, model in by):
        order = [dataset for dataset in (*COUNTED, *SHARED) if (dataset, model) in by]
        table = pd.DataFrame({dataset: scores(by[dataset, model]) for dataset in order}).dropna()
        if len(order) < 3 or not len(table):
            continue
        tau = kendall(table.to_numpy(), np.broadcast_to(np.arange(len(order), dtype=float), table.shape)).statistic
        defined = [float(tau[row]) for row in range(len(table)) if not isinstance(tau[row], Undefined)]
        interval = t_interval(defined)
        numbers = f"tau {shown(within(interval, -1, 1))} over {len(order)} datasets"
        found.append((model, (decide(interval, below=0.0), numbers)))
    text = f"the more tokens inform, the less faithful: {name} falls with their number (mock datasets)"
    return _claim(text, found, "models")


def _real(name: str, scores: Scores, by: Cells) -> Claim | None:
    counted = [scores(by[dataset, ALONE]) for dataset in COUNTED if (dataset, ALONE) in by]
    counted = [values for values in counted if len(values)]
    found: list[tuple[str, Finding]] = []
    for dataset, model in by:
        if model == ALONE and not dataset.startswith("mock-") and counted:
            apart = (scores(by[dataset, model]) - sum(counted) / len(counted)).dropna()
            if len(apart):
                interval = t_interval(apart.to_numpy())
                found.append((dataset, (decide(interval, below=0.0), f"by {shown(interval)}")))
    text = f"on real data attention over an average is less faithful than on mock-1 to mock-10 ({name} lies below)"
    return _claim(text, found)


def _alive(by: Cells) -> Claim | None:
    """The score supposes that a twin still classifies."""
    found: list[tuple[str, Finding]] = []
    for cell in by.values():
        runs = cell.of(PUBLISHED, MAIN)
        if len(runs):
            fallen = len(cell.collapsed(runs))
            found.append((cell.where, (fallen == 0, f"{fallen} of {len(runs)} collapsed")))
    text = "the twins behind AtteFa still classify (none predicts one class for nearly all texts)"
    return _claim(text, found, "places")


def _needed(by: Cells) -> Claim | None:
    found: list[tuple[str, Finding]] = []
    for cell in by.values():
        gain = cell.gain()
        if not isinstance(gain.value, Undefined):
            found.append((cell.where, (decide(gain, above=GAIN), f"gains {shown(gain)} F1")))
    return _claim(f"attention is needed: it gains more than {GAIN} F1 over uniform weights", found, "places")


def _beyond_seeds(by: Cells) -> Claim | None:
    """Twins of weight 1, or of the largest weight that still asks for the same predictions."""
    found: list[tuple[str, Finding]] = []
    for cell in by.values():
        weights = [weight for weight in cell.of(TWIN)["weight"].unique() if np.isfinite(weight)]
        seeds = cell.of(RETRAINED)
        if weights and len(seeds):
            twins = cell.of(TWIN, MAIN if MAIN in weights else max(weights))
            interval = t_interval(twins["divergence"].to_numpy() - float(seeds["divergence"].max()))
            numbers = f"{shown(interval)} beyond the farthest of {len(seeds)} seeds"
            found.append((cell.where, (decide(interval, above=0.0), numbers)))
    return _claim("twins attend farther away than the same model trained from other seeds", found, "places")


def _guide(text: str, against: str, by: Cells) -> Claim | None:
    found: list[tuple[str, Finding]] = []
    for cell in by.values():
        apart = (cell.metric(BASE) - cell.metric(against)).dropna()
        if len(apart):
            interval = t_interval(apart.to_numpy())
            found.append((cell.where, (decide(interval, above=0.0), f"by {shown(interval)} F1")))
    return _claim(text, found, "places")
