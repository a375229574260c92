"""The recurrence of many LSTMs as two kernels of a GPU.

A program takes a few rows of one LSTM through all of its tokens, with the layer's weights in shared memory. Nothing is
launched from token to token, and a stack of models keeps only as many of a GPU's processors busy as it has programs:
several stacks run side by side.

Products are of 16-bit numbers, which have as many digits as TF32, and are added up in 32 bits; states, cells and gates
have 32 bits. Gradients may be too small for 16 bits: each row is divided by its largest number first.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

WIDEST = 128
"""Units of a layer: the weights of more do not fit into shared memory."""


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit(do_not_specialize=["batch", "tokens"])
def _forwards(
    gates,
    weight,
    states,
    before,
    cells,
    saved,
    batch,
    tokens,
    HIDDEN: tl.constexpr,  # noqa: N803  # the custom for what is compiled in
    PADDED: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr,  # noqa: N803
    KEEP: tl.constexpr,  # noqa: N803
):
    group, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    local, units = tl.arange(0, ROWS)[:, None], tl.arange(0, PADDED)
    inside = (block * ROWS + local < batch) & (units < HIDDEN)[None, :]
    square = (units < HIDDEN)[:, None] & (units < HIDDEN)[None, :]
    # The weights of each gate, (from, to); they stay on the processor. Those of padded units are 0.
    size = HIDDEN * HIDDEN
    inner = weight + group * 4 * size + units[None, :] * HIDDEN + units[:, None]
    to_entering = tl.load(inner, square, 0.0).to(tl.float16)
    to_forgetting = tl.load(inner + size, square, 0.0).to(tl.float16)
    to_new = tl.load(inner + 2 * size, square, 0.0).to(tl.float16)
    to_leaving = tl.load(inner + 3 * size, square, 0.0).to(tl.float16)
    first = (group * batch + block * ROWS) * tokens
    at, at_gates = first * HIDDEN, first * 4 * HIDDEN
    here = local * (tokens * HIDDEN) + units[None, :]
    here_gates = local * (tokens * 4 * HIDDEN) + units[None, :]
    state = tl.zeros([ROWS, PADDED], tl.float32)
    cell = tl.zeros([ROWS, PADDED], tl.float32)
    outer = gates + at_gates + here_gates
    next_entering = tl.load(outer, inside, 0.0)
    next_forgetting = tl.load(outer + HIDDEN, inside, 0.0)
    next_new = tl.load(outer + 2 * HIDDEN, inside, 0.0)
    next_leaving = tl.load(outer + 3 * HIDDEN, inside, 0.0)
    last = at_gates + (tokens - 1) * 4 * HIDDEN
    for _ in range(tokens):
        entering, forgetting, new, leaving = next_entering, next_forgetting, next_new, next_leaving
        # The next token's gates are under way while this one is computed.
        outer = gates + tl.minimum(at_gates + 4 * HIDDEN, last) + here_gates
        next_entering = tl.load(outer, inside, 0.0)
        next_forgetting = tl.load(outer + HIDDEN, inside, 0.0)
        next_new = tl.load(outer + 2 * HIDDEN, inside, 0.0)
        next_leaving = tl.load(outer + 3 * HIDDEN, inside, 0.0)
        if KEEP:
            tl.store(before + at + here, state, inside)
        half = state.to(tl.float16)
        entering = tl.sigmoid(tl.dot(half, to_entering, entering))
        forgetting = tl.sigmoid(tl.dot(half, to_forgetting, forgetting))
        new = _tanh(tl.dot(half, to_new, new))
        leaving = tl.sigmoid(tl.dot(half, to_leaving, leaving))
        cell = forgetting * cell + entering * new
        state = leaving * _tanh(cell)
        tl.store(states + at + here, state, inside)
        if KEEP:
            tl.store(cells + at + here, cell, inside)
            after = saved + at_gates + here_gates
            tl.store(after, entering, inside)
            tl.store(after + HIDDEN, forgetting, inside)
            tl.store(after + 2 * HIDDEN, new, inside)
            tl.store(after + 3 * HIDDEN, leaving, inside)
        at += HIDDEN
        at_gates += 4 * HIDDEN


@triton.jit(do_not_specialize=["batch", "tokens"])
def _backwards(
    grown,
    weight,
    cells,
    saved,
    found,
    batch,
    tokens,
    HIDDEN: tl.constexpr,  # noqa: N803
    PADDED: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr,  # noqa: N803
):
    group, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    local, units = tl.arange(0, ROWS)[:, None], tl.arange(0, PADDED)
    inside = (block * ROWS + local < batch) & (units < HIDDEN)[None, :]
    square = (units < HIDDEN)[:, None] & (units < HIDDEN)[None, :]
    # The weights of each gate, (to, from).
    size = HIDDEN * HIDDEN
    inner = weight + group * 4 * size + units[:, None] * HIDDEN + units[None, :]
    from_entering = tl.load(inner, square, 0.0).to(tl.float16)
    from_forgetting = tl.load(inner + size, square, 0.0).to(tl.float16)
    from_new = tl.load(inner + 2 * size, square, 0.0).to(tl.float16)
    from_leaving = tl.load(inner + 3 * size, square, 0.0).to(tl.float16)
    first = (group * batch + block * ROWS) * tokens
    at, at_gates = (first + tokens - 1) * HIDDEN, (first + tokens - 1) * 4 * HIDDEN
    here = local * (tokens * HIDDEN) + units[None, :]
    here_gates = local * (tokens * 4 * HIDDEN) + units[None, :]
    state = tl.zeros([ROWS, PADDED], tl.float32)
    cell = tl.zeros([ROWS, PADDED], tl.float32)
    after = tl.load(cells + at + here, inside, 0.0)
    for _ in range(tokens):
        earlier = tl.load(cells + tl.maximum(at - HIDDEN, first * HIDDEN) + here, inside, 0.0)
        earlier = tl.where(at > first * HIDDEN, earlier, 0.0)  # before the first token the cells are 0
        outer = saved + at_gates + here_gates
        entering = tl.load(outer, inside, 0.0)
        forgetting = tl.load(outer + HIDDEN, inside, 0.0)
        new = tl.load(outer + 2 * HIDDEN, inside, 0.0)
        leaving = tl.load(outer + 3 * HIDDEN, inside, 0.0)
        state += tl.load(grown + at + here, inside, 0.0)
        squashed = _tanh(after)
        cell += state * leaving * (1 - squashed * squashed)
        at_entering = cell * new * entering * (1 - entering)
        at_forgetting = cell * earlier * forgetting * (1 - forgetting)
        at_new = cell * entering * (1 - new * new)
        at_leaving = state * squashed * leaving * (1 - leaving)
        place = found + at_gates + here_gates
        tl.store(place, at_entering, inside)
        tl.store(place + HIDDEN, at_forgetting, inside)
        tl.store(place + 2 * HIDDEN, at_new, inside)
        tl.store(place + 3 * HIDDEN, at_leaving, inside)
        cell *= forgetting
        after = earlier
        largest = tl.maximum(tl.abs(at_entering), tl.abs(at_forgetting))
        largest = tl.maximum(largest, tl.maximum(tl.abs(at_new), tl.abs(at_leaving)))
        scale = tl.maximum(tl.max(largest, axis=1)[:, None], 1e-37)
        up = 1 / scale
        state = tl.dot((at_entering * up).to(tl.float16), from_entering)
        state = tl.dot((at_forgetting * up).to(tl.float16), from_forgetting, state)
        state = tl.dot((at_new * up).to(tl.float16), from_new, state)
        state = tl.dot((at_leaving * up).to(tl.float16), from_leaving, state)
        state *= scale
        at -= HIDDEN
        at_gates -= 4 * HIDDEN


def forwards(gates: Tensor, weight: Tensor, *, keep: bool = True) -> tuple[Tensor, ...]:
    """States; to `keep` for the way back also those before them, cells and gates after their functions.

    All are (groups, batch, tokens, ...).
    """
    groups, batch, tokens, _ = gates.shape
    hidden = weight.shape[-1]
    gates, weight = gates.contiguous(), weight.contiguous()
    states = gates.new_empty(groups, batch, tokens, hidden)
    before, cells, saved = (
        (torch.empty_like(states), torch.empty_like(states), torch.empty_like(gates)) if keep else (states,) * 3
    )
    grid, how = _how(gates, hidden)
    with torch.cuda.device_of(gates):  # Triton launches on torch's current device
        _forwards[grid](gates, weight, states, before, cells, saved, batch, tokens, KEEP=keep, **how)
    return (states, before, cells, saved) if keep else (states,)


def backwards(grown: Tensor, weight: Tensor, cells: Tensor, saved: Tensor) -> Tensor:
    """Gradients of the gates before their functions, from those of the states."""
    _, batch, tokens, hidden = cells.shape
    grown, weight = grown.contiguous(), weight.contiguous()
    found = torch.empty_like(saved)
    grid, how = _how(grown, hidden)
    with torch.cuda.device_of(grown):
        _backwards[grid](grown, weight, cells, saved, found, batch, tokens, **how)
    return found


def _how(values: Tensor, hidden: int) -> tuple[tuple[int, int], dict[str, Any]]:
    """Programs, and how they are compiled."""
    groups, batch = values.shape[:2]
    padded = max(16, 1 << (hidden - 1).bit_length())

    def rounds(rows: int) -> int:
        """How often all processors take up a program: the weights of one fill it."""
        return -(-groups * -(-batch // rows) // _processors(values.device))

    # A token takes 16 rows 0.6 of the time that it takes 32 (measured on an H200, 128 units). Programs of fewer units
    # share a processor, and warps that have no columns of 8 units of their own would compute those of others again.
    rows = 16 if padded < WIDEST or 0.6 * rounds(16) <= rounds(32) else 32
    how = {"HIDDEN": hidden, "PADDED": padded, "ROWS": rows, "num_warps": min(8, padded // 8), "num_stages": 1}
    return (groups, -(-batch // rows)), how


@functools.cache
def _processors(device: torch.device) -> int:
    """Of a GPU; Triton's interpreter is one."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 1
