"""What the ladder tells: how often verdicts are false, and how well each check or metric tells right from wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.audits.bench.ladder import CHECKS, METRICS
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("may be shown", "must not be shown", "cannot tell")
VERDICT = "verdict of the audit"
_LEVEL = 0.95
_RESAMPLED = 200


def exact(hits: int, n: int) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share."""
    from scipy.stats import binomtest

    found = binomtest(hits, n).proportion_ci(_LEVEL)
    return float(found.low), float(found.high)


def rates(rows: pd.DataFrame, by: Sequence[str] = ("kind", "model", "explanation")) -> pd.DataFrame:
    """Of each explanation of each model (or as asked) the share of every verdict, with its exact interval."""
    import pandas as pd

    found = []
    for key, some in rows.groupby(list(by), sort=False):
        row: dict[str, Any] = dict(zip(by, key, strict=True)) | {"truth": some["truth"].iloc[0], "audits": len(some)}
        for verdict in VERDICTS:
            hits = int((some["verdict"] == verdict).sum())
            low, high = exact(hits, len(some))
            row |= {verdict: hits / len(some), f"{verdict}, low": low, f"{verdict}, high": high}
        found.append(row | {"mostly by": some["decided by"].mode().iloc[0]})
    return pd.DataFrame(found)


def areas(rows: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Of each check and metric the chance that it ranks the right explanation above a wrong one of the same model.

    Over all wrong ones, and for each; intervals by drawing models anew.
    """
    import pandas as pd

    rows = rows.assign(**{VERDICT: rows["verdict"].map({VERDICTS[0]: 1.0, VERDICTS[1]: 0.0, VERDICTS[2]: 0.5})})
    rng, found = np.random.default_rng(seed), []
    for name in [VERDICT, *_told(rows)]:
        wide = rows.pivot_table(index=["kind", "model", "seed"], columns="explanation", values=name)
        if "right" not in wide:
            continue
        wrong = [one for one in wide if one in set(rows.loc[rows["truth"] == "wrong", "explanation"])]
        right = wide["right"].to_numpy()[:, None]
        other = wide[wrong].to_numpy()
        known = np.isfinite(right) & np.isfinite(other)
        won = np.where(known, (right > other) + 0.5 * (np.abs(right - other) < 1e-9), np.nan)
        for label, part in (("all", won), *((one, won[:, [at]]) for at, one in enumerate(wrong))):
            per = part[np.isfinite(part).any(axis=1)]
            if not len(per):
                continue
            each = np.nanmean(per, axis=1)
            drawn = each[rng.integers(0, len(each), (_RESAMPLED, len(each)))].mean(axis=1)
            low, high = np.quantile(drawn, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
            about = {"what": name.removeprefix(METRICS), "ours": not name.startswith(METRICS), "against": label}
            found.append(
                {**about, "models": len(each), "paired area": each.mean(), "low": low, "high": high}
                | _unpaired(wide["right"].to_numpy(), other if label == "all" else wide[[label]].to_numpy())
            )
    return pd.DataFrame(found)


def _told(rows: pd.DataFrame) -> list[str]:
    """The checks and metrics that the rows have."""
    return [name for name in map(str, rows) if name in CHECKS or name.startswith(METRICS)]


def _unpaired(right: Floats, wrong: Floats) -> dict[str, float]:
    """The area under the ROC curve where one threshold has to do for all models."""
    from scipy.stats import rankdata

    one, other = right[np.isfinite(right)], wrong[np.isfinite(wrong)]
    ranks = rankdata(np.concatenate([one, other]))[: len(one)]
    return {"ROC area": (ranks.sum() - len(one) * (len(one) + 1) / 2) / (len(one) * len(other))}


def curves(rows: pd.DataFrame, points: int = 41) -> pd.DataFrame:
    """ROC curves: at each threshold the share of right, nearly right and wrong explanations that lie above it."""
    import pandas as pd

    return pd.DataFrame(list(_points(rows, points)))


def _points(rows: pd.DataFrame, points: int) -> Iterator[dict[str, Any]]:
    for name in _told(rows):
        known = rows[np.isfinite(rows[name])]
        if not len(known):
            continue
        truths: dict[str, Bools] = {truth: (known["truth"] == truth).to_numpy() for truth in known["truth"].unique()}
        values = known[name].to_numpy()
        for threshold in np.quantile(values, np.linspace(0, 1, points)):
            shares = {truth: float((values[inside] > threshold).mean()) for truth, inside in truths.items()}
            yield {"what": name.removeprefix(METRICS), "threshold": float(threshold), **shares}
