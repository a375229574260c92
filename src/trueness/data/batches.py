"""Padded batches kept on the device; the mask marks the positions that may be explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.examples import TextExample
from trueness.data.vocabulary import MASK, PAD, Vocabulary


@dataclass(frozen=True)
class Sequences:
    """A padded block of token numbers, its lengths, and the mask of real tokens (no padding, begin or end)."""

    tokens: Tensor
    """(batch, length) int64"""
    lengths: Tensor
    """(batch,) int64, begin and end included"""
    mask: Tensor
    """(batch, length) bool"""

    def to(self, device: str | torch.device) -> Sequences:
        """The same on another device."""
        return Sequences(self.tokens.to(device), self.lengths.to(device), self.mask.to(device))


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

        def pick(block: Sequences) -> Sequences:
            return Sequences(block.tokens[index], block.lengths[index], block.mask[index])

        other = None if self.other is None else pick(self.other)
        return Batch(pick(self.text), self.labels[index], other, None if self.guide is None else self.guide[index])

    def masked(self, where: Tensor) -> Batch:
        """The same with the tokens at `where` replaced by the mask token."""
        return replace(self, text=replace(self.text, tokens=self.text.tokens.masked_fill(where & self.mask, MASK)))


class _Block:
    """All sequences of a split, flat on the device; any selection is padded by one gather."""

    def __init__(self, sequences: Sequence[Sequence[int]], device: str | torch.device) -> None:
        self.sizes: npt.NDArray[np.int64] = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
        flat = np.concatenate([np.asarray(sequence, dtype=np.int64) for sequence in sequences])
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.flat = torch.from_numpy(flat).to(device)
        self.starts = torch.from_numpy(starts).to(device)
        self.lengths = torch.from_numpy(self.sizes).to(device)

    def select(self, index: Tensor, width: int) -> Sequences:
        position = torch.arange(width, device=self.flat.device)
        lengths = self.lengths[index]
        inside = position < lengths[:, None]
        address = (self.starts[index][:, None] + position).clamp_(max=len(self.flat) - 1)
        tokens = torch.where(inside, self.flat[address], PAD)
        mask = inside & (position > 0) & (position < lengths[:, None] - 1)
        return Sequences(tokens, lengths, mask)


class EncodedSplit:
    """A split on a device, ready to be batched."""

    def __init__(
        self, examples: Sequence[TextExample], vocabulary: Vocabulary, device: str | torch.device = "cpu"
    ) -> None:
        self.device = torch.device(device)
        self._text = _Block([vocabulary.encode(example.tokens) for example in examples], device)
        others = [example.tokens_b for example in examples]
        self._other = (
            _Block([vocabulary.encode(tokens or ()) for tokens in others], device) if others[0] is not None else None
        )
        self.labels = torch.tensor([example.label for example in examples], device=self.device)
        self.guide: Tensor | None = None
        """(examples, at least the longest length) attention that every batch carries along."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Length of every explained text, begin and end included."""
        return self._text.sizes

    def batch(self, rows: npt.ArrayLike) -> Batch:
        """The examples of those numbers."""
        chosen = np.asarray(rows, dtype=np.intp)
        return self.gather(torch.from_numpy(chosen).to(self.device, non_blocking=True), self.widths(chosen))

    def widths(self, rows: npt.NDArray[np.intp]) -> tuple[int, int]:
        """Length of the longest text and of the longest other text among those examples: known without the device."""
        other = 0 if self._other is None else int(self._other.sizes[rows].max())
        return int(self._text.sizes[rows].max()), other

    def gather(self, index: Tensor, widths: tuple[int, int]) -> Batch:
        """The examples whose numbers are on the device, padded to widths that are large enough."""
        other = None if self._other is None else self._other.select(index, widths[1])
        guide = None if self.guide is None else self.guide[index, : widths[0]]
        return Batch(self._text.select(index, widths[0]), self.labels[index], other, guide)

    def in_order(self, max_tokens: int = 1 << 17) -> Iterator[tuple[npt.NDArray[np.intp], Batch]]:
        """Batches of similar length, shortest first, each with the numbers of its examples: for evaluation.

        No batch has more than `max_tokens` positions, padding included, unless one text alone has.
        """
        order = np.argsort(self.sizes, kind="stable")
        begin = 0
        while begin < len(order):
            # Sorted by length, the last row decides the width: rows * width grows with the number of rows.
            widths = self.sizes[order[begin:]]
            fitting = int(np.searchsorted(np.arange(1, len(widths) + 1) * widths, max_tokens, side="right"))
            rows = order[begin : begin + max(fitting, 1)]
            yield rows, self.batch(rows)
            begin += len(rows)

    def shuffled(self, size: int, rng: np.random.Generator, *, noise: float = 0.1) -> list[npt.NDArray[np.intp]]:
        """Examples of similar length in random order: sort by length with relative noise, cut, shuffle the pieces."""
        noisy = self.sizes * rng.uniform(1 - noise, 1 + noise, len(self))
        order = np.argsort(noisy, kind="stable")
        pieces = [order[begin : begin + size] for begin in range(0, len(order), size)]
        return [pieces[piece] for piece in rng.permutation(len(pieces))]
