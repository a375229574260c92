"""Training steps: forward, loss, backward, optimiser. On a GPU each shape of batch is recorded once and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from trueness.data.batches import Batch, EncodedSplit
from trueness.models.network import Prediction, TextNetwork
from trueness.models.recipes import Recipe

Shape = tuple[int, int, int]
"""Rows, tokens of the text, tokens of the other text."""

Objective = Callable[[Prediction, Batch, Tensor], Tensor]
"""One loss per example (batch,), from what the model predicts, the batch, and the numbers of its examples."""


_LARGEST = 1 << 15
"""Tokens of a batch that is still recorded: larger ones keep a GPU busy by themselves, and each model's recording of
them would hold its memory."""

_SPARE = 0.3
"""Share of a GPU's memory that must be free for one more recording; the rest of its processes need room as well."""


class CrossEntropy:
    """The usual objective; with `weigh_positive` class 1 of two counts N / N1 - 1 times."""

    def __init__(self, train: EncodedSplit, *, weigh_positive: bool = False) -> None:
        self.weights: Tensor | None = None
        if weigh_positive:
            positive = int((train.labels == 1).sum())
            self.weights = torch.tensor([1.0, len(train) / max(positive, 1) - 1], device=train.device)

    def __call__(self, prediction: Prediction, batch: Batch, index: Tensor) -> Tensor:  # noqa: ARG002  # the contract
        """Cross-entropy of each example."""
        return torch.nn.functional.cross_entropy(prediction.logits, batch.labels, weight=self.weights, reduction="none")


class Stepper:
    """Takes the steps of one model.

    A step of a small model is a hundred kernels of a few microseconds: launching them takes longer than running them.
    On a GPU the second batch of a shape is therefore recorded as a CUDA graph, and every later one is one launch. Steps
    of several models run at the same time, each on a stream of its own. On a CPU a step is just computed.
    """

    def __init__(
        self,
        network: TextNetwork,
        recipe: Recipe,
        train: EncodedSplit,
        optimiser: torch.optim.Optimizer,
        objective: Objective,
    ) -> None:
        self.network, self.recipe, self.train, self.optimiser = network, recipe, train, optimiser
        self.objective = objective
        self.total = torch.zeros((), device=train.device)
        """The summed loss since it was last set to 0."""
        self._records = train.device.type == "cuda"
        self._stream = torch.cuda.Stream(train.device) if self._records else None  # type: ignore[no-untyped-call]
        self._seen: set[Shape] = set()
        self._graphs: dict[Shape, tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self._pool: tuple[int, int] | None = None

    def epoch(self, rng: np.random.Generator) -> Iterator[None]:
        """Take the steps of one pass over the data; yields after each, without waiting for the device."""
        self.network.train()
        self.total.zero_()
        pieces = self.train.shuffled(self.recipe.batch_size, rng)
        if not self._records:
            for rows in pieces:
                self._step(torch.from_numpy(rows), self.train.widths(rows))
                yield
            return
        order = torch.from_numpy(np.concatenate(pieces)).to(self.train.device)
        assert self._stream is not None
        self._stream.wait_stream(torch.cuda.current_stream())
        begin = 0
        for rows in pieces:
            self._take(order[begin : begin + len(rows)], self.train.widths(rows), self._stream)
            begin += len(rows)
            yield
        torch.cuda.current_stream().wait_stream(self._stream)

    def _step(self, index: Tensor, widths: tuple[int, int]) -> None:
        batch = self.train.gather(index, widths)
        loss = self.objective(self.network(batch), batch, index).sum()
        self.total += loss.detach()
        if self.recipe.loss == "mean":
            loss = loss / len(batch)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        self.optimiser.step()

    def _take(self, index: Tensor, widths: tuple[int, int], stream: torch.cuda.Stream) -> None:
        rounded = (rounded_up(widths[0]), rounded_up(widths[1]))
        shape = (len(index), *rounded)
        with torch.cuda.stream(stream):
            if shape not in self._seen or len(index) * sum(rounded) > _LARGEST:
                # The first one is computed as it is: it warms up the libraries and makes the optimiser's state.
                self._seen.add(shape)
                self._step(index, rounded)
                return
            if shape not in self._graphs:
                free, total = torch.cuda.mem_get_info(index.device)
                if free < total * _SPARE:
                    self._step(index, rounded)
                    return
                self._graphs[shape] = self._record(torch.empty_like(index), rounded)
            graph, place = self._graphs[shape]
            place.copy_(index)
            graph.replay()

    def _record(self, place: Tensor, widths: tuple[int, int]) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        graph = torch.cuda.CUDAGraph()
        # One graph runs at a time, so all of a model's graphs share their memory. Recording executes nothing.
        torch.cuda.synchronize(self.train.device)
        graph.capture_begin(*(() if self._pool is None else (self._pool,)))
        try:
            self._step(place, widths)
        finally:
            graph.capture_end()
        self._pool = graph.pool()
        return graph, place


def rounded_up(width: int) -> int:
    """The width with at most an eighth of padding added, so that few widths differ: 1 to 16, 18, ..., 32, 36, ..."""
    if width <= 16:
        return width
    step = 1 << (width - 1).bit_length() - 4
    return -(-width // step) * step
