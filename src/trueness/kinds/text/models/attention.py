"""Attention over the states of a text: scores, made into weights that are 0 outside the mask and sum to 1 inside."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

Normaliser = Literal["softmax", "sparsemax", "entmax15"]


class Attention(nn.Module):
    """Scores of states, in two steps: what it reads of a state is linear in it, what it makes of that need not be."""

    @property
    def read(self) -> nn.Linear | None:
        """Through which states are read; None: as they are."""
        return None

    def forward(self, states: Tensor, query: Tensor | None = None) -> Tensor:
        """(batch, tokens) scores."""
        return self.scores(states if self.read is None else self.read(states), query)

    def scores(self, read: Tensor, query: Tensor | None) -> Tensor:
        """(batch, tokens), of what was read of states."""
        raise NotImplementedError


class Additive(Attention):
    """v . tanh(W h + b), and with a query v . tanh(W h + b + U q) (Bahdanau et al. 2015; Jain and Wallace 2019)."""

    def __init__(self, size: int, *, query: bool = False) -> None:
        super().__init__()
        self.states = nn.Linear(size, size // 2)
        self.query = nn.Linear(size, size // 2) if query else None
        self.weights = nn.Linear(size // 2, 1, bias=False)

    @property
    def read(self) -> nn.Linear:
        """W h + b."""
        return self.states

    def scores(self, read: Tensor, query: Tensor | None) -> Tensor:
        """The product of v and the tanh of it."""
        if self.query is not None and query is not None:
            read = read + self.query(query)[:, None]
        scores: Tensor = self.weights(torch.tanh(read))
        return scores.squeeze(-1)


class Dot(Attention):
    """h . q / sqrt(size); without a query q is learned, as Jain and Wallace's code has it."""

    def __init__(self, size: int, *, query: bool = False) -> None:
        super().__init__()
        self._scale = math.sqrt(size)
        self.weights = None if query else nn.Linear(size, 1, bias=False)

    @property
    def read(self) -> nn.Linear | None:
        """The product with what is learned; the whole state where there is a query."""
        return self.weights

    def scores(self, read: Tensor, query: Tensor | None) -> Tensor:
        """Scaled."""
        if self.weights is not None:
            return read.squeeze(-1) / self._scale
        assert query is not None
        return torch.einsum("bth,bh->bt", read, query) / self._scale


def uniform(mask: Tensor) -> Tensor:
    """Equal weights on all positions of the mask."""
    weights = mask.to(torch.get_default_dtype())
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1)


def normalise(scores: Tensor, mask: Tensor, how: Normaliser = "softmax", temperature: float = 1.0) -> Tensor:
    """Scores to weights; a row whose mask is empty gets all zeros."""
    if how == "softmax":
        # A row without any position would be NaN; it is computed as if it had all, then emptied.
        open_rows = mask | ~mask.any(dim=-1, keepdim=True)
        weights = torch.softmax((scores / temperature).masked_fill(~open_rows, -torch.inf), dim=-1)
        return weights * mask
    from entmax import entmax15, sparsemax

    function = {"sparsemax": sparsemax, "entmax15": entmax15}[how]
    low = torch.finfo(scores.dtype).min / 4
    sparse: Tensor = function((scores / temperature).masked_fill(~mask, low), dim=-1)
    return sparse * mask
