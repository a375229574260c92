"""Prompts on a device: which units there are, and what is read with some hidden.

A hidden passage, sentence or word is taken out of the prompt. A hidden token shows another one, that says nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.units import numbered, seeded, spans
from trueness.errors import Unsupported
from trueness.kinds.prompt.data.coding import OUTSIDE, Coded
from trueness.kinds.prompt.data.prompts import PromptExample

_EXPLAINED = 1 << 14
"""Tokens of a batch that is explained."""


@dataclass(frozen=True)
class PromptBatch:
    """Some prompts as tensors. Its units are passages, sentences or words, unless it is `finest`: then tokens."""

    coded: tuple[Coded, ...]
    tokens: Tensor
    """(prompts, tokens)"""
    lengths: Tensor
    unit: Tensor
    """(prompts, tokens) the unit that each token belongs to, or -1."""
    block: Tensor
    """(prompts, tokens) the unit that each token is taken out with, or -1."""
    there: Tensor
    """(prompts, units) true at units that have a token."""
    gone: Tensor
    """(prompts, units) true at hidden ones."""
    labels: Tensor
    blank: int | None
    """The token that stands in the place of hidden ones; None: they are taken out."""
    by_token: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def width(self) -> int:
        """Tokens of each prompt, padding included."""
        return self.tokens.shape[1]

    @property
    def mask(self) -> Tensor:
        """(prompts, units) true at explainable units; `finest`: (prompts, tokens)."""
        return self.unit >= 0 if self.by_token else self.there

    @property
    def grid(self) -> tuple[int, ...]:
        """Units stand in a row."""
        return (self.mask.shape[1],)

    def rows(self, index: Tensor) -> PromptBatch:
        """Some of the prompts, in the order given, repeats allowed."""
        return replace(
            self,
            coded=tuple(self.coded[row] for row in index.tolist()),
            **{name: getattr(self, name)[index] for name in _TENSORS},
        )

    def cut(self, width: int, *, full: bool) -> PromptBatch:  # noqa: ARG002  # padding is never read
        """The same with less padding behind the prompts."""
        return replace(self, **{name: getattr(self, name)[:, :width] for name in ("tokens", "unit", "block")})

    def hide(self, where: Tensor) -> PromptBatch:
        """The same with units hidden; of `finest` with those units hidden that have a token there."""
        return replace(self, gone=self.gone | (self._units_at(where) if self.by_token else where))

    def _units_at(self, where: Tensor) -> Tensor:
        hit = torch.zeros(self.gone.shape, dtype=torch.int32, device=where.device)
        return hit.scatter_add_(1, self.unit.clamp(min=0), (where & (self.unit >= 0)).int()) > 0

    def summed(self, per_token: Tensor) -> Tensor:
        """(prompts, units) the sum over the tokens of each unit; `finest`: what tokens of units have."""
        unit = self.unit[:, : per_token.shape[1]]
        inside = per_token * (unit >= 0)
        if self.by_token:
            return inside
        found = torch.zeros(self.there.shape, dtype=per_token.dtype, device=per_token.device)
        return found.scatter_add_(1, unit.clamp(min=0), inside)

    def finest(self) -> PromptBatch:
        """The same token by token."""
        return replace(self, by_token=True)

    def alone(self) -> Iterator[PromptBatch]:
        """One prompt at a time, without padding."""
        for row, length in enumerate(self.lengths.tolist()):
            yield self.rows(torch.tensor([row], device=self.tokens.device)).cut(length, full=True)

    def groups(self) -> Tensor:
        """Each unit by itself; `finest`: the tokens of one unit together."""
        each = numbered(self.there)
        if not self.by_token:
            return each
        return torch.where(self.unit >= 0, each.gather(1, self.unit.clamp(min=0)), OUTSIDE)

    def windows(self, size: float) -> tuple[Tensor, list[Tensor]]:
        """Spans of so many units."""
        return self.groups(), [spans(count, size) for count in self.there.sum(dim=-1).tolist()]

    def generators(self, seed: int) -> Iterator[torch.Generator]:
        """Random draws that are fixed by the seed and a prompt's tokens."""
        return (seeded(seed, *one.tokens) for one in self.coded)

    @property
    def kept(self) -> Tensor:
        """(prompts, tokens) true at tokens that are read."""
        inside = torch.arange(self.width, device=self.tokens.device) < self.lengths[:, None]
        if self.blank is not None:
            return inside
        out = (self.block >= 0) & self.gone.gather(1, self.block.clamp(min=0))
        return inside & ~out

    @property
    def read(self) -> Tensor:
        """(prompts, tokens) their numbers, with the blank one in the place of hidden ones."""
        if self.blank is None:
            return self.tokens
        hidden = (self.unit >= 0) & self.gone.gather(1, self.unit.clamp(min=0))
        return self.tokens.masked_fill(hidden, self.blank)

    def shown_examples(self) -> list[PromptExample]:
        """The examples without what is hidden, for a function that is asked about their text."""
        return [_without(one, gone) for one, gone in zip(self.coded, self.gone.tolist(), strict=True)]


_TENSORS = ("tokens", "lengths", "unit", "block", "there", "gone", "labels")


def _without(coded: Coded, gone: Sequence[bool]) -> PromptExample:
    example = coded.example
    texts: dict[int, list[str]] = {}
    for name, passage, out in zip(coded.names, coded.passages, gone, strict=False):
        if not out:
            texts.setdefault(passage, []).append(name)
    if not any(gone):
        return example
    whole = {passage: " ".join(some) for passage, some in texts.items()}
    if not example.contexts:
        return replace(example, question=whole.get(OUTSIDE, ""))
    kept = [number for number in range(len(example.contexts)) if number in whole]
    order, numbers = (
        None if some is None else tuple(some[number] for number in kept) for some in (example.order, example.numbers)
    )
    contexts = tuple(whole[number] for number in kept)
    return replace(example, contexts=contexts, citations=None, order=order, numbers=numbers)


class PromptSplit:
    """Prompts on a device, ready to be batched."""

    def __init__(
        self,
        coded: Sequence[Coded],
        labels: npt.ArrayLike,
        device: str | torch.device = "cpu",
        blank: int | None = None,
    ) -> None:
        """A hidden token shows `blank`; without one, hidden units are taken out."""
        self.device = torch.device(device)
        self.coded, self._blank_token = tuple(coded), blank
        self.labels = torch.tensor(np.asarray(labels, dtype=np.int64), device=self.device)
        self.sizes: npt.NDArray[np.int64] = np.array([len(one.names) for one in coded], dtype=np.int64)
        self._first_units = np.concatenate([[0], np.cumsum(self.sizes)])
        self._units_gone = torch.zeros(self.tokens, dtype=torch.bool, device=self.device)
        self._draws_gone: np.random.Generator | None = None

    def __len__(self) -> int:
        return len(self.coded)

    @property
    def tokens(self) -> int:
        """Units of all prompts."""
        return int(self.sizes.sum())

    @property
    def maskable(self) -> Tensor:
        """(tokens,) which units may be hidden: those that have a token."""
        found = [number in set(one.unit) for one in self.coded for number in range(len(one.names))]
        return torch.tensor(found, dtype=torch.bool, device=self.device)

    def addresses(self, rows: npt.NDArray[np.intp], width: int) -> Tensor:
        """(rows, width) the number of each unit among all units of the split; beyond a prompt's last one any."""
        first = torch.from_numpy(self._first_units[np.asarray(rows, dtype=np.int64)]).to(self.device)
        return (first[:, None] + torch.arange(width, device=self.device)).clamp(max=max(self.tokens - 1, 0))

    def hidden(self, where: Tensor) -> PromptSplit:
        """The same with some units hidden: (tokens,) truth values."""
        other = copy.copy(self)
        other._units_gone = self._units_gone | where.to(self.device)
        return other

    def outline(self, where: Tensor) -> NoReturn:  # noqa: ARG002
        """Prompts have no outline that a model of theirs could be trained on: Unsupported."""
        raise Unsupported("Language models are not trained on which units are hidden.")

    def hidden_at_random(self, seed: int) -> PromptSplit:
        """Every second prompt as it is, of the others a random share of units hidden; drawn anew for every pass."""
        other = copy.copy(self)
        other._draws_gone = np.random.default_rng([seed, *b"hidden"])
        return other

    def only(self, rows: npt.ArrayLike) -> PromptSplit:
        """Some prompts alone, in the order given."""
        chosen = np.asarray(rows, dtype=np.int64)
        labels = self.labels[torch.from_numpy(chosen).to(self.device)].cpu().numpy()
        other = PromptSplit([self.coded[row] for row in chosen.tolist()], labels, self.device, self._blank_token)
        gone = [self._units_gone[self._first_units[row] : self._first_units[row + 1]] for row in chosen.tolist()]
        other._units_gone = torch.cat([self._units_gone[:0], *gone])
        return other

    def labelled(self, labels: npt.ArrayLike) -> PromptSplit:
        """The same under other labels."""
        other = copy.copy(self)
        other.labels = torch.as_tensor(np.asarray(labels, dtype=np.int64), device=self.device)
        return other

    def batch(self, rows: npt.ArrayLike) -> PromptBatch:
        """The prompts of those numbers."""
        chosen = np.asarray(rows, dtype=np.int64)
        some = tuple(self.coded[row] for row in chosen.tolist())
        lengths = [len(one.tokens) for one in some]
        units = max((len(one.names) for one in some), default=0)
        wide = (len(some), max(lengths, default=0))

        def padded(parts: Sequence[Sequence[int]], filling: int) -> Tensor:
            made = np.full(wide, filling, dtype=np.int64)
            for row, part in enumerate(parts):
                made[row, : len(part)] = part
            return torch.from_numpy(made).to(self.device)

        unit = padded([one.unit for one in some], OUTSIDE)
        there = torch.zeros(len(some), max(units, 1), dtype=torch.int32, device=self.device)
        there.scatter_add_(1, unit.clamp(min=0), (unit >= 0).int())
        inside = torch.arange(max(units, 1)) < torch.from_numpy(self.sizes[chosen])[:, None]
        gone = self._units_gone[self.addresses(chosen, max(units, 1))] if self.tokens else there > 0
        return PromptBatch(
            some,
            padded([one.tokens for one in some], 0),
            torch.tensor(lengths, device=self.device),
            unit,
            padded([one.block for one in some], OUTSIDE),
            there > 0,
            self._drawn(gone & inside.to(self.device)),
            self.labels[torch.from_numpy(chosen).to(self.device)],
            self._blank_token,
        )

    def _drawn(self, gone: Tensor) -> Tensor:
        if self._draws_gone is None:
            return gone
        share = np.where(self._draws_gone.random(len(gone)) < 0.5, 0.0, self._draws_gone.random(len(gone)))
        return gone | torch.from_numpy(self._draws_gone.random(gone.shape) < share[:, None]).to(self.device)

    def in_order(self, max_tokens: int = 1 << 17) -> Iterator[tuple[npt.NDArray[np.intp], PromptBatch]]:
        """Batches of similar length, shortest first, each with the numbers of its prompts."""
        lengths = np.array([len(one.tokens) for one in self.coded], dtype=np.int64)
        order = np.argsort(lengths, kind="stable")
        begin = 0
        while begin < len(order):
            widths = lengths[order[begin:]]
            fitting = int(np.searchsorted(np.arange(1, len(widths) + 1) * widths, max_tokens, side="right"))
            rows = order[begin : begin + max(fitting, 1)]
            yield rows, self.batch(rows)
            begin += len(rows)

    def to_explain(self) -> Iterator[tuple[npt.NDArray[np.intp], PromptBatch]]:
        """The same in smaller batches: an explanation takes more memory than a look."""
        return self.in_order(_EXPLAINED)

    def shuffled(self, size: int, rng: np.random.Generator, **_: Any) -> list[npt.NDArray[np.intp]]:
        """Numbers of prompts in random order, so many at a time."""
        order = rng.permutation(len(self))
        return [order[begin : begin + size] for begin in range(0, len(order), size)]
