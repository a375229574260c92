"""How well a classifier predicts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueness.stats.rows import rank_rows
from trueness.stats.undefined import Reason, Undefined


def accuracy(predicted: npt.ArrayLike, gold: npt.ArrayLike) -> float | Undefined:
    """Share of right predictions: [0, 1], higher is better; a constant predictor gets the share of its class."""
    p, g = np.asarray(predicted), np.asarray(gold)
    return float((p == g).mean()) if p.size else Undefined(Reason.EMPTY)


def macro_f1(predicted: npt.ArrayLike, gold: npt.ArrayLike, classes: int) -> float | Undefined:
    """Unweighted mean over classes of F1 = 2 tp / (2 tp + fp + fn): [0, 1], higher is better.

    A class that occurs neither among predictions nor among gold labels counts 0, as in scikit-learn.
    """
    p, g = np.asarray(predicted), np.asarray(gold)
    if not p.size:
        return Undefined(Reason.EMPTY)
    labels = np.arange(classes)[:, None]
    hits, total = ((p == labels) & (g == labels)).sum(axis=1), ((p == labels).sum(axis=1) + (g == labels).sum(axis=1))
    return float(np.mean(2 * hits / np.maximum(total, 1)))


def roc_auc(score: npt.ArrayLike, positive: npt.ArrayLike) -> float | Undefined:
    """Chance that a positive example scores above a negative one, ties counting half.

    Range [0, 1], higher is better, 1/2 by chance. Undefined where only one class is there.
    """
    s, y = np.asarray(score, dtype=np.float64), np.asarray(positive, dtype=bool)
    if not s.size:
        return Undefined(Reason.EMPTY)
    if not np.isfinite(s).all():
        return Undefined(Reason.NOT_FINITE)
    number = int(y.sum())
    if number in (0, len(y)):
        return Undefined(Reason.CONSTANT)
    ranks = rank_rows(s[None], np.ones((1, len(s)), dtype=bool)).average[0]
    return float((ranks[y].sum() - number * (number + 1) / 2) / (number * (len(y) - number)))
