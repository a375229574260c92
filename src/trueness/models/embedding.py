"""Vectors of words, the gradients of which many models add up at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from trueness.models.recurrence import is_together

FEW = 256
"""Words of a vocabulary so small that a product adds up its gradients: sorting the tokens takes some thirty kernels."""


class Embedding(nn.Embedding):
    """As torch's."""

    def forward(self, tokens: Tensor) -> Tensor:
        """(..., embedding) of tokens (...)."""
        if is_together() and self.num_embeddings <= FEW:
            found: Tensor = _Looked.apply(tokens, self.weight, self.padding_idx)  # type: ignore[no-untyped-call]
            return found
        return super().forward(tokens)


class _Looked(torch.autograd.Function):
    """Rows of a table; their gradients are added up word by word."""

    generate_vmap_rule = True

    @staticmethod
    def forward(tokens: Tensor, table: Tensor, padding: int | None) -> Tensor:  # noqa: ARG004  # the contract
        return nn.functional.embedding(tokens, table)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, int | None], output: Tensor) -> None:  # noqa: ARG004
        tokens, table, ctx.padding = inputs
        ctx.words = len(table)
        ctx.save_for_backward(tokens)

    @staticmethod
    def backward(ctx: Any, grown: Tensor) -> tuple[None, Tensor, None]:
        (tokens,) = ctx.saved_tensors
        words = torch.arange(ctx.words, device=tokens.device)
        which = (tokens.flatten()[:, None] == words).to(grown.dtype)
        found = which.T @ grown.flatten(0, -2)
        if ctx.padding is not None:
            found[ctx.padding] = 0
        return None, found, None
