"""The conclusions of AtteFa (2022), under its own score and under AtteFa*, and of Wiegreffe and Pinter's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

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
Scores = Callable[[TwinCell], "pd.Series"]


def claims(cells: Sequence[TwinCell]) -> Iterator[Claim]:
    """One claim per conclusion and score, with its evidence place by place."""
    by = {(cell.dataset, cell.model): cell for cell in cells}
    datasets, models = (list(dict.fromkeys(key[place] for key in by)) for place in (0, 1))
    measures: dict[str, Scores] = {"AtteFa": lambda cell: cell.attefa(PUBLISHED), "AtteFa*": TwinCell.star}
    for name, scores in measures.items():
        text = f"contextual encoders are less faithful: {name} of a BiLSTM lies below an average's"
        yield from claim(text, ((dataset, _context(scores, by, dataset)) for dataset in datasets))
        text = f"the more tokens inform, the less faithful: {name} falls with their number (mock datasets)"
        yield from claim(text, ((model, _informative(scores, by, model)) for model in models), "models")
        text = f"on real data attention over an average is less faithful than on mock-1 to mock-10 ({name} lies below)"
        yield from claim(text, ((dataset, _real(scores, by, dataset)) for dataset in datasets))
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


def _apart(differences: pd.Series, unit: str = "", **limit: float) -> Finding | None:
    """Whether differences, one per seed or base model, lie above or below a limit."""
    known = differences.dropna().to_numpy()
    interval = t_interval(known)
    return (decide(interval, **limit), f"by {shown(interval)}{unit}") if len(known) else None


def _context(scores: Scores, by: Cells, dataset: str) -> Finding | None:
    if not {(dataset, CONTEXT), (dataset, ALONE)} <= by.keys():
        return None
    return _apart(scores(by[dataset, ALONE]) - scores(by[dataset, CONTEXT]), above=0.0)


def _informative(scores: Scores, by: Cells, model: str) -> Finding | None:
    """Per seed: tau between the number of informative tokens and the score."""
    order = _of_one_lexicon((*COUNTED, *SHARED), by, model)
    table = pd.DataFrame({dataset: scores(by[dataset, model]) for dataset in order}).dropna()
    if len(order) < 3 or not len(table):
        return None
    tau = kendall(table.to_numpy(), np.broadcast_to(np.arange(len(order), dtype=float), table.shape)).statistic
    interval = t_interval([float(tau[row]) for row in range(len(table)) if not isinstance(tau[row], Undefined)])
    return decide(interval, below=0.0), f"tau {shown(within(interval, -1, 1))} over {len(order)} datasets"


def _of_one_lexicon(kinds: Sequence[str], by: Cells, model: str) -> list[str]:
    """The mock datasets at hand of the first lexicon that there are any of, in the order of the kinds."""
    found = ([f"{kind}{words}" for kind in kinds if (f"{kind}{words}", model) in by] for words in WORDS)
    return next((datasets for datasets in found if datasets), [])


def _real(scores: Scores, by: Cells, dataset: str) -> Finding | None:
    counted = [scores(by[mock, ALONE]) for mock in _of_one_lexicon(COUNTED, by, ALONE)]
    counted = [values for values in counted if len(values)]
    if (dataset, ALONE) not in by or dataset.startswith("mock-") or not counted:
        return None
    return _apart(scores(by[dataset, ALONE]) - sum(counted) / len(counted), below=0.0)


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
