"""How well a classifier predicts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
    scores = []
    for label in range(classes):
        hits = np.sum((p == label) & (g == label))
        total = np.sum(p == label) + np.sum(g == label)
        scores.append(2 * hits / total if total else 0.0)
    return float(np.mean(scores))


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
    _, inverse, counts = np.unique(s, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse]
    return float((ranks[y].sum() - number * (number + 1) / 2) / (number * (len(y) - number)))
