"""How alike two explanations of the same texts look: what changes between two heat maps."""

from __future__ import annotations

import numpy as np

from trueness.stats.undefined import Bools, Floats

FLAT = 1e-9
"""Spread, as a share of the largest score, below which scores are all the same."""


def similarity(first: Floats, second: Floats, mask: Bools) -> Floats:
    """(texts,) Pearson's correlation of the scores inside the mask: 1 for the same picture, 0 for unrelated ones.

    Its square is the share of the one picture's variance that the other has too. Scores that are all the same are no
    picture: beside another such they are the same (1), beside any other unrelated (0). Not a number for texts with
    fewer than two scores.
    """
    count = mask.sum(axis=1)
    a, b = (np.where(mask, scores, 0.0).astype(np.float64) for scores in (first, second))
    size = np.maximum(count, 1)[:, None]
    a, b = (np.where(mask, scores - scores.sum(axis=1, keepdims=True) / size, 0.0) for scores in (a, b))
    spread = [np.sqrt((scores**2).sum(axis=1)) for scores in (a, b)]
    largest = [np.abs(np.where(mask, scores, 0.0)).max(axis=1, initial=0.0) for scores in (first, second)]
    flat = [some <= FLAT * np.maximum(most, 1e-30) for some, most in zip(spread, largest, strict=True)]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (a * b).sum(axis=1) / (spread[0] * spread[1])
    found = np.where(flat[0] & flat[1], 1.0, np.where(flat[0] | flat[1], 0.0, np.clip(found, -1, 1)))
    return np.where(count >= 2, found, np.nan)
