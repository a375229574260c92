"""Which tokens are read to learn how likely some answers are: each sequence once, beginnings that are shared once.

Sequences are put in the order of a tree, so that each begins as the one before it does for as long as any does. What
they share is computed with the first of them and kept; with one passage left out at a time this walks over the passages
on one kept beginning. Neighbours are computed in one batch where that costs less than a call of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.int64]
_LARGEST = 256
"""Sequences of a batch."""


@dataclass(frozen=True)
class Wanted:
    """An answer to a prompt: of each of its tokens the likelihood is wanted."""

    prompt: Tokens
    answer: Tokens

    @property
    def read(self) -> Tokens:
        """What has to be read for that: the last token of the answer predicts nothing that is asked."""
        return np.concatenate([self.prompt, self.answer[:-1]])

    @property
    def first(self) -> int:
        """The first position that predicts a token of the answer."""
        return len(self.prompt) - 1


@dataclass
class Reading:
    """Tokens that are read, the first position whose prediction is wanted, and the numbers of the answers there."""

    tokens: Tokens
    first: int
    asked: list[int] = field(default_factory=list)


class Call(NamedTuple):
    """What is computed at once, behind `shared` tokens that the reading before it has computed.

    Where `ahead` is larger, all begin with so many tokens alike, and these are computed once, before the others.
    """

    readings: tuple[Reading, ...]
    shared: int
    ahead: int

    @property
    def width(self) -> int:
        """Tokens that are computed of each, padding included."""
        return max(len(one.tokens) for one in self.readings) - self.ahead

    @property
    def tokens(self) -> int:
        """All tokens that are computed."""
        return self.ahead - self.shared + len(self.readings) * self.width

    def cost(self, overhead: int) -> int:
        """In tokens; a call is worth `overhead`."""
        return self.tokens + overhead * (1 + (self.ahead > self.shared))


def distinct(wanted: Sequence[Wanted]) -> list[Reading]:
    """What has to be read, in the order of a tree; the beginning of another reading is read with it."""
    reads = [one.read for one in wanted]
    order = sorted(range(len(wanted)), key=lambda number: reads[number].astype(">u4").tobytes())
    found: list[Reading] = []
    for number in reversed(order):
        tokens, first = reads[number], wanted[number].first
        if found and common(tokens, found[-1].tokens) == len(tokens):
            found[-1].first = min(found[-1].first, first)
            found[-1].asked.append(number)
        else:
            found.append(Reading(tokens, first, [number]))
    return found[::-1]


def common(one: Tokens, other: Tokens) -> int:
    """How many tokens two sequences have in common at their beginning."""
    least = min(len(one), len(other))
    differ = one[:least] != other[:least]
    return int(differ.argmax()) if differ.any() else least


def calls(readings: Sequence[Reading], overhead: int, most: int, *, share: bool = True) -> Iterator[Call]:
    """Batches of neighbours: another one joins if that costs less than a call of its own.

    A batch has at most `most` tokens, those that are kept included, unless one reading alone has more.
    """
    begin, before = 0, np.zeros(0, dtype=np.int64)
    while begin < len(readings):
        call = _best(before, readings[begin : begin + 1], overhead, share)
        for end in range(begin + 2, min(len(readings), begin + _LARGEST) + 1):
            some = readings[begin:end]
            if len(some) * max(len(one.tokens) for one in some) > most:
                break
            together = _best(before, some, overhead, share)
            alone = _best(some[-2].tokens, some[-1:], overhead, share)
            if together.cost(overhead) > call.cost(overhead) + alone.cost(overhead):
                break
            call = together
        yield call
        before = call.readings[-1].tokens
        begin += len(call.readings)


def _best(before: Tokens, some: Sequence[Reading], overhead: int, share: bool) -> Call:
    """These at once, with what they share computed ahead where that is cheaper."""
    if not share:
        return Call(tuple(some), 0, 0)
    first = min(one.first for one in some)
    # In the order of a tree the first and the last one share least.
    shared = min(common(before, some[0].tokens), common(before, some[-1].tokens), first)
    at_once = Call(tuple(some), shared, shared)
    ahead = min(common(some[0].tokens, some[-1].tokens), first)
    if len(some) == 1 or ahead <= shared:
        return at_once
    staged = Call(tuple(some), shared, ahead)
    return min(at_once, staged, key=lambda call: call.cost(overhead))
