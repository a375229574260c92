"""Which units are hidden next: the most important ones by a model's explanations, those already hidden kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

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


def choose(scores: Tensor, mask: Tensor, hidden: Tensor, owner: Tensor, count: Tensor) -> Tensor:
    """(units,): the hidden ones, then those of the highest score, `count` of each example; never fewer than before.

    All are of one split, example by example; `owner` is the number of the example that a unit belongs to. Equal scores
    are taken from left to right.
    """
    key = scores.double().masked_fill(hidden, torch.inf).masked_fill(~mask, -torch.inf)
    order = key.argsort(descending=True, stable=True)
    order = order[owner[order].argsort(stable=True)]
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device)
    first = torch.searchsorted(owner, torch.arange(len(count), device=owner.device))
    return (rank - first[owner] < count[owner]) & mask | hidden


def importance(
    network: Any,
    explainer: Explainer,
    split: Split,
    hidden: Tensor,
    *,
    target: Target = "gold",
    signed: bool = False,
) -> Tensor:
    """(units,) of a split: the higher, the sooner hidden; by explanations of its examples as they are now.

    What speaks for the target comes first if `signed`; by default what speaks at all, for or against it.
    """
    found = torch.zeros(split.tokens, dtype=torch.double, device=split.device)
    for rows, batch in split.hidden(hidden).to_explain():
        scores = explainer.attribute(network, batch, target)
        address = split.addresses(rows, batch.mask.shape[1])
        found[address[batch.mask]] = (scores if signed else scores.abs())[batch.mask].double()
    return found


def hide_more(split: Split, scores: Tensor, hidden: Tensor, amount: Amount) -> Tensor:
    """(units,) which units are hidden when so much of every example is, those already hidden among them."""
    sizes = torch.from_numpy(split.sizes).to(split.device)
    owner = torch.repeat_interleave(torch.arange(len(split), device=split.device), sizes)
    mask = split.maskable
    count = torch.zeros(len(split), dtype=torch.long, device=split.device).index_add_(0, owner, mask.long())
    return choose(scores, mask, hidden.to(split.device), owner, amount.of(count))


def hide(
    network: Any,
    explainer: Explainer,
    split: Split,
    hidden: Tensor,
    amounts: Sequence[Amount],
    *,
    target: Target = "gold",
    signed: bool = False,
) -> list[Tensor]:
    """For each amount which units of a split are hidden, (units,) each, by explanations as `importance` has them."""
    scores = importance(network, explainer, split, hidden, target=target, signed=signed)
    return [hide_more(split, scores, hidden, amount) for amount in amounts]


def accumulated(
    network: Network,
    explainer: Explainer,
    split: Split,
    amounts: Sequence[Amount],
    target: Target = "gold",
) -> Floats:
    """(amounts,): the share of all magnitude that the top units hold, mean over examples; those without any left out.

    Uniform scores give a share of the units as much; one unit that holds everything gives 1 at once.
    """
    nothing = torch.zeros(split.tokens, dtype=torch.bool, device=split.device)
    size = importance(network, explainer, split, nothing, target=target)
    owner = np.repeat(np.arange(len(split)), split.sizes)

    def totals(chosen: Tensor) -> Floats:
        weights = (size * chosen).cpu().numpy()
        return np.asarray(np.bincount(owner, weights, len(split)), dtype=np.float64)

    whole = totals(split.maskable)
    some = whole > 0
    if not some.any():
        return np.full(len(amounts), np.nan)
    tops = [totals(hide_more(split, size, nothing, amount)) for amount in amounts]
    return np.array([float((top[some] / whole[some]).mean()) for top in tops])


def packed(hidden: Tensor) -> npt.NDArray[np.uint8]:
    """Eight tokens a byte, to be kept."""
    return np.packbits(hidden.cpu().numpy())


def unpacked(bits: npt.NDArray[np.uint8], split: Split) -> Tensor:
    """The inverse, for the split it was made of."""
    flags = np.unpackbits(bits, count=split.tokens).astype(bool)
    return torch.from_numpy(flags).to(split.device)
