"""Tokens to embeddings, and encoders: embeddings to one state per token, and one for the whole text (for a query)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from trueness.kinds.text.data.sequences import Sequences
from trueness.kinds.text.models.products import input_gates
from trueness.kinds.text.models.recurrence import is_together, kernels_for, recurrence, reversal

FEW = 256
"""Words of a vocabulary so small that a product adds up its gradients: sorting the tokens takes some thirty kernels."""
KERNELS = (1, 3, 5, 7)
"""Widths of the convolutions, which share the filters."""
Activation = Literal["tanh", "relu", "identity"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu, "identity": lambda x: x}


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


class BiLSTM(nn.Module):
    """One bidirectional layer of `hidden` units a direction.

    The backward direction reads each row reversed within its own length, so padding never enters a state: the result
    equals that of packed sequences, without knowing the lengths on the host.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.size = 2 * hidden
        self.forwards = nn.LSTM(width, hidden, batch_first=True)
        self.backwards = nn.LSTM(width, hidden, batch_first=True)

    def forward(self, embeddings: Tensor, text: Sequences) -> Tensor:
        """(batch, tokens, 2 hidden); states at padding are meaningless."""
        if is_together() or kernels_for(embeddings, self.forwards.hidden_size) is not None:
            return self._together(embeddings, text)
        if not (embeddings.is_cuda and self.training):
            there, _ = self.forwards(embeddings)
            return torch.cat([there, self._back(embeddings, text)], dim=-1)
        # Training batches are small, and each direction is a long chain of small kernels that leaves a GPU mostly idle:
        # both run at the same time. The large batches of evaluation fill it anyway.
        main = torch.cuda.current_stream(embeddings.device)
        embeddings = embeddings.view_as(embeddings)  # where they are a leaf, its gradient comes from one stream
        side = _beside(main.device, main.cuda_stream)
        side.wait_stream(main)
        with torch.cuda.stream(side):
            back = self._back(embeddings, text)
        there, _ = self.forwards(embeddings)
        main.wait_stream(side)
        back.record_stream(main)
        return torch.cat([there, back], dim=-1)

    def _together(self, embeddings: Tensor, text: Sequences) -> Tensor:
        """The same with both directions in one recurrence: the fastest on a GPU, and it can be mapped over models."""
        # Ones beside each embedding carry the biases, so that these take no passes of their own; there are so many of
        # them that rows begin where tensor cores can read them.
        spare = 4 - embeddings.shape[-1] % 4
        wider = nn.functional.pad(embeddings, (0, spare), value=1.0)
        entering, inner, bias, second = (
            torch.stack([getattr(layer, f"{name}_l0") for layer in (self.forwards, self.backwards)])
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        carried = nn.functional.pad((bias + second)[..., None], (0, spare - 1))
        both = torch.cat([entering, carried], dim=-1).flatten(0, 1)
        return recurrence(input_gates(wider, both), inner, text.lengths)

    def _back(self, embeddings: Tensor, text: Sequences) -> Tensor:
        order = reversal(text.lengths, embeddings.shape[1])
        return _reorder(self.backwards(_reorder(embeddings, order))[0], order)

    def summary(self, states: Tensor, text: Sequences) -> Tensor:
        """The last state of each direction, (batch, 2 hidden)."""
        there, back = states.chunk(2, dim=-1)
        last = (text.lengths - 1)[:, None, None].expand(-1, 1, there.shape[-1])
        return torch.cat([there.gather(1, last)[:, 0], back[:, 0]], dim=-1)


@functools.cache
def _beside(device: torch.device, stream: int) -> torch.cuda.Stream:  # noqa: ARG001  # one for each stream
    """A second stream, always the same for a given one: memory is kept and reused stream by stream."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _reorder(values: Tensor, order: Tensor) -> Tensor:
    return values.gather(1, order[..., None].expand_as(values))


class CNN(nn.Module):
    """Convolutions of several widths side by side, `hidden` filters in all."""

    def __init__(self, width: int, hidden: int, activation: Activation = "relu") -> None:
        super().__init__()
        self.size = hidden
        self._activation = ACTIVATIONS[activation]
        filters = hidden // len(KERNELS)
        self.convolutions = nn.ModuleList(nn.Conv1d(width, filters, kernel, padding=kernel // 2) for kernel in KERNELS)

    def forward(self, embeddings: Tensor, text: Sequences) -> Tensor:
        """(batch, tokens, hidden)."""
        seen = embeddings * _inside(text, embeddings)
        if is_together():
            return self._activation(self._together(seen))
        columns = seen.transpose(1, 2)
        states = torch.cat([convolution(columns) for convolution in self.convolutions], dim=1).transpose(1, 2)
        return self._activation(states)

    def _together(self, seen: Tensor) -> Tensor:
        """The same by one product: mapped over models, cuDNN differentiates convolutions very slowly."""
        layers = [cast(nn.Conv1d, layer) for layer in self.convolutions]
        weight = torch.cat([layer.weight.permute(2, 0, 1).flatten(0, 1) for layer in layers])
        # (batch, tokens, filters) for each place of each kernel, all those of the first kernel first.
        products = iter(input_gates(seen, weight).chunk(sum(KERNELS), dim=-1))
        states = []
        for kernel, layer in zip(KERNELS, layers, strict=True):
            # A place of the kernel adds what the token that lies under it gives; in short texts none lies there.
            shifts = range(kernel // 2, -(kernel // 2) - 1, -1)
            shifted = [
                nn.functional.pad(place, (0, 0, shift, -shift))
                for shift, place in zip(shifts, itertools.islice(products, kernel), strict=True)
                if abs(shift) < seen.shape[1]
            ]
            states.append(sum(shifted, cast(Tensor, layer.bias)))
        return torch.cat(states, dim=-1)

    def summary(self, states: Tensor, text: Sequences) -> Tensor:
        """The largest activation of each filter."""
        return states.masked_fill(~_inside(text, states), -torch.inf).amax(dim=1)


class Average(nn.Module):
    """A projection of each embedding on its own: tokens do not see one another. The MLP of AtteFa is one setting."""

    def __init__(self, width: int, hidden: int, activation: Activation = "tanh") -> None:
        super().__init__()
        self.size = hidden
        self.projection = nn.Linear(width, hidden)
        self._activation = ACTIVATIONS[activation]

    def forward(self, embeddings: Tensor, text: Sequences) -> Tensor:  # noqa: ARG002  # an encoder may need the lengths
        """(batch, tokens, hidden)."""
        return self._activation(self.projection(embeddings))

    def summary(self, states: Tensor, text: Sequences) -> Tensor:
        """The mean state."""
        inside = _inside(text, states)
        return (states * inside).sum(dim=1) / inside.sum(dim=1)


def _inside(text: Sequences, values: Tensor) -> Tensor:
    """(batch, tokens, 1): true where there is no padding."""
    position = torch.arange(values.shape[1], device=values.device)
    return (position < text.lengths[:, None])[..., None]
