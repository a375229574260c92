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

from trueness.data.units import numbered, seeded, spans, taken
from trueness.kinds.text.data.coding import MASK, PAD, SPECIAL, UNKNOWN, Coder
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.sequences import Block, Sequences


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

    @property
    def lengths(self) -> Tensor:
        """Tokens of each explained text, begin and end included."""
        return self.text.lengths

    @property
    def width(self) -> int:
        """Tokens of each row, padding included."""
        return self.tokens.shape[1]

    @property
    def grid(self) -> tuple[int, ...]:
        """Tokens stand in a row."""
        return (self.tokens.shape[1],)

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
        guide = None if self.guide is None else taken(self.guide, index)
        return Batch(self.text.rows(index), taken(self.labels, index), other, guide)

    def cut(self, width: int, *, full: bool) -> Batch:
        """The same with less padding behind the texts, which are no longer than that; `full`: with none."""
        guide = None if self.guide is None else self.guide[:, :width]
        return replace(self, text=self.text.cut(width, full=full), guide=guide)

    def hide(self, where: Tensor) -> Batch:
        """The same with the tokens at `where` replaced by the mask token."""
        return replace(self, text=self.text.masked(where))

    def finest(self) -> Batch:
        """A token is what a network reads."""
        return self

    def alone(self) -> Iterator[Batch]:
        """One text at a time, without padding."""
        for row, length in enumerate(self.text.lengths.tolist()):
            yield self.rows(torch.tensor([row], device=self.tokens.device)).cut(length, full=True)

    def groups(self) -> Tensor:
        """Each token by itself."""
        return numbered(self.mask)

    def windows(self, size: float) -> tuple[Tensor, list[Tensor]]:
        """Spans of so many tokens."""
        return self.groups(), [spans(count, size) for count in self.mask.sum(dim=-1).tolist()]

    def generators(self, seed: int) -> Iterator[torch.Generator]:
        """Random draws that are fixed by the seed and a text's tokens."""
        for tokens, length in zip(self.tokens.tolist(), self.text.lengths.tolist(), strict=True):
            yield seeded(seed, *tokens[:length])


class EncodedSplit:
    """A split on a device, ready to be batched."""

    def __init__(self, examples: Sequence[TextExample], coder: Coder, device: str | torch.device = "cpu") -> None:
        self.device = torch.device(device)
        coded = [coder.code(example) for example in examples]
        types = [one.types for one in coded if one.types is not None]
        explained = [one.explained for one in coded if one.explained is not None]
        self._text = Block([one.tokens for one in coded], coder, device, types or None, explained or None)
        others = [one.other for one in coded if one.other is not None]
        self._other = Block(others, coder, device) if others else None
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

    def only(self, rows: npt.ArrayLike) -> EncodedSplit:
        """Some texts alone, in the order given."""
        chosen = np.asarray(rows, dtype=np.int64)
        index = torch.from_numpy(chosen).to(self.device)
        other = copy.copy(self)
        other.__dict__.pop("maskable", None)
        other._text, other.labels = self._text.only(chosen), self.labels[index]
        other._other = None if self._other is None else self._other.only(chosen)
        other.guide = None if self.guide is None else self.guide[index]
        return other

    def hidden(self, where: Tensor) -> EncodedSplit:
        """The same texts with the mask token at some tokens: (tokens,) truth values, numbered as in `addresses`."""
        return self._with(self._text.flat.masked_fill(where.to(self.device), self._text.mask_token))

    def _with(self, flat: Tensor) -> EncodedSplit:
        """The same with other tokens."""
        other = copy.copy(self)
        other._text = copy.copy(self._text)
        other._text.flat = flat
        return other

    def labelled(self, labels: npt.ArrayLike) -> EncodedSplit:
        """The same texts under other labels."""
        other = copy.copy(self)
        other.labels = torch.as_tensor(np.asarray(labels, dtype=np.int64), device=self.device)
        return other

    def hidden_at_random(self, seed: int) -> EncodedSplit:
        """Every second text as it is, of the others a random share of tokens masked; drawn anew for every pass."""
        return _HiddenAtRandom(self, seed)

    def outline(self, where: Tensor) -> EncodedSplit:
        """Only which tokens are hidden and how many there are: every token is the mask token or the unknown one.

        The other text of a pair, of which nothing is ever hidden, stays.
        """
        other = self._with(torch.where(where.to(self.device), MASK, UNKNOWN))
        other._text.pad, other._text.mask_token, other._text.types = PAD, MASK, None
        return other

    @property
    def pairs(self) -> bool:
        """Whether another text stands apart beside each one."""
        return self._other is not None

    @property
    def words(self) -> int:
        """One more than the largest token number in the other texts of pairs, else the number of special tokens."""
        return len(SPECIAL) if self._other is None else max(len(SPECIAL), int(self._other.flat.max()) + 1)

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


class StackedSplits:
    """The splits of several models, gathered at once; their texts have the same lengths."""

    def __init__(self, splits: Sequence[EncodedSplit]) -> None:
        self._text, self._other = splits[0]._text, splits[0]._other
        self._texts = torch.stack([split._text.flat for split in splits])
        others = [split._other.flat for split in splits if split._other is not None]
        self._others = torch.stack(others) if others else None
        for split, flat in zip(splits, self._texts, strict=True):
            split.copy_to(flat)
        self.labels = torch.stack([split.labels for split in splits])
        guides = [split.guide for split in splits if split.guide is not None]
        self._guides = torch.stack(guides) if guides else None

    def gather(self, index: Tensor, widths: tuple[int, int]) -> Batch:
        """From numbers of examples (models, batch): a batch whose tensors have the models as their first dimension."""
        models = torch.arange(len(index), device=index.device)[:, None]
        other = None if self._other is None else self._other.select(index, widths[1], self._others)
        guide = None if self._guides is None else self._guides[models, index][:, :, : widths[0]]
        text = self._text.select(index, widths[0], self._texts)
        return Batch(text, self.labels[models, index], other, guide)
