"""The recurrence of many bidirectional LSTMs at once.

Libraries run one LSTM at a time; here models are one more dimension. On a GPU one kernel computes all tokens of all of
them, and of both directions (`recurrence_kernels`); elsewhere each token is one product for all.
"""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from trueness.errors import no_room
from trueness.kinds.text.models.products import may_round, models_first, rounded_as_by_cudnn, summed_products

_active = False


@contextlib.contextmanager
def together() -> Iterator[None]:
    """While this is entered, encoders use `recurrence`, which can be mapped over models by `torch.vmap`."""
    global _active  # noqa: PLW0603  # one flag of one process
    before, _active = _active, True
    try:
        yield
    finally:
        _active = before


def is_together() -> bool:
    """Whether encoders are to use `recurrence`."""
    return _active


def recurrence(gates: Tensor, weight: Tensor, lengths: Tensor) -> Tensor:
    """States (batch, tokens, 2 hidden) of a bidirectional LSTM without its input products.

    `gates` (batch, tokens, 2 x 4 hidden) are the input's part of the gates with all biases, of both directions, in
    torch's order: input, forget, cell, output; `weight` (2, 4 hidden, hidden) is the recurrent one. The second
    direction reads each row backwards within its length, so that padding never enters a state.
    """
    keep = torch.is_grad_enabled()
    states: Tensor = _Recurrence.apply(gates[None], weight[None], lengths[None], keep)[0]  # type: ignore[no-untyped-call]
    return states.squeeze(0)


def reversal(lengths: Tensor, width: int) -> Tensor:
    """For each row the positions that reverse its first `lengths` tokens and leave the padding where it is."""
    position = torch.arange(width, device=lengths.device)
    mirrored = lengths[..., None] - 1 - position
    return torch.where(mirrored >= 0, mirrored, position)


def kernels_for(values: Tensor, hidden: int) -> ModuleType | None:
    """What computes all tokens at once on a GPU; none where it cannot, or where products may not be rounded."""
    if not (values.is_cuda and values.dtype == torch.float32 and may_round()):
        return None
    return _kernels(values.device, hidden)


@functools.cache
def _kernels(device: torch.device, hidden: int) -> ModuleType | None:
    """Triton comes with torch's builds for GPUs, but needs a C compiler and a GPU with room for the weights."""
    try:
        from trueness.kinds.text.models import recurrence_kernels

        if hidden > recurrence_kernels.WIDEST:
            return None
        _try(recurrence_kernels, device, hidden)
    except Exception as error:  # whatever keeps it from working, there is another way
        if no_room(error):  # which passes
            raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        warnings.warn(f"Triton does not work here ({reason}): LSTMs are computed several times slower.", stacklevel=2)
        return None
    return recurrence_kernels


def _try(kernels: ModuleType, device: torch.device, hidden: int) -> None:
    """Raise unless the kernels compute what they should, on a few numbers that depend on no seed."""
    shape = (2, 3, 5, 8 * hidden)
    gates = torch.arange(math.prod(shape), device=device).view(shape).sin()
    weight = torch.arange(16 * hidden * hidden, device=device).view(2, 2, 4 * hidden, hidden).cos() / hidden**0.5
    lengths = torch.tensor([[5, 1, 3], [2, 5, 4]], device=device)
    states, _, cells, saved = kernels.forwards(gates, weight, lengths)
    wanted, *_ = _token_by_token(gates, weight, lengths)
    back = _back_token_by_token(wanted, weight, lengths, cells, saved)
    for mine, theirs in ((states, wanted), (kernels.backwards(wanted, weight, lengths, cells, saved), back)):
        if not (mine - theirs).norm() < 0.01 * theirs.norm():
            raise RuntimeError("its results are wrong")


class _Recurrence(torch.autograd.Function):
    """Of several models: all tensors have them as their first dimension."""

    @staticmethod
    def forward(gates: Tensor, weight: Tensor, lengths: Tensor, keep: bool) -> tuple[Tensor, ...]:
        kernels = kernels_for(gates, weight.shape[-1])
        return tuple((_token_by_token if kernels is None else kernels.forwards)(gates, weight, lengths, keep=keep))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, *rest = output
        ctx.save_for_backward(*inputs[1:3], *rest)
        ctx.mark_non_differentiable(*rest)
        ctx.set_materialize_grads(False)  # nor are zeros made for them

    @staticmethod
    def backward(ctx: Any, grown: Tensor | None, *_: Any) -> tuple[Tensor | None, Tensor | None, None, None]:
        if grown is None:
            return None, None, None, None
        weight, lengths, before, cells, saved = ctx.saved_tensors
        with rounded_as_by_cudnn():
            kernels = kernels_for(grown, weight.shape[-1])
            compute = _back_token_by_token if kernels is None else kernels.backwards
            found: Tensor = compute(grown, weight, lengths, cells, saved)
            if not ctx.needs_input_grad[1]:
                return found, None, None, None
            directions = zip(*(part.flatten(1, 2).chunk(2, dim=-1) for part in (found, before)), strict=True)
            inner = torch.stack([summed_products(one, state) for one, state in directions], dim=1)
            return found, inner, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        many = info.batch_size
        *tensors, keep = inputs
        found = _Recurrence.apply(*models_first(many, in_dims, tensors), keep)  # type: ignore[no-untyped-call]
        parts = tuple(part.unflatten(0, (many, part.shape[0] // many)) for part in found)
        return parts, (0,) * len(parts)


def _token_by_token(gates: Tensor, weight: Tensor, lengths: Tensor, *, keep: bool = True) -> tuple[Tensor, ...]:
    """States; to `keep` for the way back also those before them, cells and gates after their functions.

    All are (models, batch, tokens, 2 x ...).
    """
    order = reversal(lengths, gates.shape[2])
    by_time = _as_read(gates, order)
    turned = weight.flatten(0, 1).transpose(1, 2)
    states = [gates.new_zeros(*by_time.shape[1:3], weight.shape[-1])]
    cells, saved = states.copy(), []
    with rounded_as_by_cudnn():
        for outer in by_time:
            state, cell, after = _cell(outer, torch.bmm(states[-1], turned), cells[-1])
            states.append(state)
            cells.append(cell)
            saved.append(after)
    found = (states[1:], states[:-1], cells[1:], saved) if keep else (states[1:],)
    return tuple(_as_written(parts, order) for parts in found)


def _back_token_by_token(grown: Tensor, weight: Tensor, lengths: Tensor, cells: Tensor, saved: Tensor) -> Tensor:
    """Gradients of the gates before their functions, from those of the states."""
    order = reversal(lengths, grown.shape[2])
    by_time = [_as_read(part, order) for part in (grown, cells, saved)]
    first = torch.zeros_like(by_time[1][0])
    state, cell = torch.zeros_like(first), torch.zeros_like(first)
    found = []
    for step in range(grown.shape[2] - 1, -1, -1):
        earlier = by_time[1][step - 1] if step else first
        state = state + by_time[0][step]
        gates, cell = _cell_backward(state, cell, earlier, by_time[1][step], by_time[2][step])
        state = torch.bmm(gates, weight.flatten(0, 1))
        found.append(gates)
    return _as_written(found[::-1], order)


def _as_read(values: Tensor, order: Tensor) -> Tensor:
    """(tokens, models x 2, batch, size) from (models, batch, tokens, 2 size): each direction's first token first."""
    there, back = values.chunk(2, dim=-1)
    back = back.gather(2, order[..., None].expand_as(back))
    return torch.stack([there, back], dim=1).flatten(0, 1).permute(2, 0, 1, 3).contiguous()


def _as_written(parts: list[Tensor], order: Tensor) -> Tensor:
    """The inverse, from the tokens one by one."""
    stacked = torch.stack(parts, dim=2)
    there, back = stacked.view(-1, 2, *stacked.shape[1:]).unbind(dim=1)
    return torch.cat([there, back.gather(2, order[..., None].expand_as(back))], dim=-1)


def _cell(outer: Tensor, inner: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The next state and cell, and the gates after their functions."""
    if outer.is_cuda:
        flat = [part.flatten(0, 1) for part in (outer, inner, cell)]
        state, after, saved = torch.ops.aten._thnn_fused_lstm_cell(flat[0], flat[1], flat[2], None, None)
        return state.view_as(cell), after.view_as(cell), saved.view_as(outer)
    entering, forgetting, new, leaving = (outer + inner).chunk(4, dim=-1)
    entering, forgetting, leaving = entering.sigmoid(), forgetting.sigmoid(), leaving.sigmoid()
    new = new.tanh()
    after = forgetting * cell + entering * new
    return leaving * after.tanh(), after, torch.cat([entering, forgetting, new, leaving], dim=-1)


def _cell_backward(state: Tensor, cell: Tensor, before: Tensor, after: Tensor, saved: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the gates before their functions, and of the cell before, from those of state and cell after."""
    if state.is_cuda:
        flat = [part.flatten(0, 1) for part in (state, cell, before, after, saved)]
        gates, down, _ = torch.ops.aten._thnn_fused_lstm_cell_backward_impl(*flat, False)
        return gates.view_as(saved), down.view_as(cell)
    entering, forgetting, new, leaving = saved.chunk(4, dim=-1)
    squashed = after.tanh()
    down = cell + state * leaving * (1 - squashed * squashed)
    gates = torch.cat(
        [
            down * new * entering * (1 - entering),
            down * before * forgetting * (1 - forgetting),
            down * entering * (1 - new * new),
            state * squashed * leaving * (1 - leaving),
        ],
        dim=-1,
    )
    return gates, down * forgetting
