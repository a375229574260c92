"""Padded sequences of token numbers, and the block on the device that they are gathered from."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.units import taken
from trueness.kinds.text.data.coding import MASK, Coder


@dataclass(frozen=True)
class Sequences:
    """A padded block of token numbers, its lengths, and the mask of real tokens (no padding, begin or end)."""

    tokens: Tensor
    """(batch, length) int64"""
    lengths: Tensor
    """(batch,) int64, begin and end included"""
    mask: Tensor
    """(batch, length) bool"""
    types: Tensor | None = None
    """(batch, length) int64: which text a token belongs to, where a model reads both texts as one sequence."""
    mask_token: int = MASK
    """The number of the mask token."""
    full: bool = False
    """Whether it is known, without asking the device, that no sequence is padded."""

    def to(self, device: str | torch.device) -> Sequences:
        """The same on another device."""
        return self._each(lambda one: one.to(device))

    def rows(self, index: Tensor) -> Sequences:
        """Some examples, in the order given, repeats allowed; padding stays."""
        return self._each(lambda one: taken(one, index))

    def _each(self, change: Callable[[Tensor], Tensor]) -> Sequences:
        types = None if self.types is None else change(self.types)
        return replace(
            self, tokens=change(self.tokens), lengths=change(self.lengths), mask=change(self.mask), types=types
        )

    def cut(self, width: int, *, full: bool) -> Sequences:
        """The first positions alone, of sequences that are no longer than that; `full`: all are just as long."""
        types = None if self.types is None else self.types[:, :width]
        return replace(self, tokens=self.tokens[:, :width], mask=self.mask[:, :width], types=types, full=full)

    def without(self, position: Tensor) -> Sequences:
        """Each row without the token at its position, the rest moved left."""
        keep = torch.arange(self.tokens.shape[1] - 1, device=position.device)
        index = keep + (keep >= position[:, None])
        types = None if self.types is None else self.types.gather(1, index)
        tokens, mask = self.tokens.gather(1, index), self.mask.gather(1, index)
        return replace(self, tokens=tokens, lengths=self.lengths - 1, mask=mask, types=types)

    def masked(self, where: Tensor, token: int | None = None) -> Sequences:
        """The same with the mask token (or another) at `where`, as far as those positions may be explained."""
        chosen = self.mask_token if token is None else token
        return replace(self, tokens=self.tokens.masked_fill(where & self.mask, chosen))


class Block:
    """All sequences of a split, flat on the device; any selection is padded by one gather."""

    def __init__(
        self,
        sequences: Sequence[Sequence[int]],
        coder: Coder,
        device: str | torch.device,
        types: Sequence[Sequence[int]] | None = None,
        explained: Sequence[Sequence[bool]] | None = None,
    ) -> None:
        self.sizes: npt.NDArray[np.int64] = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.flat = _flat(sequences, device)
        self.starts = torch.from_numpy(starts).to(device)
        self.lengths = torch.from_numpy(self.sizes).to(device)
        self.types = None if types is None else _flat(types, device)
        self.explained = None if explained is None else _flat(explained, device).bool()
        self.pad, self.mask_token = coder.pad, coder.mask_token

    def only(self, rows: npt.NDArray[np.int64]) -> Block:
        """Some sequences alone, in the order given."""
        other = copy.copy(self)
        index = torch.from_numpy(rows).to(self.flat.device)
        other.sizes, other.lengths = self.sizes[rows], self.lengths[index]
        begins = torch.cumsum(other.lengths, 0) - other.lengths
        # Of every token that stays its place in the row, and where that row begins among all.
        row = torch.repeat_interleave(torch.arange(len(rows), device=index.device), other.lengths)
        inside = torch.arange(len(row), device=index.device) - begins[row]
        chosen = self.starts[index][row] + inside
        other.starts, other.flat = begins, self.flat[chosen]
        other.types = None if self.types is None else self.types[chosen]
        other.explained = None if self.explained is None else self.explained[chosen]
        return other

    def addresses(self, index: Tensor, width: int) -> Tensor:
        """(..., width): the number that each token has among all; beyond a sequence's end any."""
        position = torch.arange(width, device=self.flat.device)
        return (self.starts[index][..., None] + position).clamp_(max=len(self.flat) - 1)

    def select(self, index: Tensor, width: int, flats: Tensor | None = None) -> Sequences:
        """The sequences of those numbers; with `flats` (models, tokens) index is (models, batch), into one row each."""
        position = torch.arange(width, device=self.flat.device)
        lengths = self.lengths[index]
        inside = position < lengths[..., None]
        address = self.addresses(index, width)
        found = self.flat[address] if flats is None else flats.gather(1, address.flatten(1)).view_as(address)
        tokens = torch.where(inside, found, self.pad)
        types = None if self.types is None else torch.where(inside, self.types[address], 0)
        if self.explained is None:
            mask = inside & (position > 0) & (position < lengths[..., None] - 1)
        else:
            mask = inside & self.explained[address]
        return Sequences(tokens, lengths, mask, types, self.mask_token)


def _flat(sequences: Sequence[Sequence[int]], device: str | torch.device) -> Tensor:
    return torch.from_numpy(np.concatenate([np.asarray(sequence, dtype=np.int64) for sequence in sequences])).to(device)
