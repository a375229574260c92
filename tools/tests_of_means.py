"""How often tests of a bounded mean err and decide: Gaffke's, two ways of betting, Student's, and Hall's cubic.

python -m tools.tests_of_means --draws 4000 --out results/audit/tests-of-means.csv

Each draw of n values is tested twice on each side: beside the true mean (a decision is false), and beside a threshold
at the distance that normal theory decides in 80 of 100 draws. `docs/statistics-of-verdicts.md` shows the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import logsumexp

from trueness.stats.bounded import mean_p
from trueness.stats.undefined import Floats

SIZES = (15, 30, 60, 100, 250, 500)
LEVELS = (0.025, 0.0025, 0.00025)
ROOT = Path(__file__).resolve().parent.parent / "results"
MANY = 1_000_000


def populations() -> dict[str, tuple[Floats, float, float]]:
    """Of each its values, and their least and largest possible one."""
    rng = np.random.default_rng(0)
    best = np.where(rng.random(MANY) < 0.1, rng.beta(5, 1, MANY), np.abs(rng.normal(0, 0.005, MANY)))
    shares = pd.read_csv(ROOT / "ground-truth-text" / "models.csv")["attribution share"].to_numpy(dtype=np.float64)
    divergence = pd.read_csv(ROOT / "attefa" / "runs.csv")["divergence"].dropna().to_numpy(dtype=np.float64)
    taus = pd.read_csv(ROOT / "attention-is-not-explanation" / "correlations.csv")["mean"].dropna()
    return {
        "symmetric: beta(4, 4)": (rng.beta(4, 4, MANY), 0.0, 1.0),
        "skewed: beta(8, 1.2)": (rng.beta(8, 1.2, MANY), 0.0, 1.0),
        "skewed: beta(0.5, 5)": (rng.beta(0.5, 5, MANY), 0.0, 1.0),
        "near 1: beta(20, 0.6)": (rng.beta(20, 0.6, MANY), 0.0, 1.0),
        "two values: 1 in 90 %": ((np.arange(MANY) < 0.9 * MANY) * 1.0, 0.0, 1.0),
        "1, but in 5 % uniform to 0.6": (
            np.where(rng.random(MANY) < 0.05, rng.uniform(0, 0.6, MANY), 1.0),
            0.0,
            1.0,
        ),
        "0 in 80 %, else beta(0.7, 2)": (np.where(rng.random(MANY) < 0.2, rng.beta(0.7, 2, MANY), 0.0), 0.0, 1.0),
        "a quarter right, cost in 10 %": (np.where(rng.random(MANY) < 0.25, best, 0.0) - 0.25 * best, -1.25, 0.75),
        "measured: attribution shares of 66 models": (shares, 0.0, 1.0),
        "measured: divergence of 1,080 twins": (divergence / np.log(2), 0.0, 1.0),
        "measured: 2,700 means of tau": (taus.to_numpy(dtype=np.float64), -1.0, 1.0),
    }


def student_p(values: Floats, threshold: float, low: float) -> float:  # noqa: ARG001
    """Student's."""
    spread = values.std(ddof=1)
    if spread <= 1e-12:
        return 0.5 ** len(values) if values.mean() > threshold else 1.0
    return float(stats.t(len(values) - 1).sf((values.mean() - threshold) / spread * np.sqrt(len(values))))


def hall_p(values: Floats, threshold: float, low: float) -> float:
    """The larger of Student's and of the one after Hall's cubic (1992), as audits had it before."""
    n, spread = len(values), values.std(ddof=1)
    plain = student_p(values, threshold, low)
    if spread <= 1e-12:
        return plain
    t, skewness = (values.mean() - threshold) / spread, ((values - values.mean()) ** 3).mean() / spread**3
    cubic = np.sqrt(n) * (t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / (6 * n))
    return max(plain, float(stats.t(n - 1).sf(cubic)))


def mixture_p(values: Floats, threshold: float, low: float) -> float:
    """The capital is divided among constant bets: prod_i (1 + s (x_i - m) / (m - low)), averaged over shares s."""
    shares = np.append(0.5 ** np.arange(1, 8), 0.9)
    gains = np.log1p(shares[:, None] * (values - threshold) / (threshold - low))
    capital = logsumexp(np.cumsum(gains, axis=1), axis=0) - np.log(len(shares))
    return float(np.exp(-max(capital.max(), 0.0)))


def hedged_p(values: Floats, threshold: float, low: float, level: float = LEVELS[1]) -> float:
    """Bets from the past alone, for n values and a level (Waudby-Smith and Ramdas 2024, equation 26), on one side."""
    n = len(values)
    size = 1.0 - low
    x, m = (values - low) / size, (threshold - low) / size
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(x)) / (counts + 1)
    spread = (0.25 + np.cumsum((x - means) ** 2)) / (counts + 1)
    bets = np.sqrt(2 * np.log(1 / level) / (n * np.append(0.25, spread[:-1])))
    return float(np.exp(-max(np.cumsum(np.log1p(np.minimum(bets, 0.75 / m) * (x - m))).max(), 0.0)))


TESTS: dict[str, Callable[[Floats, float, float], float]] = {
    "Gaffke": mean_p,
    "betting, a mixture": mixture_p,
    "betting, tuned": hedged_p,
    "Student": student_p,
    "Hall": hall_p,
}


def cells(name: str, n: int, draws: int) -> Iterator[dict[str, float | str]]:
    """Of one population: how often each test decides, on each side."""
    values, low, high = populations()[name]
    mean, spread = float(values.mean()), float(values.std())
    rng = np.random.default_rng([n, len(name)])
    drawn = rng.choice(values, (draws, n))
    for side, sign, end in (("above", 1.0, low), ("below", -1.0, -high)):
        for test, p_value in TESTS.items():
            false = np.array([p_value(sign * x, sign * mean, end) for x in drawn])
            for level in LEVELS:
                away = (stats.norm.isf(level) + stats.norm.isf(0.2)) * spread / np.sqrt(n)
                threshold = sign * mean - away
                known: dict[str, float | str] = {"population": name, "n": n, "side": side, "test": test, "level": level}
                # A threshold beyond the bound asks for no test.
                found = (
                    np.array([p_value(sign * x, threshold, end) for x in drawn[: draws // 4]])
                    if threshold > end
                    else np.full(1, np.nan)
                )
                decided = float((found <= level).mean()) if threshold > end else np.nan
                yield {**known, "false": float((false <= level).mean()), "decided": decided}


def _listed(name: str, n: int, draws: int) -> list[dict[str, float | str]]:
    return list(cells(name, n, draws))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    asked = [(name, n) for name in populations() for n in SIZES]
    with ProcessPoolExecutor(given.workers) as pool:
        found = pool.map(partial(_listed, draws=given.draws), *zip(*asked, strict=True))
        rows = pd.DataFrame([row for some in found for row in some])
    wide = rows.pivot_table(index=["population", "n", "side", "level"], columns="test", values=["false", "decided"])
    wide.columns = [f"{name[0]}: {name[1]}" for name in wide.columns]
    wide.round(4).to_csv(given.out)
    print(rows.groupby(["test", "level"])[["false", "decided"]].agg(["mean", "max"]).round(4).to_string())


if __name__ == "__main__":
    main()
