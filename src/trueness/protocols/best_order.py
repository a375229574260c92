"""What orders of the units can cost on each example, and what a random one does: the same whatever is on trial.

An explanation's cost of hiding (`protocols.faithfulness`) means something only beside the largest cost there is. That
is searched for with the model alone: units are ordered by what they do to the log odds of the explained class when each
is hidden alone, when it is hidden last, and by the mean of both; the best of the three counts, example by example.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trueness.data.inputs import Batch, Split
from trueness.models.network import Network, inspecting
from trueness.models.packing import in_batches, logits_of
from trueness.protocols.faithfulness import SHARES, places, removal
from trueness.protocols.levels import LEVELS
from trueness.stats.undefined import Bools, Floats, Ints

RANDOM_ORDERS = 2
"""And as many reversed ones, whose cost is the negative."""


@dataclass(frozen=True)
class Singles:
    """(examples,) What an explanation says of single units."""

    first: Floats
    """By how much the log odds fall when the unit that it calls the most important one is hidden alone."""
    place: Floats
    """The rank that it gives the strongest unit: the one of which they fall the most; 0 for the most important one."""
    units: Ints
    """How many there are."""


@dataclass(frozen=True)
class Reference:
    """What the explanations of a model are measured against."""

    cost: Floats
    """(examples,) the largest that was found, at least that of a random order: 0."""
    soft_cost: Floats
    chance: Floats
    """(examples, orders) the cost of random orders."""
    alone: Floats
    """(examples, units) by how much the log odds of the class fall when one unit is hidden; NaN where there is none."""

    def singles(self, scores: Floats, mask: Bools, seed: int = 0) -> Singles:
        """Of an explanation of the first examples."""
        rows, place = np.arange(len(scores)), places(scores, mask, seed)
        alone = np.where(np.isfinite(self.alone[: len(scores)]), self.alone[: len(scores)], -np.inf)
        first = self.alone[rows, place.argmin(axis=1)]
        return Singles(first, place[rows, alone[:, : mask.shape[1]].argmax(axis=1)], mask.sum(axis=1))


def reference(
    network: Network, split: Split, *, levels: Sequence[float] = LEVELS, shares: Sequence[float] = SHARES, seed: int = 0
) -> Reference:
    """Of the classes that the split is labelled with. It takes 2 T + 80 looks at an example of T units."""
    alone, last, mask = _each(network, split)
    orders = [removal(network, split, one, mask, levels=levels, shares=shares) for one in (alone, last, alone + last)]
    chance = []
    for number in range(RANDOM_ORDERS):
        dealt = np.stack(
            [np.random.default_rng([seed, row, number, 2]).random(mask.shape[1]) for row in range(len(mask))]
        )
        cost = removal(network, split, dealt, mask, levels=levels, shares=()).cost
        chance += [cost, -cost]
    nothing = np.zeros(len(mask))
    soft = [one.soft_cost for one in orders] if shares else []
    return Reference(
        np.max([nothing, *(one.cost for one in orders)], axis=0),
        np.max([nothing, *soft], axis=0),
        np.stack(chance, axis=1),
        np.where(mask, alone, np.nan),
    )


def _each(network: Network, split: Split) -> tuple[Floats, Floats, Bools]:
    """(examples, units) what hiding each unit does to the log odds, alone and after all others; and which there are."""
    shown: list[tuple[Sequence[int], Floats, Floats, Bools]] = []
    with inspecting(network):
        for rows, batch in split.to_explain():
            mask = batch.mask
            example, unit = mask.nonzero(as_tuple=True)
            whole, nothing = (_of_class(logits_of(network, one), one.labels) for one in (batch, batch.hide(mask)))
            found = []
            for rest in (False, True):
                fallen = torch.zeros(mask.shape, dtype=torch.float64, device=mask.device)
                fallen[example, unit] = _copies(network, batch, example, unit, rest=rest)
                found.append(fallen)
            one, other = whole[:, None] - found[0], found[1] - nothing[:, None]
            shown.append(
                (rows, *(torch.where(mask, each, 0.0).cpu().numpy() for each in (one, other)), mask.cpu().numpy())
            )
    width = max((part[3].shape[1] for part in shown), default=0)
    tables = [np.zeros((len(split), width)) for _ in range(2)]
    mask_of = np.zeros((len(split), width), dtype=bool)
    for numbers, alone, after, inside in shown:
        for table, values in zip((*tables, mask_of), (alone, after, inside), strict=True):
            table[numbers, : inside.shape[1]] = values
    return tables[0], tables[1], mask_of


def _copies(network: Network, batch: Batch, example: Tensor, unit: Tensor, *, rest: bool) -> Tensor:
    """(copies,) log odds with one unit hidden, or with the rest of them."""
    found = torch.zeros(len(example), dtype=torch.float64, device=example.device)

    def work(copies: Tensor, some: Batch) -> Tensor:
        where = torch.zeros_like(some.mask)
        where[torch.arange(len(copies), device=where.device), unit[copies]] = True
        return _of_class(network.logits(some.hide(some.mask & ~where if rest else where)), some.labels)

    for copies, said in in_batches(network, batch, example, work):
        found[copies] = said
    return found


def _of_class(logits: Tensor, labels: Tensor) -> Tensor:
    return log_odds(logits).gather(1, labels[:, None])[:, 0]


def log_odds(logits: Tensor) -> Tensor:
    """(..., classes) of each class against all others; exact where a probability rounds to 1."""
    own = torch.eye(logits.shape[-1], dtype=torch.bool, device=logits.device)
    some = logits.double()[..., None, :].expand(*logits.shape, -1)
    found: Tensor = logits.double() - some.masked_fill(own, -torch.inf).logsumexp(dim=-1)
    return found
