"""Numbers of units, and windows over them, for kinds whose units stand in a row."""

from __future__ import annotations

import torch
from torch import Tensor


def numbered(mask: Tensor) -> Tensor:
    """(examples, units) each explained unit's number among those of its example, -1 elsewhere."""
    return torch.where(mask, mask.cumsum(dim=-1) - 1, -1)


def spans(count: int, size: float) -> Tensor:
    """(spans, count) what is kept when each span of so many neighbours is hidden; below 1 `size` is a share of them."""
    length = max(1, round(size * count)) if size < 1 else int(size)
    begin = torch.arange(max(count - length, 0) + 1)[:, None]
    number = torch.arange(count)
    return (number < begin) | (number >= begin + length)


def seeded(*numbers: int) -> torch.Generator:
    """Random draws that are fixed by some numbers, the seed first."""
    seed, *rest = numbers
    # Python's hashes of -1 and -2 are one; of large numbers they are the rest by 2**61 - 1.
    return torch.Generator().manual_seed(hash((seed % 2**60, *rest)) % 2**63)


def taken(values: Tensor, index: Tensor) -> Tensor:
    """The rows of those numbers; of a single row, all 0, views: on a GPU a short text waits for every launch."""
    return values.expand(len(index), *values.shape[1:]) if len(values) == 1 else values[index]
