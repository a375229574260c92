"""The recurrence of many LSTMs at once: one product and one kernel per token, for all of them together.

A single small LSTM leaves a GPU idle between its steps, and libraries run one at a time. Here the models, and both
directions of each, are one more dimension of the same products.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

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


def recurrence(gates: Tensor, weight: Tensor) -> Tensor:
    """States (groups, batch, tokens, hidden) of LSTMs without their input products.

    `gates` (groups, batch, tokens, 4 hidden) are the input's part of the gates with all biases, in torch's order:
    input, forget, cell, output; `weight` (groups, 4 hidden, hidden) is the recurrent one.
    """
    # (tokens + 1, groups, batch, hidden), the first one is 0.
    states: Tensor = _Recurrence.apply(gates, weight)[0]  # type: ignore[no-untyped-call]
    return states[1:].permute(1, 2, 0, 3)


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(gates: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        by_time = gates.permute(2, 0, 1, 3).contiguous()
        turned = weight.transpose(1, 2)
        states = [gates.new_zeros(*by_time.shape[1:3], weight.shape[-1])]
        cells, saved = states.copy(), []
        for outer in by_time:
            state, cell, after = _cell(outer, torch.bmm(states[-1], turned), cells[-1])
            states.append(state)
            cells.append(cell)
            saved.append(after)
        return torch.stack(states), torch.stack(cells), torch.stack(saved)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor, Tensor]) -> None:
        states, cells, saved = output
        ctx.save_for_backward(inputs[1], states, cells, saved)
        ctx.mark_non_differentiable(cells, saved)

    @staticmethod
    def backward(ctx: Any, grown: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
        weight, states, cells, saved = ctx.saved_tensors
        tokens = len(states) - 1
        groups, batch, hidden = states.shape[1:]
        grown = grown.contiguous()
        state, cell = grown[tokens], torch.zeros_like(grown[tokens])
        found = []
        for step in range(tokens - 1, -1, -1):
            gates, cell = _cell_backward(state, cell, cells[step], cells[step + 1], saved[step])
            state = torch.baddbmm(grown[step], gates, weight)
            found.append(gates)
        inner = torch.stack(found[::-1])
        across = inner.permute(1, 3, 0, 2).reshape(groups, 4 * hidden, tokens * batch)
        before = states[:tokens].permute(1, 0, 2, 3).reshape(groups, tokens * batch, hidden)
        return inner.permute(1, 2, 0, 3), torch.bmm(across, before)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, int | None], gates: Tensor, weight: Tensor) -> Any:
        many = info.batch_size
        gates, weight = (
            part.expand(many, *part.shape) if dim is None else part.movedim(dim, 0)
            for part, dim in zip((gates, weight), in_dims, strict=True)
        )
        found = _Recurrence.apply(gates.flatten(0, 1), weight.flatten(0, 1))  # type: ignore[no-untyped-call]
        parts = tuple(part.unflatten(1, (many, part.shape[1] // many)) for part in found)
        return parts, (1, 1, 1)


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
