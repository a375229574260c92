"""The recurrence of many bidirectional LSTMs as two kernels of a GPU.

A program takes a few rows through all of their tokens in one direction of one LSTM, with that direction's weights in
shared memory. Nothing is launched from token to token, and a stack of models keeps only as many of a GPU's processors
busy as it has programs: several stacks run side by side.

Products are of 16-bit numbers, which have as many digits as TF32, and are added up in 32 bits; states, cells and gates
have 32 bits. Gradients may be too small for 16 bits: each row is divided by its largest number first.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

WIDEST = 128
"""Units of a layer: the weights of more do not fit into shared memory."""

ROWS = 16
"""Of a program: as few as tensor cores take. With 32 a row was at most 5 % faster there, and slower on the way back
(measured on an H200)."""


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _place(step, length, backwards):
    """Where a row's token of that step is: one direction reads each row backwards within its length."""
    return tl.where(backwards & (step < length), length - 1 - step, step)


@triton.jit
def _four(place, apart, where):
    """What stands at a place and at the next three, so far apart: of the input, forget, cell and output gate."""
    entering, forgetting = tl.load(place, where, 0.0), tl.load(place + apart, where, 0.0)
    return entering, forgetting, tl.load(place + 2 * apart, where, 0.0), tl.load(place + 3 * apart, where, 0.0)


@triton.jit
def _put(place, apart, entering, forgetting, new, leaving, where):
    """Write them there."""
    tl.store(place, entering, where)
    tl.store(place + apart, forgetting, where)
    tl.store(place + 2 * apart, new, where)
    tl.store(place + 3 * apart, leaving, where)


@triton.jit(do_not_specialize=["batch", "tokens"])
def _forwards(
    gates,
    weight,
    lengths,
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
    known = block * ROWS + local < batch
    inside = known & (units < HIDDEN)[None, :]
    square = (units < HIDDEN)[:, None] & (units < HIDDEN)[None, :]
    direction = group % 2
    first = group // 2 * batch + block * ROWS
    length = tl.load(lengths + first + local, known, 0).to(tl.int32)
    # The weights of each gate, (from, to); they stay on the processor. Those of padded units are 0.
    size = HIDDEN * HIDDEN
    inner = weight + group * 4 * size + units[None, :] * HIDDEN + units[:, None]
    to_entering, to_forgetting, to_new, to_leaving = _four(inner, size, square)
    to_entering, to_forgetting = to_entering.to(tl.float16), to_forgetting.to(tl.float16)
    to_new, to_leaving = to_new.to(tl.float16), to_leaving.to(tl.float16)
    # Beside each token's numbers are those of the other direction.
    begin = first * tokens * 2 * HIDDEN + direction * HIDDEN
    begin_gates = first * tokens * 8 * HIDDEN + direction * 4 * HIDDEN
    state = tl.zeros([ROWS, PADDED], tl.float32)
    cell = tl.zeros([ROWS, PADDED], tl.float32)
    row = local * tokens + _place(0, length, direction == 1)
    outer = gates + begin_gates + (row * (8 * HIDDEN) + units[None, :])
    next_entering, next_forgetting, next_new, next_leaving = _four(outer, HIDDEN, inside)
    for step in range(tokens):
        entering, forgetting, new, leaving = next_entering, next_forgetting, next_new, next_leaving
        here = begin + (row * (2 * HIDDEN) + units[None, :])
        here_gates = begin_gates + (row * (8 * HIDDEN) + units[None, :])
        # The next token's gates are under way while this one is computed.
        row = local * tokens + _place(tl.minimum(step + 1, tokens - 1), length, direction == 1)
        outer = gates + begin_gates + (row * (8 * HIDDEN) + units[None, :])
        next_entering, next_forgetting, next_new, next_leaving = _four(outer, HIDDEN, inside)
        if KEEP:
            tl.store(before + here, state, inside)
        half = state.to(tl.float16)
        entering = tl.sigmoid(tl.dot(half, to_entering, entering))
        forgetting = tl.sigmoid(tl.dot(half, to_forgetting, forgetting))
        new = _tanh(tl.dot(half, to_new, new))
        leaving = tl.sigmoid(tl.dot(half, to_leaving, leaving))
        cell = forgetting * cell + entering * new
        state = leaving * _tanh(cell)
        tl.store(states + here, state, inside)
        if KEEP:
            tl.store(cells + here, cell, inside)
            _put(saved + here_gates, HIDDEN, entering, forgetting, new, leaving, inside)


@triton.jit(do_not_specialize=["batch", "tokens"])
def _backwards(  # noqa: PLR0915  # no functions of their own for what is done once
    grown,
    weight,
    lengths,
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
    known = block * ROWS + local < batch
    inside = known & (units < HIDDEN)[None, :]
    square = (units < HIDDEN)[:, None] & (units < HIDDEN)[None, :]
    direction = group % 2
    first = group // 2 * batch + block * ROWS
    length = tl.load(lengths + first + local, known, 0).to(tl.int32)
    # The weights of each gate, (to, from).
    size = HIDDEN * HIDDEN
    inner = weight + group * 4 * size + units[:, None] * HIDDEN + units[None, :]
    from_entering, from_forgetting, from_new, from_leaving = _four(inner, size, square)
    from_entering, from_forgetting = from_entering.to(tl.float16), from_forgetting.to(tl.float16)
    from_new, from_leaving = from_new.to(tl.float16), from_leaving.to(tl.float16)
    begin = first * tokens * 2 * HIDDEN + direction * HIDDEN
    begin_gates = first * tokens * 8 * HIDDEN + direction * 4 * HIDDEN
    state = tl.zeros([ROWS, PADDED], tl.float32)
    cell = tl.zeros([ROWS, PADDED], tl.float32)
    row = local * tokens + _place(tokens - 1, length, direction == 1)
    before = local * tokens + _place(tl.maximum(tokens - 2, 0), length, direction == 1)
    here = begin + (row * (2 * HIDDEN) + units[None, :])
    after = tl.load(cells + here, inside, 0.0)
    outer = saved + begin_gates + (row * (8 * HIDDEN) + units[None, :])
    next_entering, next_forgetting, next_new, next_leaving = _four(outer, HIDDEN, inside)
    next_grown = tl.load(grown + here, inside, 0.0)
    next_earlier = tl.load(cells + begin + (before * (2 * HIDDEN) + units[None, :]), inside, 0.0)
    for done in range(tokens):
        step = tokens - 1 - done
        here_gates = begin_gates + (row * (8 * HIDDEN) + units[None, :])
        entering, forgetting, new, leaving = next_entering, next_forgetting, next_new, next_leaving
        state += next_grown
        earlier = tl.where(step > 0, next_earlier, 0.0)  # before the first token the cells are 0
        # What the next token needs is under way, all of it, while this one is computed.
        row = before
        before = local * tokens + _place(tl.maximum(step - 2, 0), length, direction == 1)
        outer = saved + begin_gates + (row * (8 * HIDDEN) + units[None, :])
        next_entering, next_forgetting, next_new, next_leaving = _four(outer, HIDDEN, inside)
        next_grown = tl.load(grown + begin + (row * (2 * HIDDEN) + units[None, :]), inside, 0.0)
        next_earlier = tl.load(cells + begin + (before * (2 * HIDDEN) + units[None, :]), inside, 0.0)
        squashed = _tanh(after)
        cell += state * leaving * (1 - squashed * squashed)
        at_entering = cell * new * entering * (1 - entering)
        at_forgetting = cell * earlier * forgetting * (1 - forgetting)
        at_new = cell * entering * (1 - new * new)
        at_leaving = state * squashed * leaving * (1 - leaving)
        _put(found + here_gates, HIDDEN, at_entering, at_forgetting, at_new, at_leaving, inside)
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


def forwards(gates: Tensor, weight: Tensor, lengths: Tensor, *, keep: bool = True) -> tuple[Tensor, ...]:
    """States; to `keep` for the way back also those before them, cells and gates after their functions.

    All are (models, batch, tokens, 2 x ...): of both directions, the second of which reads backwards.
    """
    models, batch, tokens, _ = gates.shape
    hidden = weight.shape[-1]
    gates, weight, lengths = gates.contiguous(), weight.contiguous(), lengths.contiguous()
    states = gates.new_empty(models, batch, tokens, 2 * hidden)
    before, cells, saved = (
        (torch.empty_like(states), torch.empty_like(states), torch.empty_like(gates)) if keep else (states,) * 3
    )
    grid, how = _how(gates, hidden)
    with torch.cuda.device_of(gates):  # Triton launches on torch's current device
        _forwards[grid](gates, weight, lengths, states, before, cells, saved, batch, tokens, KEEP=keep, **how)
    return (states, before, cells, saved) if keep else (states,)


def backwards(grown: Tensor, weight: Tensor, lengths: Tensor, cells: Tensor, saved: Tensor) -> Tensor:
    """Gradients of the gates before their functions, from those of the states."""
    _, batch, tokens, _ = cells.shape
    grown, weight, lengths = grown.contiguous(), weight.contiguous(), lengths.contiguous()
    found = torch.empty_like(saved)
    grid, how = _how(grown, weight.shape[-1])
    with torch.cuda.device_of(grown):
        _backwards[grid](grown, weight, lengths, cells, saved, found, batch, tokens, **how)
    return found


def _how(values: Tensor, hidden: int) -> tuple[tuple[int, int], dict[str, Any]]:
    """Programs, and how they are compiled."""
    groups, batch = 2 * values.shape[0], values.shape[1]
    padded = max(16, 1 << (hidden - 1).bit_length())
    # Warps that have no columns of 8 units of their own would compute those of others again.
    how = {"HIDDEN": hidden, "PADDED": padded, "ROWS": ROWS, "num_warps": min(8, padded // 8), "num_stages": 1}
    return (groups, -(-batch // ROWS)), how
