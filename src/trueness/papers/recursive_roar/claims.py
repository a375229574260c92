"""The findings of Madsen et al. (2022), section 6 and appendix E, checked."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from trueness.protocols.claim_helpers import FEWEST_SEEDS, ONE_SIDED, claim, decide, evidence, mostly, shown, verdict
from trueness.protocols.result import Claim
from trueness.protocols.roar.curves import RemovalCell, over_seeds
from trueness.stats import holm
from trueness.stats.undefined import Floats

GRADIENTS = ("gradient", "gradient@madsen2022", "input-x-gradient")
INTEGRATED = {
    "integrated-gradients@madsen2022": "Integrated gradients as the authors compute them",
    "integrated-gradients": "Integrated gradients",
}


def claims(cells: Sequence[RemovalCell], sparsity: pd.DataFrame, unit: str) -> Iterator[Claim]:
    """The findings of section 6 and of appendix E; where faithfulness says nothing there is an abstention instead."""
    if unit == "share":
        cells = [cell for cell in cells if not cell.empty()]
        yield from _faithful(cells)
        yield from _depends(cells)
        yield from _integrated(cells)
    yield from _first_steps(cells)
    yield from _sparse(sparsity)


def _faithful(cells: Sequence[RemovalCell]) -> Iterator[Claim]:
    found = [
        (cell.where, (decide(interval, above=0), f"faithfulness {shown(interval)}"))
        for cell in cells
        if "attention" in cell.methods("recursive")
        for interval in [over_seeds(cell.faithfulness("recursive", "attention"))]
    ]
    yield from claim("Attention is more faithful than random", found, "datasets and models")


def _best(cell: RemovalCell, without: str | None) -> tuple[str, bool]:
    """The most faithful method, and whether it is surely better than each of the others; one may be left out."""
    some = [method for method in cell.methods("recursive") if method != without]
    values = {method: cell.faithfulness("recursive", method) for method in some}
    first = max(values, key=lambda method: float(np.nanmean(values[method])))
    gaps = [over_seeds(values[first] - other) for method, other in values.items() if method != first]
    return first, all(decide(gap, above=0) for gap in gaps)


def _depends(cells: Sequence[RemovalCell]) -> Iterator[Claim]:
    """On the task, and on the model: the best method is not the same everywhere.

    Two variants of integrated gradients would only hide from one another that they are the best: one at a time.
    """
    some = [cell for cell in cells if len(cell.methods("recursive")) > 1]
    authors, corrected = INTEGRATED
    left_out: dict[str | None, str] = {None: ""}
    if all(set(INTEGRATED) <= set(cell.methods("recursive")) for cell in some):
        left_out = {corrected: ", integrated gradients as the authors'", authors: ", integrated gradients corrected"}
    on = (("task", "model", "dataset"), ("model", "dataset", "model"))
    for (without, which), (what, same, other) in itertools.product(left_out.items(), on):
        groups: dict[str, list[RemovalCell]] = {}
        for cell in some:
            groups.setdefault(getattr(cell, same), []).append(cell)
        for name, group in groups.items():
            if len(group) < 2:
                continue
            bests = {getattr(cell, other): _best(cell, without) for cell in group}
            sure = {first for first, certain in bests.values() if certain}
            known = sum(certain for _, certain in bests.values())
            holds = True if len(sure) > 1 else False if known == len(bests) else None
            told = (f"{place} {first}{'' if certain else ' (not surely)'}" for place, (first, certain) in bests.items())
            text = f"Which method is most faithful depends on the {what} ({name}{which})"
            yield Claim(claim=text, verdict=verdict(holds), evidence=evidence("best:", list(told)))


def _integrated(cells: Sequence[RemovalCell]) -> Iterator[Claim]:
    """That integrated gradients are not necessarily the best: as the authors' code has them, and corrected."""
    for integrated, what in INTEGRATED.items():
        gaps = []
        for cell in cells:
            here = cell.methods("recursive")
            if integrated not in here:
                continue
            for method in GRADIENTS:
                if method in here:
                    apart = cell.faithfulness("recursive", method) - cell.faithfulness("recursive", integrated)
                    gaps.append((f"{cell.where}: {method}", over_seeds(apart), _chance(apart)))
        if not gaps:
            continue
        # Many comparisons: each chance to be ahead by luck counts (Holm).
        sure = holm([p for _, _, p in gaps]) < ONE_SIDED
        better = [(where, gap) for (where, gap, _), certain in zip(gaps, sure, strict=True) if certain]
        surely_not = all(decide(gap, above=0).holds is False for _, gap, _ in gaps)
        holds = True if better else False if surely_not else None
        listed = [f"{where} {shown(gap)}" for where, gap in better or [pair[:2] for pair in gaps]]
        yield Claim(
            claim=f"{what} are not always more faithful than gradients or input times gradient",
            verdict=verdict(holds),
            evidence=evidence(f"{len(better)} of {len(gaps)} comparisons have the simpler one ahead (Holm).", listed),
        )
    changes = []
    for cell in cells:
        here = cell.methods("recursive")
        if set(INTEGRATED) <= set(here):
            authors, corrected = (cell.faithfulness("recursive", method) for method in INTEGRATED)
            gap = over_seeds(corrected - authors)
            changes.append((cell.where, (decide(gap, above=0), f"{shown(gap)}")))
    text = "Corrected integrated gradients are more faithful than the authors'"
    yield from claim(text, changes, "datasets and models")


def _chance(values: Floats) -> float:
    """The chance of a mean so far above 0 if it were 0: Student's, one-sided; 1 with fewer than three seeds."""
    known = values[np.isfinite(values)]
    if len(known) < FEWEST_SEEDS:
        return 1.0
    if np.ptp(known) == 0:
        return 0.0 if known[0] > 0 else 1.0
    return float(ttest_1samp(known, 0.0, alternative="greater").pvalue)


def _first_steps(cells: Sequence[RemovalCell]) -> Iterator[Claim]:
    """That the largest drop comes within the first fifth."""
    found = []
    for cell in cells:
        # The fall to where everything is hidden is the same for all methods: no ranking has a part in it.
        last = len(cell.amounts) - (cell.unit == "share")
        early = int((cell.amounts <= 0.2 + 1e-9).sum()) - 1
        if early < 1 or early >= last - 1:
            continue
        for method in cell.methods("recursive"):
            # Per share of the text: steps may be of different width.
            drops = -np.diff(cell.curves["recursive", method][:, :last], axis=1) / np.diff(cell.amounts[:last])
            # The steepest steps of the mean curve: seed by seed, the largest of many noisy steps would win.
            means = drops.mean(axis=0)
            first, later = drops[:, means[:early].argmax()], drops[:, early + means[early:].argmax()]
            gap = over_seeds(first - later)
            found.append((f"{cell.where}, {method}", (decide(gap, above=0), f"{shown(gap)}")))
    text = "Most curves fall fastest while the first 20 % are hidden (fastest fall there less the fastest later)"
    yield from mostly(text, found, "curves")


def _sparse(sparsity: pd.DataFrame) -> Iterator[Claim]:
    """That attention is the sparsest explanation: its top ten tokens hold most."""
    found = []
    for (dataset, model), some in sparsity.groupby(["dataset", "model"], sort=False) if len(sparsity) else []:
        ten = some[(some["unit"] == "tokens") & (some["amount"] == 10)].set_index("method")
        others = [method for method in ten.index if method != "attention" and not method.startswith(("random", "blur"))]
        if "attention" not in ten.index or not others:
            continue
        densest = max(others, key=lambda method: float(str(ten["mean"][method])))
        mine, theirs = ten.loc["attention"], ten.loc[densest]
        holds: bool | None = None
        if mine["n"] >= FEWEST_SEEDS and not any(row[end] is None for row in (mine, theirs) for end in ("low", "high")):
            holds = True if mine["low"] > theirs["high"] else False if mine["high"] < theirs["low"] else None
        numbers = f"top ten tokens hold {mine['mean']:.0%}, of {densest} {theirs['mean']:.0%}"
        found.append((f"{dataset}, {model}", (holds, numbers)))
    yield from mostly("Attention is mostly the sparsest explanation", found, "datasets and models")
