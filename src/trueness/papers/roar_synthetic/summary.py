"""What removal curves on the synthetic problem say: scores, bands, warnings, and the paper's conclusions, checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from trueness.protocols.claim_helpers import ends, verdict
from trueness.protocols.result import Abstention, Claim, Result, ResultWarning, Score, Variant
from trueness.protocols.roar.curves import SMALL_DENOMINATOR
from trueness.protocols.scoring import Cell, Quantity, columns, of_each
from trueness.stats import Interval, Undefined, area_between_curves, t_interval
from trueness.stats.undefined import Bools, Floats

CHANCE = 0.5
FEWEST_DRAWS = 5
_ROUNDING = 1e-9  # shares of test examples exactly one margin apart must count as equal
_TARGET = "the model as a whole (its coefficients)"
# What is best is not known: a fall to the floor at the first step is ruled out by redundant features.
FAITHFULNESS = Quantity("faithfulness", "higher is better", 0.0)
EQUAL = Quantity("share of draws equal to the ground-truth order", "higher is better", best=1.0)
ABOVE = Quantity("share of draws above the ground-truth order", "lower is better", best=0.0)


def summarise(records: pd.DataFrame, *, informative: int, margin: float) -> Result:
    """The result of the study, from one record per dataset, model, method, seed and step.

    Columns: dataset, model, method, seed, step, ratio, removed (indices, separated by spaces) and accuracy.
    Two accuracies of one draw count as equal when they differ by at most `margin`.
    """
    cells = [
        SyntheticCell.of(Cell(str(dataset), str(model), target=_TARGET), group, informative, margin)
        for (dataset, model), group in records.groupby(["dataset", "model"], sort=False)
    ]
    return Result(
        records=records,
        scores=of_each(cells, SyntheticCell.scores),
        warnings=of_each(cells, SyntheticCell.warnings),
        abstentions=of_each(cells, SyntheticCell.abstentions),
        claims=of_each(cells, SyntheticCell.claims),
        tables={"curves": pd.DataFrame(of_each(cells, SyntheticCell.bands))},
    )


@dataclass(frozen=True)
class SyntheticCell(Cell):
    """All curves of one dataset and one model."""

    margin: float
    ratios: Floats
    accuracy: Mapping[str, Floats]
    """By method: (draws, steps)."""
    draws: int
    repeats: int
    """Steps that remove no more than the one before."""
    critical: int | None
    """The step at which as many features are gone as are informative."""

    @classmethod
    def of(cls, cell: Cell, records: pd.DataFrame, informative: int, margin: float) -> SyntheticCell:
        """From the records of a cell."""
        removed = [len(columns.split()) for columns in records.groupby("step")["removed"].first()]
        at = np.flatnonzero(np.array(removed) == informative)
        return cls(
            **vars(cell),
            margin=margin,
            ratios=np.sort(records["ratio"].unique()),
            accuracy={
                str(method): group.pivot(index="seed", columns="step", values="accuracy").to_numpy()
                for method, group in records.groupby("method", sort=False)
            },
            draws=int(records["seed"].nunique()),
            repeats=len(removed) - len(set(removed)),
            critical=int(at[0]) if len(at) else None,
        )

    @property
    def reading(self) -> str:
        """What the noise is, in words."""
        return "one noise value per example" if "@" in self.dataset else "independent noise per feature"

    def scores(self) -> Iterator[Score]:
        """Faithfulness, accuracy at the critical step, and how often a curve equals the ground truth's."""
        variant: Variant = "as-published" if "@" in self.where else "corrected"
        random = self.accuracy.get("random")
        for method, accuracy in self.accuracy.items():
            if random is not None and method != "random":
                area = area_between_curves(self.ratios, accuracy, random)
                interval = t_interval(area.value.compressed())
                yield from FAITHFULNESS.score(self, method, interval, variant=variant)
            if self.critical is not None:
                quantity = Quantity(f"accuracy at step {self.critical}", "lower is better", best=CHANCE)
                interval = t_interval(accuracy[:, self.critical])
                least = None if random is None else float(random[:, self.critical].mean())
                yield from quantity.score(self, method, interval, variant=variant, null=least)
            if method in ("recursive-roar", "roar") and "ground-truth" in self.accuracy:
                # How often the whole curve equals the ground truth's, and how often it lies above somewhere.
                for quantity, holds in ((EQUAL, self._equal), (ABOVE, self._above)):
                    least = None if random is None else float(holds("random").mean())
                    yield from quantity.score(self, method, _share(holds(method)), variant=variant, null=least)

    def _gap(self, method: str) -> Floats:
        return self.accuracy[method] - self.accuracy["ground-truth"]

    def _equal(self, method: str) -> Bools:
        return np.asarray((np.abs(self._gap(method)) <= self.margin + _ROUNDING).all(axis=1))

    def _above(self, method: str) -> Bools:
        return np.asarray((self._gap(method) > self.margin + _ROUNDING).any(axis=1))

    def bands(self) -> Iterator[dict[str, Any]]:
        """Mean accuracy at each step with its interval over draws; no bounds where every draw gives the same."""
        for method, accuracy in self.accuracy.items():
            for step, ratio in enumerate(self.ratios):
                where = {"dataset": self.dataset, "reading": self.reading, "model": self.model, "method": method}
                yield {**where, "step": step, "ratio": float(ratio), **columns(t_interval(accuracy[:, step]))}

    def warnings(self) -> Iterator[ResultWarning]:
        """Fragile ratios and too few draws."""
        if self.draws < FEWEST_DRAWS:
            rough = f"intervals over fewer than {FEWEST_DRAWS} are rough, and claims are not decided"
            yield self.warn("few-draws", f"draws: {self.draws}; {rough}")
        if self.repeats:
            message = f"{self.repeats} of {len(self.ratios)} steps remove no more features than the step before"
            yield self.warn("repeated-steps", message)
        random = self.accuracy.get("random")
        if random is not None:
            small = int((area_between_curves(self.ratios, random, random).denominator < SMALL_DENOMINATOR).sum())
            if small:
                message = (
                    f"in {small} of {self.draws} draws random removal costs less than {SMALL_DENOMINATOR} accuracy "
                    "over the whole curve, so the faithfulness ratio divides by little and is fragile"
                )
                yield self.warn("small-denominator", message)

    def abstentions(self) -> Iterator[Abstention]:
        """Faithfulness where the baseline never falls, and what the chosen steps or orders cannot answer."""
        random = self.accuracy.get("random")
        if random is None:
            yield self.abstain("faithfulness", "the order random is not part of the study, and it is the baseline")
        else:
            for cause, count in area_between_curves(self.ratios, random, random).value.reasons().items():
                text = f"{cause.value} (in {count} of {self.draws} draws, which are left out)"
                yield self.abstain("faithfulness", text)
        for needed in ({"recursive-roar", "ground-truth"}, {"roar", "ground-truth"}):
            missing = sorted(needed - self.accuracy.keys())
            if missing:
                reason = f"they compare {' with '.join(sorted(needed))}, and the study lacks {' and '.join(missing)}"
                yield self.abstain("claims", reason)
        if self.critical is None:
            reason = "no step removes exactly as many features as are informative"
            yield self.abstain("accuracy when the evidence can be gone", reason)

    def claims(self) -> Iterator[Claim]:
        """The conclusions of section 3.3, each under this reading of the noise."""
        if {"recursive-roar", "ground-truth"} <= self.accuracy.keys():
            yield self._identical()
            yield self._never_above()
            if self.critical is not None:
                yield self._reach_chance(self.critical)
        if {"roar", "ground-truth"} <= self.accuracy.keys():
            yield self._roar_worse()

    def _claim(self, text: str, holds: bool | None, evidence: str) -> Claim:
        if self.draws < FEWEST_DRAWS:
            holds, evidence = None, f"draws: {self.draws}; at least {FEWEST_DRAWS} are needed"
        return Claim(claim=f"{text} ({self.reading}: {self.where})", verdict=verdict(holds), evidence=evidence)

    def _identical(self) -> Claim:
        equal, gap = self._equal("recursive-roar"), self._gap("recursive-roar")
        most = np.unravel_index(np.abs(gap).argmax(), gap.shape)
        evidence = (
            f"equal at every step, within {self.margin}, in {int(equal.sum())} of {self.draws} draws; "
            f"the largest difference in any draw is {gap[most]:+.4f} at step {int(most[1])}"
        )
        return self._claim("Recursive ROAR is identical to the ground-truth order", bool(equal.all()), evidence)

    def _never_above(self) -> Claim:
        # A band over all steps at once (Bonferroni), paired by draw. A difference below the margin is no difference.
        level = 1 - 0.05 / len(self.ratios)
        gap = self._gap("recursive-roar")
        bands = [t_interval(gap[:, step], level=level) for step in range(len(self.ratios))]
        lows, highs = np.array([ends(band) for band in bands]).T
        holds = True if highs.max() <= self.margin else False if lows.max() > self.margin else None
        worst = int(gap.mean(axis=0).argmax())
        evidence = (
            f"the mean difference is largest at step {worst}: {float(bands[worst].value):+.4f}, "
            f"{_shown(bands[worst])}; the band holds for all {len(bands)} steps at once, its upper end is at most "
            f"{highs.max():+.4f}, and its lower end exceeds 0 at {int((lows > 0).sum())} of the steps"
        )
        text = f"Recursive ROAR never lies above the ground-truth order by more than {self.margin}"
        return self._claim(text, holds, evidence)

    def _reach_chance(self, step: int) -> Claim:
        both = ("recursive-roar", "ground-truth")
        intervals = [t_interval(self.accuracy[method][:, step]) for method in both]
        bounds = np.array([ends(interval) for interval in intervals])
        inside = bool((np.abs(bounds - CHANCE) <= self.margin + _ROUNDING).all())
        holds = True if inside else False if (bounds.min(axis=1) > CHANCE + self.margin).any() else None
        shown = ", ".join(
            f"{method} {float(interval.value):.4f}, {_shown(interval)}"
            for method, interval in zip(both, intervals, strict=True)
        )
        text = f"Recursive ROAR and the ground-truth order reach chance at step {step}"
        evidence = f"mean accuracy over {self.draws} draws: {shown}; chance is {CHANCE}, the margin {self.margin}"
        return self._claim(text, holds, evidence)

    def _roar_worse(self) -> Claim:
        above = self._above("roar")
        share = _share(above)
        gap = t_interval(self.accuracy["roar"].mean(axis=1) - self.accuracy["ground-truth"].mean(axis=1))
        low, high = ends(gap)
        evidence = (
            f"its accuracy, averaged over steps, less that of the ground-truth order: {float(gap.value):+.4f}, "
            f"{_shown(gap)}; it lies above, by more than {self.margin}, at some step in {int(above.sum())} of "
            f"{self.draws} draws ({share.low:.0%} to {share.high:.0%})"
        )
        holds = True if low > 0 and above.any() else False if high <= 0 or not above.any() else None
        return self._claim("Plain ROAR is worse than the ground-truth order", holds, evidence)


def _shown(interval: Interval) -> str:
    if isinstance(interval.low, Undefined):
        return "the same in every draw"
    return f"{100 * interval.level:.3g} % interval {interval.low:+.4f} to {interval.high:+.4f}"


def _share(holds: Bools) -> Interval:
    """The share of draws for which something holds, with its exact (Clopper-Pearson) interval."""
    from scipy.stats import binomtest

    exact = binomtest(int(holds.sum()), len(holds)).proportion_ci(method="exact")
    return Interval(float(holds.mean()), float(exact.low), float(exact.high), len(holds), len(holds), 0.95)
