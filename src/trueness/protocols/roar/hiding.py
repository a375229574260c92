"""Which tokens are hidden next: the most important ones by a model's explanations, those already hidden kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.inputs import Split
from trueness.explainers.contract import Explainer, Target
from trueness.models.network import Network
from trueness.stats.undefined import Floats

Unit = Literal["share", "tokens"]
_ROUNDING = 1e-9  # 0.7 * 90 must count 63 tokens, not 62


@dataclass(frozen=True)
class Amount:
    """How much of every text is hidden in all: a share of its tokens, rounded down, or a number of them."""

    value: float
    unit: Unit = "share"

    def of(self, maskable: Tensor) -> Tensor:
        """For each text the number of tokens, from how many may be hidden."""
        if self.unit == "tokens":
            return maskable.clamp(max=int(self.value))
        return (self.value * maskable.double() + _ROUNDING).long()


RANKS = tuple(Amount(rank, "tokens") for rank in range(1, 11))
"""The top tokens of Figure 5."""
SHARES = tuple(Amount(step / 10) for step in range(1, 10))
"""The shares of a text of Figure 6."""


def choose(scores: Tensor, mask: Tensor, hidden: Tensor, count: Tensor) -> Tensor:
    """(texts, tokens): the hidden ones, then those of the highest score, `count` in each text; never fewer than before.

    Equal scores are taken from left to right.
    """
    key = scores.double().masked_fill(hidden, torch.inf).masked_fill(~mask, -torch.inf)
    place = key.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    return (place < count[:, None]) & mask | hidden


def hide(
    network: Network,
    explainer: Explainer,
    split: Split,
    hidden: Tensor,
    amounts: Sequence[Amount],
    *,
    target: Target = "gold",
    signed: bool = False,
) -> list[Tensor]:
    """For each amount which tokens of a split are hidden, (tokens,) each, by explanations of the texts as they are now.

    What speaks for the target comes first if `signed`; by default what speaks at all, for or against it.
    """
    found = [hidden.to(split.device).clone() for _ in amounts]
    shown = split.hidden(hidden)
    for rows, batch in shown.to_explain():
        scores = explainer.attribute(network, batch, target)
        address = split.addresses(rows, batch.mask.shape[1])
        before = found[0][address] & batch.mask  # amounts only add, and this batch's texts are in no other
        for result, amount in zip(found, amounts, strict=True):
            after = choose(scores if signed else scores.abs(), batch.mask, before, amount.of(batch.mask.sum(dim=1)))
            result[address[batch.mask]] = after[batch.mask]
    return found


def accumulated(
    network: Network,
    explainer: Explainer,
    split: Split,
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


def packed(hidden: Tensor) -> npt.NDArray[np.uint8]:
    """Eight tokens a byte, to be kept."""
    return np.packbits(hidden.cpu().numpy())


def unpacked(bits: npt.NDArray[np.uint8], split: Split) -> Tensor:
    """The inverse, for the split it was made of."""
    flags = np.unpackbits(bits, count=split.tokens).astype(bool)
    return torch.from_numpy(flags).to(split.device)
