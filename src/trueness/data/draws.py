"""Random numbers by counting: what an image draws is fixed by the seed and its number, in any company."""

from __future__ import annotations

import torch
from torch import Tensor

_STEP, _FIRST, _SECOND = -7046029254386353131, -4658895280553007687, -7723592293110705685  # of SplitMix64, signed
_BITS = 24
"""Of a number between 0 and 1: all that single precision holds."""


def uniform(seed: int, numbers: Tensor, count: int, stream: int = 0, first: int = 0) -> Tensor:
    """(numbers, count) from [0, 1): for each of the numbers its own sequence, from its `first` on.

    Streams of one seed are independent.
    """
    begin = _mixed(numbers.long() + _mixed(torch.full((), seed * 1000 + stream, device=numbers.device)))
    places = torch.arange(first, first + count, device=numbers.device) * _STEP
    mixed = _mixed(begin[:, None] + places[None])
    return _shifted(mixed, 64 - _BITS, mixed).float().mul_(2.0**-_BITS)


def _mixed(values: Tensor) -> Tensor:
    """SplitMix64 (Steele et al. 2014) on 64-bit integers, which wrap around."""
    values = values + _STEP
    spare = torch.empty_like(values)  # new memory costs as much as what is computed
    values.bitwise_xor_(_shifted(values, 30, spare)).mul_(_FIRST)
    values.bitwise_xor_(_shifted(values, 27, spare)).mul_(_SECOND)
    return values.bitwise_xor_(_shifted(values, 31, spare))


def _shifted(values: Tensor, places: int, out: Tensor) -> Tensor:
    """To the right, zeros coming in: torch shifts the sign."""
    return torch.bitwise_right_shift(values, places, out=out).bitwise_and_((1 << (64 - places)) - 1)
