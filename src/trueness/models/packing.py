"""Copies of texts as batches: alike in length, as many as memory holds, halved where it does not suffice after all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from trueness.errors import NO_MEMORY
from trueness.kinds.text.data.batches import Batch

Found = TypeVar("Found")


class Reader(Protocol):
    """What batches are made for: what a network of texts says of itself."""

    @property
    def embedding(self) -> nn.Embedding:
        """The word vectors, whose numbers all others are like."""
        ...

    @property
    def classes(self) -> int:
        """How many there are."""
        ...

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:
        """About how many numbers a look at a text so long holds for each of its tokens."""
        ...

    def numbers_for_logits(self, width: int, *, gradients: bool = False) -> int:
        """The same where nobody reads attention."""
        ...

    def logits(self, batch: Batch, *, embeddings: Tensor | None = None) -> Tensor:
        """(batch, classes) and nothing else."""
        ...


Work = Callable[[Tensor, Batch], Found]
"""What is computed of some copies, from their places among all copies, and the texts they are copies of."""

_SHARE = 4  # of the free memory that one batch may take: others live there too
_CPU_BYTES = 256 << 20
_MOST_TOKENS = {"cpu": 4096}  # more are no faster: the caches are full
_MOST_ON_GPU = 1 << 17
_FEW_TOKENS = {"cpu": 128}  # below this a call costs more than some padding
_FEW_ON_GPU = 1 << 14
_PADDED = 1.1  # the longest of a batch over its shortest
_found: dict[str, int] = {}


def memory_for_batches(device: torch.device, most: int = _CPU_BYTES) -> int:
    """Bytes for one batch where nobody says: a share of what was free on that device when it was first asked for.

    On a CPU at most so many.
    """
    if str(device) not in _found:
        if device.type == "cuda":
            cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
            _found[str(device)] = (torch.cuda.mem_get_info(device)[0] + cached) // _SHARE
        else:
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 1 << 30
            _found[str(device)] = max(16 << 20, free // _SHARE)
    return _found[str(device)] if device.type == "cuda" else min(most, _found[str(device)])


def in_batches(
    model: Reader,
    batch: Batch,
    row: Tensor,
    work: Work[Found],
    *,
    max_bytes: int | None = None,
    gradients: bool = False,
    weights: bool = False,
    copies: int = 1,
) -> Iterator[tuple[Tensor, Found]]:
    """What `work` says to some copies at a time, with their places; each place once, the shortest texts first.

    `row` (copies,) says of which text each is a copy. A batch is cut to its longest text, and takes no more than
    `max_bytes`, unless one copy alone does. With `weights` the model's attention is read, with `gradients` it is
    differentiated; `work` makes `copies` of every text it is given.
    """
    device = batch.tokens.device
    limit = memory_for_batches(device) if max_bytes is None else max_bytes
    numbers = model.numbers_per_token if weights else model.numbers_for_logits
    size = copies * model.embedding.weight.element_size()
    lengths = batch.text.lengths.cpu().numpy()[row.cpu().numpy()]
    order = np.argsort(lengths, kind="stable")
    needed = {int(length): int(length) * numbers(int(length), gradients=gradients) * size for length in set(lengths)}
    todo = _groups(lengths[order], needed, limit, device.type)
    while todo:
        begin, end = todo.pop(0)
        width = int(lengths[order[end - 1]])
        places = torch.from_numpy(order[begin:end]).to(device)
        texts = batch.rows(row[places]).cut(width, full=int(lengths[order[begin]]) == width)
        try:
            found = work(places, texts)
        except (RuntimeError, MemoryError) as error:
            if end - begin == 1 or not out_of_memory(error):
                raise
            middle = (begin + end) // 2
            todo[:0] = [(begin, middle), (middle, end)]
            continue
        yield places, found


def per_token(model: Reader, batch: Batch, work: Work[Tensor], **looks: Any) -> Tensor:
    """(batch, tokens) from what `work` says to (texts, tokens) of some texts at a time; see `in_batches`."""
    scores = model.embedding.weight.new_zeros(batch.tokens.shape)
    for places, found in in_batches(model, batch, every_text(batch), work, **looks):
        scores[places, : found.shape[1]] = found.to(scores)
    return scores


def logits_of(model: Reader, batch: Batch, max_bytes: int | None = None) -> Tensor:
    """(batch, classes) of every text."""
    logits = model.embedding.weight.new_zeros(len(batch), model.classes)
    every = every_text(batch)
    for places, found in in_batches(model, batch, every, lambda _, texts: model.logits(texts), max_bytes=max_bytes):
        logits[places] = found.to(logits)
    return logits


def every_text(batch: Batch) -> Tensor:
    """(batch,) the number of each text: one copy of each."""
    return torch.arange(len(batch), device=batch.tokens.device)


def _groups(lengths: npt.NDArray[np.int64], needed: dict[int, int], limit: int, device: str) -> list[tuple[int, int]]:
    """Begin and end of every batch, of lengths that rise."""
    most, few = _MOST_TOKENS.get(device, _MOST_ON_GPU), _FEW_TOKENS.get(device, _FEW_ON_GPU)
    found, begin = [], 0
    while begin < len(lengths):
        end = begin
        while end < len(lengths):
            # All copies up to the last one of this length, or as many as fit.
            width = int(lengths[end])
            fitting = begin + max(1, min(limit // needed[width], most // width))
            padded = width > _PADDED * lengths[begin] and (end - begin) * lengths[begin] >= few
            if fitting <= end or padded:
                break
            end = min(int(np.searchsorted(lengths, width, side="right")), fitting)
            if end == fitting:
                break
        found.append((begin, end))
        begin = end
    return found


def out_of_memory(error: BaseException) -> bool:
    """Whether memory did not suffice, on a GPU or a CPU."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or NO_MEMORY in str(error)
