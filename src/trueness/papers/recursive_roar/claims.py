"""The findings of Madsen et al. (2022), section 6 and appendix E, checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trueness.protocols.claim_helpers import FEWEST_SEEDS, claim, decide, mostly, shown
from trueness.protocols.result import Claim, Verdict
from trueness.protocols.roar.curves import Setting, over_seeds
from trueness.stats import holm
from trueness.stats.undefined import Floats

if TYPE_CHECKING:
    import pandas as pd

ONE_SIDED = 0.025
GRADIENTS = ("gradient", "gradient@madsen2022", "input-x-gradient")
INTEGRATED = {
    "integrated-gradients@madsen2022": "Integrated gradients as the authors compute them",
    "integrated-gradients": "Integrated gradients",
}


def claims(settings: Sequence[Setting], sparsity: pd.DataFrame, unit: str) -> Iterator[Claim]:
    """The findings of section 6 and of appendix E; where faithfulness says nothing there is an abstention instead."""
    if unit == "share":
        settings = [setting for setting in settings if not setting.empty()]
        yield from _faithful(settings)
        yield from _depends(settings)
        yield from _integrated(settings)
    yield from _first_steps(settings)
    yield from _sparse(sparsity)


def _faithful(settings: Sequence[Setting]) -> Iterator[Claim]:
    found = [
        (setting.where, (decide(interval, above=0), f"faithfulness {shown(interval)}"))
        for setting in settings
        if "attention" in setting.methods("recursive")
        for interval in [over_seeds(setting.faithfulness("recursive", "attention"))]
    ]
    if found:
        yield claim("Attention is more faithful than random", found, "datasets and models")


def _best(setting: Setting, without: str | None) -> tuple[str, bool]:
    """The most faithful method, and whether it is surely better than each of the others; one may be left out."""
    some = [method for method in setting.methods("recursive") if method != without]
    values = {method: setting.faithfulness("recursive", method) for method in some}
    first = max(values, key=lambda method: float(np.nanmean(values[method])))
    gaps = [over_seeds(values[first] - other) for method, other in values.items() if method != first]
    return first, all(decide(gap, above=0) for gap in gaps)


def _depends(settings: Sequence[Setting]) -> Iterator[Claim]:
    """On the task, and on the model: the best method is not the same everywhere.

    Two variants of integrated gradients would only hide from one another that they are the best: one at a time.
    """
    some = [setting for setting in settings if len(setting.methods("recursive")) > 1]
    both = all(set(INTEGRATED) <= set(setting.methods("recursive")) for setting in some)
    authors, corrected = INTEGRATED
    for without, which in (
        ((corrected, ", integrated gradients as the authors'"), (authors, ", integrated gradients corrected"))
        if both
        else ((None, ""),)
    ):
        yield from _depends_on(some, without, which)


def _depends_on(some: Sequence[Setting], without: str | None, which: str) -> Iterator[Claim]:
    for text, field_, other in (
        ("Which method is most faithful depends on the task", "model", "dataset"),
        ("Which method is most faithful depends on the model", "dataset", "model"),
    ):
        groups: dict[str, list[Setting]] = {}
        for setting in some:
            groups.setdefault(getattr(setting, field_), []).append(setting)
        for name, group in groups.items():
            if len(group) < 2:
                continue
            bests = {getattr(setting, other): _best(setting, without) for setting in group}
            sure = {first for first, certain in bests.values() if certain}
            known = sum(certain for _, certain in bests.values())
            holds = True if len(sure) > 1 else False if known == len(bests) else None
            shown_ = ", ".join(
                f"{place} {first}{'' if certain else ' (not surely)'}" for place, (first, certain) in bests.items()
            )
            verdict: Verdict = "cannot tell" if holds is None else "supported" if holds else "not supported"
            yield Claim(claim=f"{text} ({name}{which})", verdict=verdict, evidence=f"best: {shown_}")


def _integrated(settings: Sequence[Setting]) -> Iterator[Claim]:
    """That integrated gradients are not necessarily the best: as the authors' code has them, and corrected."""
    for integrated, what in INTEGRATED.items():
        gaps = []
        for setting in settings:
            here = setting.methods("recursive")
            if integrated not in here:
                continue
            for method in GRADIENTS:
                if method in here:
                    apart = setting.faithfulness("recursive", method) - setting.faithfulness("recursive", integrated)
                    gaps.append((f"{setting.where}: {method}", over_seeds(apart), _chance(apart)))
        if not gaps:
            continue
        # Many comparisons: each chance to be ahead by luck counts (Holm).
        sure = holm([p for _, _, p in gaps]) < ONE_SIDED
        better = [(where, gap) for (where, gap, _), certain in zip(gaps, sure, strict=True) if certain]
        surely_not = all(decide(gap, above=0) is False for _, gap, _ in gaps)
        verdict: Verdict = "supported" if better else "not supported" if surely_not else "cannot tell"
        listed = "; ".join(f"{where} {shown(gap)}" for where, gap in better or [pair[:2] for pair in gaps])
        yield Claim(
            claim=f"{what} are not always more faithful than gradients or input times gradient",
            verdict=verdict,
            evidence=f"{len(better)} of {len(gaps)} comparisons have the simpler one ahead (Holm). {listed}",
        )
    changes = []
    for setting in settings:
        here = setting.methods("recursive")
        if set(INTEGRATED) <= set(here):
            authors, corrected = (setting.faithfulness("recursive", method) for method in INTEGRATED)
            gap = over_seeds(corrected - authors)
            changes.append((setting.where, (decide(gap, above=0), f"{shown(gap)}")))
    if changes:
        yield claim(
            "Corrected integrated gradients are more faithful than the authors'", changes, "datasets and models"
        )


def _chance(values: Floats) -> float:
    """The chance of a mean so far above 0 if it were 0: Student's, one-sided; 1 with fewer than three seeds."""
    from scipy.stats import ttest_1samp

    known = values[np.isfinite(values)]
    if len(known) < FEWEST_SEEDS:
        return 1.0
    if np.ptp(known) == 0:
        return 0.0 if known[0] > 0 else 1.0
    return float(ttest_1samp(known, 0.0, alternative="greater").pvalue)


def _first_steps(settings: Sequence[Setting]) -> Iterator[Claim]:
    """That the largest drop comes within the first fifth."""
    found = []
    for setting in settings:
        # The fall to where everything is hidden is the same for all methods: no ranking has a part in it.
        last = len(setting.amounts) - (setting.unit == "share")
        early = int((setting.amounts <= 0.2 + 1e-9).sum()) - 1
        if early < 1 or early >= last - 1:
            continue
        for method in setting.methods("recursive"):
            # Per share of the text: steps may be of different width.
            drops = -np.diff(setting.curves["recursive", method][:, :last], axis=1) / np.diff(setting.amounts[:last])
            # The steepest steps of the mean curve: seed by seed, the largest of many noisy steps would win.
            means = drops.mean(axis=0)
            first, later = drops[:, means[:early].argmax()], drops[:, early + means[early:].argmax()]
            gap = over_seeds(first - later)
            found.append((f"{setting.where}, {method}", (decide(gap, above=0), f"{shown(gap)}")))
    if found:
        text = "Most curves fall fastest while the first 20 % are hidden (fastest fall there less the fastest later)"
        yield mostly(text, found, "curves")


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
    if found:
        yield mostly("Attention is mostly the sparsest explanation", found, "datasets and models")
