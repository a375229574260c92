"""Products of many models at once, rounded as cuDNN rounds those of its LSTMs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

_TILE, _PLACES, _FEWEST_ROWS = 64, 128, 1024
"""Of a product on a GPU: outputs that one processor computes at a time, how many processors there are to fill, and rows
that are worth a part of their own."""


def input_gates(values: Tensor, weight: Tensor) -> Tensor:
    """(batch, tokens, outputs): the products of inputs (batch, tokens, width) with weights (outputs, width)."""
    found: Tensor = _Product.apply(values.flatten(0, 1)[None], weight[None])  # type: ignore[no-untyped-call]
    return found.reshape(*values.shape[:2], len(weight))


def may_round() -> bool:
    """Whether torch may round the products of its own LSTMs: by default."""
    try:
        return bool(torch.backends.cudnn.allow_tf32)
    except RuntimeError:  # torch does not say when LSTMs and convolutions were set apart
        return False


@contextlib.contextmanager
def rounded_as_by_cudnn() -> Iterator[None]:
    """Products are rounded (TF32) where those of torch's own LSTMs are."""
    if not may_round():
        yield
        return
    settings: Any = torch.backends.cuda.matmul
    # The older switch breaks the newer one where that was used.
    name, rounded = ("fp32_precision", "tf32") if hasattr(settings, "fp32_precision") else ("allow_tf32", True)
    before = getattr(settings, name)
    setattr(settings, name, rounded)
    try:
        yield
    finally:
        setattr(settings, name, before)


class _Product(torch.autograd.Function):
    """(groups, rows, width) times (groups, outputs, width) transposed, rounded there and back."""

    @staticmethod
    def forward(values: Tensor, weight: Tensor) -> Tensor:
        with rounded_as_by_cudnn():
            return torch.bmm(values, weight.transpose(1, 2))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:  # noqa: ARG004  # the contract
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grown: Tensor) -> tuple[Tensor | None, Tensor | None]:
        values, weight = ctx.saved_tensors
        of_values, of_weight = ctx.needs_input_grad
        with rounded_as_by_cudnn():
            return (
                torch.bmm(grown, weight) if of_values else None,
                summed_products(grown, values) if of_weight else None,
            )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        many = info.batch_size
        found: Tensor = _Product.apply(*models_first(many, in_dims, inputs))  # type: ignore[no-untyped-call]
        return found.view(many, len(found) // many, *found.shape[1:]), 0


def models_first(many: int, in_dims: tuple[int | None, ...], tensors: Sequence[Tensor]) -> list[Tensor]:
    """What is mapped over models, with these as the first dimension, together with the one that was there."""
    moved = [
        part.expand(many, *part.shape) if dim is None else part.movedim(dim, 0)
        for part, dim in zip(tensors, in_dims, strict=False)
    ]
    return [part.flatten(0, 1) for part in moved]


def summed_products(first: Tensor, second: Tensor) -> Tensor:
    """(groups, m, n): the products of (groups, rows, m) and (groups, rows, n), summed over their rows.

    A GPU computes a small result in few places, each of which goes through all rows: many rows are summed in parts.
    """
    groups, rows, _ = first.shape
    places = groups * math.prod(-(-part.shape[-1] // _TILE) for part in (first, second))
    return _summed_in_parts(first, second, _parts(rows, places) if first.is_cuda else 1)


def _summed_in_parts(first: Tensor, second: Tensor, parts: int) -> Tensor:
    groups = len(first)
    first, second = (part.reshape(groups * parts, -1, part.shape[-1]) for part in (first, second))
    found = torch.bmm(first.transpose(1, 2), second)
    return found if parts == 1 else found.view(groups, parts, *found.shape[1:]).sum(dim=1)


def _parts(rows: int, places: int) -> int:
    """Into how many equal parts they can be cut, each of enough rows, until there are as many places as processors."""
    parts = 1
    while places * parts < _PLACES and rows % (2 * parts) == 0 and rows // (2 * parts) >= _FEWEST_ROWS:
        parts *= 2
    return parts
