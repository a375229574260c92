"""Does an explanation repeat itself: in other company, after an edit that changes nothing?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.protocols.randomisation import explained
from trueness.protocols.similarity import largest_of, similarity
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    from trueness.explainers.contract import Explainer
    from trueness.kinds.contract import Kind, Model


def by_itself(network: Any, split: Any, number: int, explainer: Explainer, scores: Floats, mask: Bools) -> Floats:
    """(examples,) how alike the explanation of an example alone and among others are: 1 for one that keeps its word."""
    found, scale = np.zeros(number), largest_of(scores)
    for row in range(number):
        single, inside = explained(network, split.only([row]), explainer)
        width = inside.shape[1]
        found[row] = similarity(scores[row : row + 1, :width], single, inside & mask[row : row + 1, :width], scale)[0]
    return found


def after_edit(kind: Kind, model: Model, examples: Any, rows: Any, explainer: Explainer, scores: Floats) -> Floats:
    """(rows,) how alike explanations before and after the harmless edit are, over the units that both examples have.

    `scores` (examples, units) are those before it; not a number where fewer than two units are left.
    """
    assert kind.edit is not None
    assert kind.view is not None
    some = examples.pick(rows)
    changed, kept = kind.edit(some)
    after, _ = explained(model.network, model.coded(changed), explainer)
    found, scale = np.full(len(some), np.nan), largest_of(scores[rows])
    for row, units in enumerate(kept):
        one, two = (
            np.array([kind.view.scores(model, these, row, of[row])[:units]])
            for these, of in ((some, scores[rows]), (changed, after))
        )
        if one.shape[1] >= 2:
            found[row] = similarity(one, two, np.ones(one.shape, dtype=bool), scale)[0]
    return found
