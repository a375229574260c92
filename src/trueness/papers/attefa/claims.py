"""The conclusions of AtteFa (2022), under its own score and under AtteFa*, and of Wiegreffe and Pinter's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from trueness.protocols.attefa.cell import BASE, MAIN, PUBLISHED, RETRAINED, TWIN, TWIN_GUIDE, UNIFORM, TwinCell
from trueness.protocols.claim_helpers import GAIN, Finding, claim, decide, gains, shown
from trueness.protocols.result import Claim
from trueness.stats import Undefined, kendall, t_interval, within

CONTEXT, ALONE = "bilstm-additive", "average-additive"
WORDS = "@attefa2022", "@vader"
"""The lexicons of mock datasets: the paper's, else the packaged one."""
COUNTED = tuple(f"mock-{number}" for number in range(1, 11))
SHARED = tuple(f"mock-{quarters}q" for quarters in range(1, 5))
"""Mock datasets by how many tokens inform: numbers, then quarters of the length."""

Cells = Mapping[tuple[str, str], TwinCell]


@dataclass(frozen=True)
class Measure:
    """A score of base models."""

    name: str
    of: Callable[[TwinCell], pd.Series]
    asks_twins: bool
    """Whether each score is what a twin of weight 1 shows, so that one that gave up the task shows nothing."""

    def silent(self, cell: TwinCell) -> str:
        """Why the scores of a cell say nothing, if they do."""
        fallen, twins = cell.gave_up(PUBLISHED) if self.asks_twins else (0, 0)
        return f"{fallen} of {twins} twins of {cell.model} gave up the task" if fallen else ""


MEASURES = (
    Measure("AtteFa", lambda cell: cell.attefa(PUBLISHED), asks_twins=True),
    Measure("AtteFa*", TwinCell.star, asks_twins=False),
)


def claims(cells: Sequence[TwinCell]) -> Iterator[Claim]:
    """One claim per conclusion and score, with its evidence place by place."""
    for measure in MEASURES:
        yield from claims_by(measure, cells)
    of_cells: dict[str, Callable[[TwinCell], Finding | None]] = {
        "the twins behind AtteFa still classify (none predicts one class for nearly all texts)": _alive,
        f"attention is needed: it gains more than {GAIN} F1 over uniform weights": lambda cell: gains(
            cell.gain(), " F1"
        ),
        "twins attend farther away than the same model trained from other seeds": _beyond_seeds,
        "the base model's attention guides an encoder without context better than uniform weights": _guide(UNIFORM),
        "the base model's attention guides an encoder without context better than a twin's": _guide(TWIN_GUIDE),
    }
    for text, find in of_cells.items():
        yield from claim(text, ((cell.where, find(cell)) for cell in cells), "places")


def claims_by(measure: Measure, cells: Sequence[TwinCell]) -> Iterator[Claim]:
    """The paper's three conclusions under one score."""
    by = {(cell.dataset, cell.model): cell for cell in cells}
    datasets, models = (list(dict.fromkeys(key[place] for key in by)) for place in (0, 1))
    name = measure.name
    text = f"contextual encoders are less faithful: {name} of a BiLSTM lies below an average's"
    yield from claim(text, ((dataset, _context(measure, by, dataset)) for dataset in datasets))
    text = f"the more tokens inform, the less faithful: {name} falls with their number (mock datasets)"
    yield from claim(text, ((model, _informative(measure, by, model)) for model in models), "models")
    text = f"on real data attention over an average is less faithful than on mock-1 to mock-10 ({name} lies below)"
    yield from claim(text, ((dataset, _real(measure, by, dataset)) for dataset in datasets))


def _apart(differences: pd.Series, unit: str = "", **limit: float) -> Finding | None:
    """Whether differences, one per seed or base model, lie above or below a limit."""
    known = differences.dropna().to_numpy()
    interval = t_interval(known)
    return (decide(interval, **limit), f"by {shown(interval)}{unit}") if len(known) else None


def _context(measure: Measure, by: Cells, dataset: str) -> Finding | None:
    if not {(dataset, CONTEXT), (dataset, ALONE)} <= by.keys():
        return None
    both = by[dataset, ALONE], by[dataset, CONTEXT]
    if silent := ", ".join(filter(None, map(measure.silent, both))):
        return None, silent
    return _apart(measure.of(both[0]) - measure.of(both[1]), above=0.0)


def _informative(measure: Measure, by: Cells, model: str) -> Finding | None:
    """Per seed: tau between the number of informative tokens and the score."""
    every = _of_one_lexicon((*COUNTED, *SHARED), by, model)
    order = [dataset for dataset in every if not measure.silent(by[dataset, model])]
    if len(every) >= 3 and len(order) < 3:
        return None, f"twins gave up the task on {len(every) - len(order)} of {len(every)} datasets"
    table = pd.DataFrame({dataset: measure.of(by[dataset, model]) for dataset in order}).dropna()
    if len(order) < 3 or not len(table):
        return None
    tau = kendall(table.to_numpy(), np.broadcast_to(np.arange(len(order), dtype=float), table.shape)).statistic
    interval = t_interval([float(tau[row]) for row in range(len(table)) if not isinstance(tau[row], Undefined)])
    left = f", {len(every) - len(order)} more left out: twins gave up the task" if len(order) < len(every) else ""
    return decide(interval, below=0.0), f"tau {shown(within(interval, -1, 1))} over {len(order)} datasets{left}"


def _of_one_lexicon(kinds: Sequence[str], by: Cells, model: str) -> list[str]:
    """The mock datasets at hand of the first lexicon that there are any of, in the order of the kinds."""
    found = ([f"{kind}{words}" for kind in kinds if (f"{kind}{words}", model) in by] for words in WORDS)
    return next((datasets for datasets in found if datasets), [])


def _real(measure: Measure, by: Cells, dataset: str) -> Finding | None:
    mocks = [by[mock, ALONE] for mock in _of_one_lexicon(COUNTED, by, ALONE)]
    mocks = [cell for cell in mocks if len(measure.of(cell))]
    if (dataset, ALONE) not in by or dataset.startswith("mock-") or not mocks:
        return None
    here = by[dataset, ALONE]
    silent = [cell for cell in mocks if measure.silent(cell)]
    if why := measure.silent(here):
        return None, why
    if silent:
        return None, f"twins gave up the task on {len(silent)} of {len(mocks)} mock datasets"
    return _apart(measure.of(here) - sum(map(measure.of, mocks)) / len(mocks), below=0.0)


def _alive(cell: TwinCell) -> Finding | None:
    """The score supposes that a twin still classifies."""
    runs = cell.of(PUBLISHED, MAIN)
    fallen = len(cell.collapsed(runs))
    return (fallen == 0, f"{fallen} of {len(runs)} collapsed") if len(runs) else None


def _beyond_seeds(cell: TwinCell) -> Finding | None:
    """Twins of weight 1, or of the largest weight that still asks for the same predictions."""
    weights = [weight for weight in cell.of(TWIN)["weight"].unique() if np.isfinite(weight)]
    seeds = cell.of(RETRAINED)
    if not weights or not len(seeds):
        return None
    twins = cell.of(TWIN, MAIN if MAIN in weights else max(weights))
    farthest = seeds.groupby("base", sort=False)["divergence"].max()
    interval = t_interval((cell.mean(twins, "divergence") - farthest).dropna().to_numpy())
    return decide(interval, above=0.0), f"{shown(interval)} beyond the farthest of the other seeds"


def _guide(against: str) -> Callable[[TwinCell], Finding | None]:
    return lambda cell: _apart(cell.metric(BASE) - cell.metric(against), " F1", above=0.0)
