"""How few tokens hold most of an explanation (Madsen et al. 2022, appendix E)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueness.data.batches import EncodedSplit
from trueness.explainers import Explainer, Target
from trueness.models.network import TextNetwork
from trueness.protocols.roar.hiding import Amount, choose
from trueness.stats.undefined import Floats

RANKS = tuple(Amount(rank, "tokens") for rank in range(1, 11))
"""The top tokens of Figure 5."""
SHARES = tuple(Amount(step / 10) for step in range(1, 10))
"""The shares of a text of Figure 6."""


def accumulated(
    network: TextNetwork,
    explainer: Explainer,
    split: EncodedSplit,
    amounts: Sequence[Amount],
    target: Target = "gold",
) -> Floats:
    """(amounts,): the share of all magnitude that the top tokens hold, mean over texts; texts without any are left out.

    Uniform scores give a share of the tokens as much; one token that holds everything gives 1 at once.
    """
    sums, texts = np.zeros(len(amounts)), 0
    for _, batch in split.to_explain():
        size = explainer.attribute(network, batch, target).abs().double() * batch.mask
        total = size.sum(dim=1)
        some = total > 0
        texts += int(some.sum())
        for number, amount in enumerate(amounts):
            top = choose(size, batch.mask, batch.mask & False, amount.of(batch.mask.sum(dim=1)))
            sums[number] += float(((size * top).sum(dim=1)[some] / total[some]).sum())
    return sums / texts if texts else np.full(len(amounts), np.nan)
