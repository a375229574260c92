"""What hiding words costs a model as it is: comprehensiveness and sufficiency, deletion and insertion, hard and soft.

With f(H) the probability of the explained class when the words H are hidden, T_s the share s of the words that an
explanation calls most important and B_s as many of those that it calls least important,

    D = mean over s of f(B_s) - f(T_s).

f(nothing) - f(T_s) is comprehensiveness (deletion), f(nothing) - f(B_s) sufficiency (insertion); D is their difference.
A random order has D = 0 in expectation whatever the model does with hidden words, and an inverted explanation -D. The
soft variant hides each word at random, the more often the more important it is, so that how much scores differ counts
too; the share that is hidden is the same for all explanations (pi-Soft, 2601.03089; there on entries of embeddings).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueness.data.inputs import Batch, Split
from trueness.models.network import Network, inspecting
from trueness.models.packing import in_batches
from trueness.protocols.levels import LEVELS
from trueness.protocols.result import Result
from trueness.protocols.scoring import Cell, Quantity
from trueness.stats import t_interval
from trueness.stats.undefined import Bools, Floats

SHARES = (0.2, 0.5)
"""Mean chances to be hidden, of the soft variant."""
DRAWS = 2
_LEAST = 1e-3  # of the range of scores: so that every mean chance can be reached
_HALVINGS = 50


@dataclass(frozen=True)
class Removal:
    """(examples, levels) probabilities of the explained class with units hidden, the important or the unimportant."""

    whole: Floats
    """(examples,) with nothing hidden."""
    important: Floats
    unimportant: Floats
    soft_important: Floats
    """(examples, shares), mean over draws."""
    soft_unimportant: Floats

    @property
    def cost(self) -> Floats:
        """(examples,) D: above 0 where what is called important matters more than what is not."""
        found: Floats = (self.unimportant - self.important).mean(axis=1)
        return found

    @property
    def soft_cost(self) -> Floats:
        """(examples,) the same of the soft variant."""
        found: Floats = (self.soft_unimportant - self.soft_important).mean(axis=1)
        return found


COMPREHENSIVENESS = Quantity("comprehensiveness", "higher is better", least=-1.0, most=1.0)
SUFFICIENCY = Quantity("sufficiency", "lower is better", least=-1.0, most=1.0)
COST = Quantity("cost of hiding", "higher is better", null=0.0, least=-1.0, most=1.0)
SOFT_COST = Quantity("cost of hiding, soft", "higher is better", null=0.0, least=-1.0, most=1.0)


def faithfulness(network: Network, split: Split, explained: Mapping[str, tuple[Floats, Bools]], cell: Cell) -> Result:
    """Every method's comprehensiveness, sufficiency and cost of hiding on one model; intervals over examples.

    One record per example, method and share of hidden units. The null of comprehensiveness and sufficiency is what
    a random order gets, the mean of the two.
    """
    import pandas as pd

    records, scores = [], []
    for method, (values, mask) in explained.items():
        found = removal(network, split, values, mask)
        for place, level in enumerate(LEVELS):
            some = {"instance": np.arange(len(mask)), "method": method, "hidden": level, "whole": found.whole}
            both = {"important": found.important[:, place], "unimportant": found.unimportant[:, place]}
            records.append(pd.DataFrame({**some, **both}))
        drops = [(found.whole[:, None] - some).mean(axis=1) for some in (found.important, found.unimportant)]
        null = float(np.mean(drops))
        scores += [
            *COMPREHENSIVENESS.score(cell, method, t_interval(drops[0]), null=null),
            *SUFFICIENCY.score(cell, method, t_interval(drops[1]), null=null),
            *COST.score(cell, method, t_interval(found.cost)),
            *SOFT_COST.score(cell, method, t_interval(found.soft_cost)),
        ]
    return Result(pd.concat(records, ignore_index=True), tuple(scores))


def places(scores: Floats, mask: Bools, seed: int = 0) -> Floats:
    """(examples, units) the rank of each unit, 0 for the most important one; equal scores are in random order."""
    noise = np.stack([np.random.default_rng([seed, row]).random(mask.shape[1]) for row in range(len(mask))])
    order = np.lexsort((noise, np.where(mask, -scores, np.inf)), axis=-1)
    found = np.empty_like(order)
    np.put_along_axis(found, order, np.arange(mask.shape[1])[None], axis=1)
    return found.astype(np.float64)


def chances(scores: Floats, mask: Bools, share: float) -> Floats:
    """(examples, units) chances to be hidden that rise with the scores and have the given mean over each example.

    min(1, c * (a + 0.001)), a being the scores over their range, between 0 and 1, and c found by bisection. Equal
    scores have equal chances.
    """
    low = np.where(mask, scores, np.inf).min(axis=1, keepdims=True)
    high = np.where(mask, scores, -np.inf).max(axis=1, keepdims=True)
    spread = np.where(high > low, high - low, 1.0)
    size = np.where(mask, (scores - low) / spread, 0.0) + _LEAST
    wanted = share * mask.sum(axis=1, keepdims=True)
    least, most = np.zeros((len(mask), 1)), np.full((len(mask), 1), 1 / _LEAST)
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        enough = (np.minimum(1.0, middle * size) * mask).sum(axis=1, keepdims=True) >= wanted
        least, most = np.where(enough, least, middle), np.where(enough, middle, most)
    found: Floats = np.minimum(1.0, most * size) * mask
    return found


def removal(
    network: Network,
    split: Split,
    scores: Floats,
    mask: Bools,
    *,
    levels: Sequence[float] = LEVELS,
    shares: Sequence[float] = SHARES,
    draws: int = DRAWS,
    seed: int = 0,
) -> Removal:
    """Hide by the scores (examples, units) and look again, at the classes that the split is labelled with."""
    place, count = places(scores, mask, seed), mask.sum(axis=1, keepdims=True)
    hidden: list[Bools] = []
    for level in levels:
        number = np.maximum(np.round(level * count), 1)
        hidden += [(place < number) & mask, (place >= count - number) & mask]
    dice = np.stack([np.random.default_rng([seed, row, 1]).random((draws, mask.shape[1])) for row in range(len(mask))])
    for share in shares:
        for sign in (1, -1):
            chance = chances(sign * scores, mask, share)
            hidden += [dice[:, draw] < chance for draw in range(draws)]
    whole, *found = _looks(network, split, [np.zeros_like(mask), *hidden])
    hard = np.stack(found[: 2 * len(levels)], axis=1) if levels else np.zeros((len(mask), 0))
    said = found[2 * len(levels) :]
    soft = (np.stack(said, axis=1) if said else np.zeros((len(mask), 0))).reshape(len(mask), len(shares), 2, draws)
    soft = soft.mean(axis=3)
    return Removal(whole, hard[:, 0::2], hard[:, 1::2], soft[:, :, 0], soft[:, :, 1])


def _looks(network: Network, split: Split, hidden: Sequence[Bools]) -> list[Floats]:
    """For each way to hide (examples, units) the probabilities (examples,) of the labelled classes.

    All ways go through the model together, and what several of them hide of an example is looked at once.
    """
    ways = np.stack(hidden)
    found = np.zeros(ways.shape[:2])
    with inspecting(network):
        for rows, batch in split.to_explain():
            some = ways[:, rows, : batch.mask.shape[1]]
            example = np.broadcast_to(np.arange(len(rows)), some.shape[:2])
            asked = np.concatenate(
                [example[..., None].astype("<u4").view(np.uint8), np.packbits(some, axis=-1)], axis=-1
            )
            _, first, back = np.unique(
                asked.reshape(-1, asked.shape[-1]), axis=0, return_index=True, return_inverse=True
            )
            row = torch.from_numpy(example.reshape(-1)[first]).to(batch.mask.device)
            where = torch.from_numpy(some.reshape(-1, some.shape[-1])[first]).to(batch.mask.device)
            said = _probabilities(network, batch, row, where).cpu().numpy()
            found[:, rows] = said[back.reshape(some.shape[:2])]
    return list(found)


def _probabilities(network: Network, batch: Batch, row: Tensor, where: Tensor) -> Tensor:
    """(copies,) of the labelled classes, of copies of those examples in which the units (copies, units) are hidden."""
    logits = torch.zeros(len(row), network.classes, dtype=network.dtype, device=row.device)

    def work(copies: Tensor, some: Any) -> Tensor:
        return network.logits(some.hide(where[copies, : some.mask.shape[1]]))

    for copies, said in in_batches(network, batch, row, work):
        logits[copies] = said.to(logits)
    return logits.double().softmax(dim=-1).gather(1, batch.labels[row][:, None])[:, 0]
