"""The order of the values of every row: sorting, and counting how many pairs stand in the wrong order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.stats.undefined import Floats

_BLOCK = 4  # inversions inside blocks of 16 and more are counted pair by pair
_LONG = 128  # from this length on integers are sorted in place of numbers


def ordered(rows: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """What sorts each row, equal values in their order, and the sorted rows. Infinity (what is hidden) is last."""
    width = rows.shape[1]
    if width < _LONG:
        order = np.argsort(rows, axis=1, kind="stable")
        return order, taken(rows, order)
    # Integers are sorted faster: a number's bits, in the order of numbers, with its place for the last of them.
    places = (1 << (width - 1).bit_length()) - 1
    keys = (rows + 0.0).view(np.int64)  # there is one 0
    keys ^= (keys >> 63) & np.iinfo(np.int64).max
    keys &= ~places
    keys |= np.arange(width)
    keys.sort(axis=1)
    keys &= places
    found = taken(rows, keys)
    wrong = (found[:, 1:] < found[:, :-1]).any(axis=1)  # numbers that differ in those last bits alone
    if wrong.any():
        keys[wrong] = np.argsort(rows[wrong], axis=1, kind="stable")
        found[wrong] = taken(rows[wrong], keys[wrong])
    return keys, found


def _flat(order: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Places of every row as places of all rows together."""
    return np.asarray(order + (np.arange(len(order)) * order.shape[1])[:, None])


def taken(rows: npt.NDArray[Any], order: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Every row in its order."""
    return rows.ravel().take(_flat(order))


def inverse(order: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values, each at the place that the order names for it."""
    found = np.empty(order.shape, dtype=values.dtype)
    found.ravel()[_flat(order)] = values
    return found


def inversions(moved: npt.NDArray[Any]) -> Floats:
    """Number of pairs of places in the wrong order, of a permutation per row.

    Places and values are cut into parts of the same length. Pairs in one part of places, or in one of values, are
    counted one by one; all others by how many there are in every part of both.
    """
    rows, width = moved.shape
    if width < 2 or rows == 0:
        return np.zeros(rows)
    bits = max(_BLOCK, math.ceil(math.log2(width / 2) / 2))
    parts, padded = -(-width >> bits), -(-width >> bits) << bits
    values = np.empty((rows, padded), dtype=np.int16 if padded < np.iinfo(np.int16).max else np.int32)
    values[:, :width] = moved
    values[:, width:] = np.arange(width, padded)
    count = _inversions_in_blocks(values.reshape(rows, parts, -1))
    if parts == 1:
        return count
    place = np.arange(padded, dtype=np.int32) >> bits
    by_value = inverse(values, place.astype(np.int8 if parts <= np.iinfo(np.int8).max else np.int32))
    count += _inversions_in_blocks(by_value.reshape(rows, parts, -1))
    cells = (place * (rows * parts) + (np.arange(rows, dtype=np.int32) * parts)[:, None]) + (values >> bits)
    numbers = np.bincount(cells.ravel(), minlength=parts * rows * parts).reshape(parts, rows, parts)
    lower = numbers.cumsum(axis=2)
    later = np.zeros_like(lower[0])  # in parts further right, how many values of this part and of those further down
    for at in range(parts - 1, 0, -1):
        later += lower[at]
        count += np.einsum("rp,rp->r", numbers[at - 1, :, 1:], later[:, :-1])
    return count


def _inversions_in_blocks(blocks: npt.NDArray[Any]) -> Floats:
    rows, number, block = blocks.shape
    columns = np.ascontiguousarray(blocks.reshape(rows * number, block).T)
    small = block <= 256  # else the numbers of pairs do not fit
    count = np.zeros(rows * number, dtype=np.int16 if small else np.int64)
    for apart in range(1, block):
        count += (columns[:-apart] > columns[apart:]).sum(axis=0, dtype=np.uint8 if small else np.uint16)
    return np.asarray(count.reshape(rows, number).sum(axis=1, dtype=np.float64))
