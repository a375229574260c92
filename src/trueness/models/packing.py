"""Copies of examples as batches: alike in size, as many as memory holds, halved where it does not suffice after all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.errors import NO_MEMORY
from trueness.models.network import Network

Found = TypeVar("Found")


Work = Callable[[Tensor, Any], Found]
"""What is computed of some copies, from their numbers among all copies, and the examples they are copies of."""

_SHARE = 4  # of the free memory that one batch may take: others live there too
_FEW_TOKENS = {"cpu": 128}  # below this a call costs more than some padding
_FEW_ON_GPU = 1 << 14
_PADDED = 1.1  # the longest of a batch over its shortest
_found: dict[str, int] = {}


def memory_for_batches(device: torch.device, most: int = Network.cpu_bytes) -> int:
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
    model: Network,
    batch: Any,
    row: Tensor,
    work: Work[Found],
    *,
    max_bytes: int | None = None,
    gradients: bool = False,
    weights: bool = False,
    copies: int = 1,
) -> Iterator[tuple[Tensor, Found]]:
    """What `work` says to some copies at a time, with their numbers; each copy once, the shortest examples first.

    `row` (copies,) says of which example each is a copy. A batch is cut to its longest example, and takes no more than
    `max_bytes`, unless one copy alone does. With `weights` the model's attention is read, with `gradients` it is
    differentiated; `work` makes `copies` of every example it is given.
    """
    device = batch.labels.device
    limit = memory_for_batches(device, model.cpu_bytes) if max_bytes is None else max_bytes
    numbers = model.numbers_per_token if weights else model.numbers_for_logits
    size = copies * model.dtype.itemsize
    lengths = batch.lengths.cpu().numpy()[row.cpu().numpy()]
    order = np.argsort(lengths, kind="stable")
    needed = {int(length): int(length) * numbers(int(length), gradients=gradients) * size for length in set(lengths)}
    at_most = {width: min(limit // each, model.most_at_once(width, device.type)) for width, each in needed.items()}
    todo = _groups(lengths[order], at_most, device.type)
    while todo:
        begin, end = todo.pop(0)
        width = int(lengths[order[end - 1]])
        places = torch.from_numpy(order[begin:end]).to(device)
        examples = batch.rows(row[places]).cut(width, full=int(lengths[order[begin]]) == width)
        try:
            found = work(places, examples)
        except (RuntimeError, MemoryError) as error:
            if end - begin == 1 or not out_of_memory(error):
                raise
            middle = (begin + end) // 2
            todo[:0] = [(begin, middle), (middle, end)]
            continue
        yield places, found


def per_unit(model: Network, batch: Any, work: Work[Tensor], **looks: Any) -> Tensor:
    """(examples, units) from what `work` says to (some, units) of some examples at a time; see `in_batches`."""
    scores = torch.zeros(batch.mask.shape, dtype=model.dtype, device=batch.labels.device)
    for places, found in in_batches(model, batch, every_example(batch), work, **looks):
        scores[places, : found.shape[1]] = found.to(scores)
    return scores


def logits_of(model: Network, batch: Any, max_bytes: int | None = None) -> Tensor:
    """(examples, classes) of every example."""
    logits = torch.zeros(len(batch), model.classes, dtype=model.dtype, device=batch.labels.device)
    every = every_example(batch)
    for places, found in in_batches(model, batch, every, lambda _, some: model.logits(some), max_bytes=max_bytes):
        logits[places] = found.to(logits)
    return logits


def every_example(batch: Any) -> Tensor:
    """(examples,) the number of each: one copy of each."""
    return torch.arange(len(batch), device=batch.labels.device)


def _groups(lengths: npt.NDArray[np.int64], at_most: dict[int, int], device: str) -> list[tuple[int, int]]:
    """Begin and end of every batch, of lengths that rise; `at_most` says how many of each length fit."""
    few = _FEW_TOKENS.get(device, _FEW_ON_GPU)
    found, begin = [], 0
    while begin < len(lengths):
        end = begin
        while end < len(lengths):
            # All copies up to the last one of this length, or as many as fit.
            width = int(lengths[end])
            fitting = begin + max(1, at_most[width])
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
