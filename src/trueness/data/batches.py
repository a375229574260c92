"""Padded batches kept on the device; the mask marks the positions that may be explained."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.coding import MASK, PAD, UNKNOWN, Coder
from trueness.data.examples import TextExample


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

    def to(self, device: str | torch.device) -> Sequences:
        """The same on another device."""
        types = None if self.types is None else self.types.to(device)
        return Sequences(self.tokens.to(device), self.lengths.to(device), self.mask.to(device), types, self.mask_token)

    def rows(self, index: Tensor) -> Sequences:
        """Some examples, in the order given, repeats allowed; padding stays."""
        types = None if self.types is None else self.types[index]
        return Sequences(self.tokens[index], self.lengths[index], self.mask[index], types, self.mask_token)

    def without(self, position: Tensor) -> Sequences:
        """Each row without the token at its position, the rest moved left."""
        keep = torch.arange(self.tokens.shape[1] - 1, device=position.device)
        index = keep + (keep >= position[:, None])
        types = None if self.types is None else self.types.gather(1, index)
        tokens, mask = self.tokens.gather(1, index), self.mask.gather(1, index)
        return Sequences(tokens, self.lengths - 1, mask, types, self.mask_token)

    def masked(self, where: Tensor, token: int | None = None) -> Sequences:
        """The same with the mask token (or another) at `where`, as far as those positions may be explained."""
        return replace(
            self, tokens=self.tokens.masked_fill(where & self.mask, self.mask_token if token is None else token)
        )


@dataclass(frozen=True)
class Batch:
    """Examples as tensors. Only the first text is explained; in pair tasks the other one is auxiliary."""

    text: Sequences
    labels: Tensor
    other: Sequences | None = None
    guide: Tensor | None = None
    """(batch, length) attention from outside, for models that have none of their own."""

    @property
    def mask(self) -> Tensor:
        """True at explainable positions."""
        return self.text.mask

    @property
    def tokens(self) -> Tensor:
        """Token numbers of the explained text."""
        return self.text.tokens

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: str | torch.device) -> Batch:
        """The same on another device."""
        other = None if self.other is None else self.other.to(device)
        guide = None if self.guide is None else self.guide.to(device)
        return Batch(self.text.to(device), self.labels.to(device), other, guide)

    def rows(self, index: Tensor) -> Batch:
        """Some examples, in the order given, repeats allowed; padding stays."""
        other = None if self.other is None else self.other.rows(index)
        guide = None if self.guide is None else self.guide[index]
        return Batch(self.text.rows(index), self.labels[index], other, guide)

    def masked(self, where: Tensor, token: int | None = None) -> Batch:
        """The same with the tokens at `where` replaced by the mask token, or another."""
        return replace(self, text=self.text.masked(where, token))


class _Block:
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

    def addresses(self, index: Tensor, width: int) -> Tensor:
        position = torch.arange(width, device=self.flat.device)
        return (self.starts[index][:, None] + position).clamp_(max=len(self.flat) - 1)

    def select(self, index: Tensor, width: int, flats: Tensor | None = None) -> Sequences:
        """The sequences of those numbers; with `flats` (models, tokens), an equal share of them from each model's."""
        position = torch.arange(width, device=self.flat.device)
        lengths = self.lengths[index]
        inside = position < lengths[:, None]
        address = self.addresses(index, width)
        found = self.flat[address] if flats is None else flats.gather(1, address.view(len(flats), -1)).view_as(address)
        tokens = torch.where(inside, found, self.pad)
        types = None if self.types is None else torch.where(inside, self.types[address], 0)
        if self.explained is None:
            mask = inside & (position > 0) & (position < lengths[:, None] - 1)
        else:
            mask = inside & self.explained[address]
        return Sequences(tokens, lengths, mask, types, self.mask_token)


def _flat(sequences: Sequence[Sequence[int]], device: str | torch.device) -> Tensor:
    return torch.from_numpy(np.concatenate([np.asarray(sequence, dtype=np.int64) for sequence in sequences])).to(device)


class EncodedSplit:
    """A split on a device, ready to be batched."""

    def __init__(self, examples: Sequence[TextExample], coder: Coder, device: str | torch.device = "cpu") -> None:
        self.device = torch.device(device)
        coded = [coder.code(example) for example in examples]
        types = [one.types for one in coded if one.types is not None]
        explained = [one.explained for one in coded if one.explained is not None]
        self._text = _Block([one.tokens for one in coded], coder, device, types or None, explained or None)
        others = [one.other for one in coded if one.other is not None]
        self._other = _Block(others, coder, device) if others else None
        self.labels = torch.tensor([example.label for example in examples], device=self.device)
        self.guide: Tensor | None = None
        """(examples, at least the longest length) attention that every batch carries along."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Length of every explained text, begin and end included."""
        return self._text.sizes

    @property
    def tokens(self) -> int:
        """Tokens of all explained texts, begin and end included."""
        return len(self._text.flat)

    def addresses(self, rows: npt.NDArray[np.intp], width: int) -> Tensor:
        """(rows, width): the number that each token has among all tokens of the split; beyond a text's end any."""
        return self._text.addresses(torch.from_numpy(rows).to(self.device), width)

    @functools.cached_property
    def maskable(self) -> Tensor:
        """(tokens,) which tokens may be hidden."""
        found = torch.zeros(self.tokens, dtype=torch.bool, device=self.device)
        for rows, batch in self.in_order():
            found[self.addresses(rows, batch.mask.shape[1])[batch.mask]] = True
        return found

    def hidden(self, where: Tensor) -> EncodedSplit:
        """The same texts with the mask token at some tokens: (tokens,) truth values, numbered as in `addresses`."""
        other = copy.copy(self)
        other._text = copy.copy(self._text)
        other._text.flat = self._text.flat.masked_fill(where.to(self.device), self._text.mask_token)
        return other

    def hidden_at_random(self, seed: int) -> EncodedSplit:
        """Every second text as it is, of the others a random share of tokens masked; drawn anew for every pass."""
        return _HiddenAtRandom(self, seed)

    def outline(self, where: Tensor) -> EncodedSplit:
        """Only which tokens are hidden and how many there are: every token is the mask token or the unknown one."""
        other = copy.copy(self)
        other._text = copy.copy(self._text)
        other._text.flat = torch.where(where.to(self.device), MASK, UNKNOWN)
        other._text.pad, other._text.mask_token, other._text.types = PAD, MASK, None
        other._other = None
        return other

    def batch(self, rows: npt.ArrayLike) -> Batch:
        """The examples of those numbers."""
        chosen = np.asarray(rows, dtype=np.intp)
        return self.gather(torch.from_numpy(chosen).to(self.device, non_blocking=True), self.widths(chosen))

    def widths(self, rows: npt.NDArray[np.intp]) -> tuple[int, int]:
        """Length of the longest text and of the longest other text among those examples: known without the device."""
        other = 0 if self._other is None else int(self._other.sizes[rows].max())
        return int(self._text.sizes[rows].max()), other

    @property
    def longest(self) -> tuple[int, int]:
        """The widths that hold every example."""
        return self.widths(np.arange(len(self)))

    def gather(self, index: Tensor, widths: tuple[int, int]) -> Batch:
        """The examples whose numbers are on the device, padded to widths that are large enough."""
        other = None if self._other is None else self._other.select(index, widths[1])
        guide = None if self.guide is None else self.guide[index, : widths[0]]
        return Batch(self._text.select(index, widths[0]), self.labels[index], other, guide)

    def in_order(self, max_tokens: int = 1 << 17) -> Iterator[tuple[npt.NDArray[np.intp], Batch]]:
        """Batches of similar length, shortest first, each with the numbers of its examples: for evaluation.

        No batch has more than `max_tokens` positions, padding included, unless one text alone has.
        """
        for rows in self.rows_in_order(max_tokens):
            yield rows, self.batch(rows)

    def rows_in_order(self, max_tokens: int) -> Iterator[npt.NDArray[np.intp]]:
        """The numbers of the examples of these batches."""
        order = np.argsort(self.sizes, kind="stable")
        begin = 0
        while begin < len(order):
            # Sorted by length, the last row decides the width: rows * width grows with the number of rows.
            widths = self.sizes[order[begin:]]
            fitting = int(np.searchsorted(np.arange(1, len(widths) + 1) * widths, max_tokens, side="right"))
            yield order[begin : begin + max(fitting, 1)]
            begin += max(fitting, 1)

    def to_explain(self) -> Iterator[tuple[npt.NDArray[np.intp], Batch]]:
        """The same in smaller batches: an explanation takes more memory than a look."""
        return self.in_order(1 << 15 if self.on_gpu else 1 << 12)

    def shuffled(self, size: int, rng: np.random.Generator, *, noise: float = 0.1) -> list[npt.NDArray[np.intp]]:
        """Examples of similar length in random order: sort by length with relative noise, cut, shuffle the pieces."""
        pieces = self.sorted_pieces(size, rng, noise=noise)
        return [pieces[piece] for piece in rng.permutation(len(pieces))]

    def sorted_pieces(self, size: int, rng: np.random.Generator, *, noise: float = 0.1) -> list[npt.NDArray[np.intp]]:
        """Examples of similar length, the shortest first: sorted by length with relative noise, and cut."""
        noisy = self.sizes * rng.uniform(1 - noise, 1 + noise, len(self))
        order = np.argsort(noisy, kind="stable")
        return [order[begin : begin + size] for begin in range(0, len(order), size)]

    def copy_to(self, flat: Tensor) -> None:
        """Write there as well what is drawn anew for every pass: nothing, if the texts stay as they are."""

    @property
    def on_gpu(self) -> bool:
        """Whether the texts are in a GPU's memory."""
        return self.device.type == "cuda"


class _HiddenAtRandom(EncodedSplit):
    """For training under all amounts of masking at once."""

    def __init__(self, split: EncodedSplit, seed: int) -> None:
        self.__dict__.update(split.__dict__)
        self._clean, self._seed, self._draws = split._text, seed, 0
        self._copies: list[Tensor] = []
        self._text = copy.copy(split._text)
        self._text.flat = split._text.flat.clone()  # changed in place: recorded steps read from here
        self._draw()

    def sorted_pieces(self, size: int, rng: np.random.Generator, *, noise: float = 0.1) -> list[npt.NDArray[np.intp]]:
        self._draw()
        return super().sorted_pieces(size, rng, noise=noise)

    def copy_to(self, flat: Tensor) -> None:
        self._copies.append(flat)

    def _draw(self) -> None:
        rng = np.random.default_rng([self._seed, self._draws, *b"hidden"])
        self._draws += 1
        share = np.where(rng.random(len(self)) < 0.5, 0.0, rng.random(len(self)))
        drawn = rng.random(self.tokens) < np.repeat(share, self.sizes)
        where = torch.from_numpy(drawn).to(self.device) & self.maskable
        flat = self._clean.flat.masked_fill(where, self._clean.mask_token)
        for place in (self._text.flat, *self._copies):
            place.copy_(flat)
