"""The conclusions of Zhou et al. 2022 about attention and rationales, checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trueness.protocols.claim_helpers import claim, decide, shown
from trueness.protocols.ground_truth.summary import PlantedCell, pooled, ranking
from trueness.protocols.result import Claim
from trueness.stats import t_interval, within

RELIABLE = 0.9
"""An explainer whose mean AUROC lies above this with every seed's chance finds the evidence reliably."""


def claims(cells: Sequence[PlantedCell]) -> Iterator[Claim]:
    """What the paper concludes of attention and of rationales, and whether anything is reliable."""
    known = [cell for cell in cells if cell.methods]
    attention = [
        (cell.where, (decide(interval, below=0.5), f"attribution share {shown(interval)}"))
        for cell in known
        if "attention" in cell.methods
        for interval in [within(t_interval(cell.by_seed("attention", "attribution share")), 0, 1)]
    ]
    text = "Attention gives the evidence less than half of its weight, though the model needed it"
    yield from claim(text, attention, "plantings and models")
    yield from _of_rationales([cell for cell in known if "rationale" in cell.methods])
    best = []
    for cell in known:
        first = next(iter(ranking(cell)), None)
        if first is None or "rationale" in cell.methods:
            continue
        interval = within(t_interval(cell.by_seed(first["method"], "AUROC")), 0, 1)
        best.append((cell.where, (decide(interval, above=RELIABLE), f"{first['method']}, AUROC {shown(interval)}")))
    text = f"Some explainer finds the evidence reliably (AUROC above {RELIABLE})"
    yield from claim(text, best, "plantings and models")


def _of_rationales(cells: Sequence[PlantedCell]) -> Iterator[Claim]:
    """Section 7: near the best possible where nothing looks like the evidence, misled where decoys do."""
    alone, misled = [], []
    for cell in cells:
        found = pooled(cell.records.assign(**cell.place))
        reached = within(t_interval(found["share of the possible"].dropna()), 0, 1)
        decoys = float(found["decoy size"].mean())
        if decoys == 0:
            alone.append((cell.where, (decide(reached, above=RELIABLE), f"{shown(reached)} of the possible")))
            continue
        chosen = within(t_interval(found["decoys"].dropna()), 0, 1)
        numbers = f"{shown(chosen)} of the selected words are decoys, {decoys:.3f} of all words"
        misled.append((cell.where, (decide(chosen, above=decoys), numbers)))
    text = f"Rationales find more than {RELIABLE:.0%} of the evidence they could, where nothing looks like it"
    yield from claim(text, alone, "plantings and models")
    text = "Rationales select decoys that tell nothing, more often than chance would"
    yield from claim(text, misled, "plantings and models")
