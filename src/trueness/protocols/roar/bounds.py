"""Comprehensiveness and sufficiency of one model's explanations, between the least and the most that any order gets.

With f(H) the probability of the target when the tokens H are hidden, and H_k the first k tokens of an order of all T,
A(order) = 1/T sum_k f(nothing) - f(H_k), k = 1..T. Comprehensiveness is A of the order by importance; sufficiency is A
of the reversed order, which hides the least important first: what is kept suffices if it is low.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.explainers.contract import Target
from trueness.explainers.outputs import target_class
from trueness.models.network import inspecting
from trueness.models.packing import in_batches
from trueness.stats.undefined import Floats

EXACT = 10
"""Texts of so many tokens or fewer are searched completely: all subsets."""
_FLAT = 1e-6  # a range of probabilities that small cannot be divided by


class Drops:
    """How much of the target's probability is lost when tokens of one text are hidden, for many sets at once."""

    def __init__(self, network: Any, batch: Any, target: Target) -> None:
        self._network, self._batch = network, batch
        self._places = batch.mask[0].nonzero()[:, 0]
        self.size = len(self._places)
        with inspecting(network):
            logits = network.logits(batch)
        self._chosen = int(target_class(logits, batch, target)[0])
        self._whole = float(logits.softmax(dim=-1)[0, self._chosen])

    def __call__(self, sets: npt.NDArray[np.bool_]) -> Floats:
        """(sets,) from truth values (sets, tokens that may be hidden)."""
        chosen = torch.from_numpy(sets).to(self._batch.mask.device)
        rows = torch.zeros(len(sets), dtype=torch.long, device=chosen.device)
        found = np.zeros(len(sets))

        def work(places: Tensor, texts: Any) -> Floats:
            where = torch.zeros_like(texts.mask)
            where[:, self._places] = chosen[places]
            logits = self._network.logits(texts.hide(where))
            probability: Floats = logits.double().softmax(dim=-1)[:, self._chosen].cpu().numpy()
            return probability

        with inspecting(self._network):
            for places, said in in_batches(self._network, self._batch, rows, work):
                found[places.cpu().numpy()] = self._whole - said
        return found

    def log_odds(self, lost: Floats) -> Floats:
        """Of the target, when so much of its probability is lost."""
        kept = np.clip(self._whole - lost, 1e-12, 1 - 1e-12)
        odds: Floats = np.log(kept / (1 - kept))
        return odds

    def along(self, order: npt.NDArray[np.intp]) -> float:
        """A(order)."""
        place = np.argsort(order)
        return float(self(place[None, :] < np.arange(1, self.size + 1)[:, None]).mean())


@dataclass(frozen=True)
class Range:
    """The least and the most that any order of hiding gets; the least and the most found where not exact."""

    low: float
    high: float
    exact: bool


def attainable(drops: Drops, *, beam: int = 5) -> Range:
    """Search the orders: all of them for short texts, else the best and the worst few of every length.

    Of T tokens a beam looks at about T^2 sets for each of those few. Without a beam (0) it is 4 T in all, as many as
    for the curves of two explanations: two orders are tried, by what tokens do at both ends.
    """
    if drops.size <= EXACT:
        return _complete(drops)
    if not beam:
        return _by_both_ends(drops)
    return Range(_beam(drops, beam, -1.0), _beam(drops, beam, 1.0), exact=False)


def _complete(drops: Drops) -> Range:
    """Over the lattice of subsets: the best sum to a set is its own drop and the best sum to a set of one less."""
    size = drops.size
    numbers = np.arange(1 << size)
    members = (numbers[:, None] >> np.arange(size)) & 1 == 1
    value = drops(members)
    value[0] = 0.0
    ends = {}
    for sign in (-1.0, 1.0):
        best = np.full(1 << size, -np.inf)
        best[0] = 0.0
        for count in range(1, size + 1):
            of_size = numbers[members.sum(axis=1) == count]
            before = np.stack(
                [np.where(members[of_size, bit], best[of_size ^ (1 << bit)], -np.inf) for bit in range(size)]
            )
            best[of_size] = sign * value[of_size] + before.max(axis=0)
        ends[sign] = sign * best[-1] / size
    return Range(float(ends[-1.0]), float(ends[1.0]), exact=True)


def _by_both_ends(drops: Drops) -> Range:
    """A by what a token does to the log odds: hidden alone, and hidden last; mean of both, descending and ascending."""
    size = drops.size
    alone = np.eye(size, dtype=bool)
    ends = drops(np.concatenate([alone, ~alone, np.ones((1, size), dtype=bool)]))
    first, last, everything = ends[:size], ends[size:-1], ends[-1]
    effect = drops.log_odds(last) - drops.log_odds(first)
    order = np.argsort(np.stack([effect, -effect]), axis=1, kind="stable")
    place = np.argsort(order, axis=1)
    # Sets of one token, of all but one and of all are known.
    sets = place[:, None] < np.arange(2, size - 1)[None, :, None]
    inner = drops(sets.reshape(-1, size)).reshape(2, -1).sum(axis=1)
    low, high = (inner + first[order[:, 0]] + last[order[:, -1]] + everything) / size
    return Range(float(min(low, high)), float(max(low, high)), exact=False)


def _beam(drops: Drops, width: int, sign: float) -> float:
    """The largest (or with sign -1 the smallest) A found by keeping the best few sets of every size."""
    size = drops.size
    sets, sums = np.zeros((1, size), dtype=bool), np.zeros(1)
    for _ in range(size):
        parent, added = np.nonzero(~sets)
        grown = sets[parent].copy()
        grown[np.arange(len(grown)), added] = True
        unique, back = np.unique(grown, axis=0, return_inverse=True)
        reached = np.full(len(unique), -np.inf)
        np.maximum.at(reached, back.ravel(), sums[parent])
        total = reached + sign * drops(unique)
        keep = np.argsort(-total, kind="stable")[:width]
        sets, sums = unique[keep], total[keep]
    return float(sign * sums.max() / size)


def normalised(drops: Drops, scores: Floats, found: Range, *, signed: bool = False) -> tuple[float, float]:
    """Comprehensiveness and sufficiency of magnitudes, or of signed scores: from 0 (the worst order) to 1 (the best).

    Not a number where hiding hardly changes anything. A search may miss the extremes; what lies beyond counts as 0 or
    1.
    """
    spread = found.high - found.low
    if spread < _FLAT:
        return float("nan"), float("nan")
    order = np.argsort(-(scores if signed else np.abs(scores)), kind="stable")
    comprehensive = (drops.along(order) - found.low) / spread
    sufficient = (found.high - drops.along(order[::-1].copy())) / spread
    return float(np.clip(comprehensive, 0, 1)), float(np.clip(sufficient, 0, 1))
