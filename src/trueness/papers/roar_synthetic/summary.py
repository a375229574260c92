"""What removal curves on the synthetic problem say: scores, bands, warnings, and the paper's conclusions, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trueness.protocols.result import Abstention, Claim, Result, ResultWarning, Score, Verdict, bounds
from trueness.protocols.roar.curves import SMALL_DENOMINATOR
from trueness.stats import Interval, Undefined, area_between_curves, difference_interval, mean_interval
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 0.5
FEWEST_DRAWS = 5
_ROUNDING = 1e-9  # shares of test examples exactly one margin apart must count as equal
_TARGET = "the model as a whole (its coefficients)"


def summarise(records: pd.DataFrame, *, informative: int, margin: float) -> Result:
    """The result of the study, from one record per dataset, model, method, seed and step.

    Columns: dataset, model, method, seed, step, ratio, removed (indices, separated by spaces) and accuracy.
    Two accuracies of one draw count as equal when they differ by at most `margin`.
    """
    import pandas as pd

    settings = [
        _Setting(str(dataset), str(model), group, informative, margin)
        for (dataset, model), group in records.groupby(["dataset", "model"], sort=False)
    ]
    return Result(
        records=records,
        scores=tuple(score for setting in settings for score in setting.scores()),
        warnings=tuple(warning for setting in settings for warning in setting.warnings()),
        abstentions=tuple(item for setting in settings for item in setting.abstentions()),
        claims=tuple(claim for setting in settings for claim in setting.claims()),
        tables={"curves": pd.DataFrame([row for setting in settings for row in setting.bands()])},
    )


class _Setting:
    """All curves of one dataset and one model: accuracy by method as (draws, steps)."""

    def __init__(self, dataset: str, model: str, records: pd.DataFrame, informative: int, margin: float) -> None:
        self.dataset, self.model, self.margin = dataset, model, margin
        self.where = f"{dataset}, {model}"
        self.ratios: Floats = np.sort(records["ratio"].unique())
        self.accuracy: dict[str, Floats] = {
            str(method): group.pivot(index="seed", columns="step", values="accuracy").to_numpy()
            for method, group in records.groupby("method", sort=False)
        }
        self.draws = int(records["seed"].nunique())
        removed = [len(columns.split()) for columns in records.groupby("step")["removed"].first()]
        at = np.flatnonzero(np.array(removed) == informative)
        self.repeats = len(removed) - len(set(removed))
        self.critical = int(at[0]) if len(at) else None
        """The step at which as many features are gone as are informative."""

    @property
    def reading(self) -> str:
        """What the noise is, in words."""
        return "one noise value per example" if "@" in self.dataset else "independent noise per feature"

    def scores(self) -> list[Score]:
        """Faithfulness, accuracy at the critical step, and how often a curve equals the ground truth's."""
        found = []
        random = self.accuracy.get("random")
        for method, accuracy in self.accuracy.items():
            if random is not None and method != "random":
                area = area_between_curves(self.ratios, accuracy, random)
                interval = mean_interval(area.value.compressed())
                if not isinstance(interval.value, Undefined):
                    # `area.best` supposes a fall to the floor at the first step, which redundant features rule out.
                    found.append(self._score("faithfulness", method, interval, "higher is better", 0.0, None))
            if self.critical is not None:
                interval = mean_interval(accuracy[:, self.critical])
                null = None if random is None else float(random[:, self.critical].mean())
                name = f"accuracy at step {self.critical}"
                found.append(self._score(name, method, interval, "lower is better", null, CHANCE))
            if method in ("recursive-roar", "roar") and "ground-truth" in self.accuracy:
                found += self._shares(method)
        return found

    def _shares(self, method: str) -> list[Score]:
        """How often the whole curve equals the ground truth's, and how often it lies above somewhere."""

        def null(holds: Any) -> float | None:
            return float(holds("random").mean()) if "random" in self.accuracy else None

        equal, above = _share(self._equal(method)), _share(self._above(method))
        name = "share of draws {} the ground-truth order"
        return [
            self._score(name.format("equal to"), method, equal, "higher is better", null(self._equal), 1.0),
            self._score(name.format("above"), method, above, "lower is better", null(self._above), 0.0),
        ]

    def _score(
        self,
        quantity: str,
        method: str,
        interval: Interval,
        direction: Literal["higher is better", "lower is better"],
        null: float | None,
        best: float | None,
    ) -> Score:
        return Score(
            quantity=quantity,
            dataset=self.dataset,
            model=self.model,
            method=method,
            variant="as-published" if "@" in self.where else "corrected",
            target=_TARGET,
            value=_number(interval.value),
            direction=direction,
            null=null,
            best=best,
            **bounds(interval),
        )

    def _gap(self, method: str) -> Floats:
        return self.accuracy[method] - self.accuracy["ground-truth"]

    def _equal(self, method: str) -> Bools:
        return np.asarray((np.abs(self._gap(method)) <= self.margin + _ROUNDING).all(axis=1))

    def _above(self, method: str) -> Bools:
        return np.asarray((self._gap(method) > self.margin + _ROUNDING).any(axis=1))

    def bands(self) -> list[dict[str, Any]]:
        """Mean accuracy at each step with its interval over draws; no bounds where every draw gives the same."""
        rows = []
        for method, accuracy in self.accuracy.items():
            for step, ratio in enumerate(self.ratios):
                interval = mean_interval(accuracy[:, step])
                limits = bounds(interval)
                rows.append(
                    {
                        "dataset": self.dataset,
                        "reading": self.reading,
                        "model": self.model,
                        "method": method,
                        "step": step,
                        "ratio": float(ratio),
                        "mean": _number(interval.value),
                        "low": limits["low"],
                        "high": limits["high"],
                        "n": interval.n,
                    }
                )
        return rows

    def warnings(self) -> list[ResultWarning]:
        """Fragile ratios and too few draws."""
        found = []
        if self.draws < FEWEST_DRAWS:
            message = (
                f"draws: {self.draws}; intervals over fewer than {FEWEST_DRAWS} are rough, and claims are not decided"
            )
            found.append(ResultWarning(code="few-draws", where=self.where, message=message))
        if self.repeats:
            message = f"{self.repeats} of {len(self.ratios)} steps remove no more features than the step before"
            found.append(ResultWarning(code="repeated-steps", where=self.where, message=message))
        if "random" in self.accuracy:
            baseline = self.accuracy["random"]
            denominator = area_between_curves(self.ratios, baseline, baseline).denominator
            small = int((denominator < SMALL_DENOMINATOR).sum())
            if small:
                message = (
                    f"in {small} of {self.draws} draws random removal costs less than {SMALL_DENOMINATOR} accuracy "
                    "over the whole curve, so the faithfulness ratio divides by little and is fragile"
                )
                found.append(ResultWarning(code="small-denominator", where=self.where, message=message))
        return found

    def abstentions(self) -> list[Abstention]:
        """Faithfulness where the baseline never falls, and what the chosen steps or orders cannot answer."""
        found = []
        if "random" not in self.accuracy:
            reason = "the order random is not part of the study, and it is the baseline"
            found.append(Abstention(quantity="faithfulness", where=self.where, reason=reason))
        else:
            baseline = self.accuracy["random"]
            value = area_between_curves(self.ratios, baseline, baseline).value
            for cause, count in value.reasons().items():
                text = f"{cause.value} (in {count} of {self.draws} draws, which are left out)"
                found.append(Abstention(quantity="faithfulness", where=self.where, reason=text))
        for needed in ({"recursive-roar", "ground-truth"}, {"roar", "ground-truth"}):
            missing = sorted(needed - self.accuracy.keys())
            if missing:
                reason = f"they compare {' with '.join(sorted(needed))}, and the study lacks {' and '.join(missing)}"
                found.append(Abstention(quantity="claims", where=self.where, reason=reason))
        if self.critical is None:
            reason = "no step removes exactly as many features as are informative"
            found.append(Abstention(quantity="accuracy when the evidence can be gone", where=self.where, reason=reason))
        return found

    def claims(self) -> list[Claim]:
        """The conclusions of section 3.3, each under this reading of the noise."""
        claims = []
        if {"recursive-roar", "ground-truth"} <= self.accuracy.keys():
            claims += [self._identical(), self._never_above()]
            if self.critical is not None:
                claims.append(self._reach_chance(self.critical))
        if {"roar", "ground-truth"} <= self.accuracy.keys():
            claims.append(self._roar_worse())
        return claims

    def _claim(self, text: str, holds: bool | None, evidence: str) -> Claim:
        verdict: Verdict = "cannot tell" if holds is None else "supported" if holds else "not supported"
        if self.draws < FEWEST_DRAWS:
            verdict, evidence = "cannot tell", f"draws: {self.draws}; at least {FEWEST_DRAWS} are needed"
        return Claim(claim=f"{text} ({self.reading}: {self.where})", verdict=verdict, evidence=evidence)

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
        bands = [mean_interval(gap[:, step], level=level) for step in range(len(self.ratios))]
        lows, highs = np.array([_ends(band) for band in bands]).T
        holds = True if highs.max() <= self.margin else False if lows.max() > self.margin else None
        worst = int(gap.mean(axis=0).argmax())
        evidence = (
            f"the mean difference is largest at step {worst}: {_number(bands[worst].value):+.4f}, "
            f"{_shown(bands[worst])}; the band holds for all {len(bands)} steps at once, its upper end is at most "
            f"{highs.max():+.4f}, and its lower end exceeds 0 at {int((lows > 0).sum())} of the steps"
        )
        text = f"Recursive ROAR never lies above the ground-truth order by more than {self.margin}"
        return self._claim(text, holds, evidence)

    def _reach_chance(self, step: int) -> Claim:
        intervals = {
            method: mean_interval(self.accuracy[method][:, step]) for method in ("recursive-roar", "ground-truth")
        }
        inside = [
            all(abs(bound - CHANCE) <= self.margin + _ROUNDING for bound in _ends(item)) for item in intervals.values()
        ]
        outside = [min(_ends(item)) > CHANCE + self.margin for item in intervals.values()]
        holds = True if all(inside) else False if any(outside) else None
        shown = ", ".join(f"{method} {_number(item.value):.4f}, {_shown(item)}" for method, item in intervals.items())
        text = f"Recursive ROAR and the ground-truth order reach chance at step {step}"
        evidence = f"mean accuracy over {self.draws} draws: {shown}; chance is {CHANCE}, the margin {self.margin}"
        return self._claim(text, holds, evidence)

    def _roar_worse(self) -> Claim:
        above = _share(self._above("roar"))
        gap = difference_interval(self.accuracy["roar"].mean(axis=1), self.accuracy["ground-truth"].mean(axis=1))
        low, high = _ends(gap)
        evidence = (
            f"it lies above, by more than {self.margin}, at some step in {int(self._above('roar').sum())} of "
            f"{self.draws} draws ({above.low:.0%} to {above.high:.0%}); its accuracy averaged over steps differs by "
            f"{_number(gap.value):+.4f}, {_shown(gap)}"
        )
        somewhere = bool(self._above("roar").any())
        holds = True if low > 0 and somewhere else False if high <= 0 or not somewhere else None
        return self._claim("Plain ROAR is worse than the ground-truth order", holds, evidence)


def _number(value: float | Undefined) -> float:
    """A value that cannot be undefined here, because there is at least one draw."""
    return float(value)


def _ends(interval: Interval) -> tuple[float, float]:
    """Both bounds; where there is no spread, the value itself."""
    if isinstance(interval.low, Undefined) or isinstance(interval.high, Undefined):
        return _number(interval.value), _number(interval.value)
    return interval.low, interval.high


def _shown(interval: Interval) -> str:
    if isinstance(interval.low, Undefined):
        return "the same in every draw"
    return f"{100 * interval.level:.3g} % interval {interval.low:+.4f} to {interval.high:+.4f}"


def _share(holds: Bools) -> Interval:
    """The share of draws for which something holds, with its exact (Clopper-Pearson) interval."""
    from scipy.stats import binomtest

    exact = binomtest(int(holds.sum()), len(holds)).proportion_ci(method="exact")
    return Interval(float(holds.mean()), float(exact.low), float(exact.high), len(holds), len(holds), 0.95)
