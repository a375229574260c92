"""Training steps: forward, loss, backward, optimiser. On a GPU each shape of batch is recorded once and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.models.recipes import Recipe

BatchShape = tuple[int, ...]
"""Models, if they are several; rows, tokens of the text, tokens of the other text."""

Objective = Callable[[Any, Any, Tensor], Tensor]
"""One loss per example (batch,), from what the model predicts, the batch, and the numbers of its examples."""


class TrainingSplit(Protocol):
    """Examples on a device that batches are taken from in random order."""

    device: torch.device
    labels: Tensor

    def __len__(self) -> int: ...

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many units each example has."""

    @property
    def longest(self) -> tuple[int, int]:
        """The widths that hold every example."""

    def shuffled(self, size: int, rng: np.random.Generator) -> list[npt.NDArray[np.intp]]:
        """Numbers of examples in random order, so many at a time."""

    def widths(self, rows: npt.NDArray[np.intp]) -> tuple[int, int]:
        """How wide a batch of those examples is; known without the device."""

    def gather(self, index: Tensor, widths: tuple[int, int]) -> Any:
        """The examples whose numbers are on the device, as a batch of widths that are large enough."""


LARGEST = 1 << 15
"""Tokens of a batch that is still recorded: larger ones keep a GPU busy by themselves, and each model's recording of
them would hold its memory."""

_SPARE = 0.05
"""Share of a GPU's memory that must stay free when one more step is recorded: its other processes need room as well."""


class Together:
    """An objective that several models can be measured by at once: tensors may have them as their first dimension."""

    def __call__(self, prediction: Any, batch: Any, index: Tensor) -> Tensor:
        """One loss per example."""
        raise NotImplementedError

    def alike(self, other: Any) -> bool:
        """Whether a model with that objective of the same kind can be."""
        raise NotImplementedError

    def joined(self, others: Sequence[Any], device: torch.device) -> Together:  # noqa: ARG002  # where they differ
        """The objective of several models, each with one like this."""
        return self


class CrossEntropy(Together):
    """The usual objective; with `weigh_positive` class 1 of two counts N / N1 - 1 times."""

    def __init__(self, train: TrainingSplit, *, weigh_positive: bool = False) -> None:
        self.weights: Tensor | None = None
        if weigh_positive:
            positive = int((train.labels == 1).sum())
            self.weights = torch.tensor([1.0, len(train) / max(positive, 1) - 1], device=train.device)

    def __call__(self, prediction: Any, batch: Any, index: Tensor) -> Tensor:  # noqa: ARG002  # the contract
        """Cross-entropy of each example."""
        return cross_entropy(prediction.logits, batch.labels, self.weights)

    def alike(self, other: CrossEntropy) -> bool:
        """Where classes count the same."""
        if self.weights is None or other.weights is None:
            return self.weights is other.weights
        return torch.equal(self.weights, other.weights)


def cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """(..., batch) of logits (..., batch, classes), classes counting by their weights."""
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten(), weights, reduction="none")
    return losses.view_as(labels)


class GraphStepper:
    """Takes steps; on a GPU the second batch of a shape is recorded as a CUDA graph, and every later one is one launch.

    A step of a small model is a hundred kernels of a few microseconds: launching them takes longer than running them.
    """

    def __init__(
        self, device: torch.device, bytes_per_token: int, longest: tuple[int, int], *, largest: int = LARGEST
    ) -> None:
        """Batches of more than `largest` tokens are not recorded; `longest` are the widths of the longest texts."""
        self.device, self._bytes_per_token, self._longest, self._largest = device, bytes_per_token, longest, largest
        self._records = device.type == "cuda"
        # Steps are many small kernels one after the other: they go before the large ones of explanations, which another
        # process may compute at the same time (where processes share a GPU through NVIDIA's MPS).
        self._stream = torch.cuda.Stream(device, priority=-1) if self._records else None  # type: ignore[no-untyped-call]
        self._seen: set[BatchShape] = set()
        self._refused: set[BatchShape] = set()
        """For which there was no memory; they are tried again after every epoch."""
        self._graphs: dict[BatchShape, tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self._pool: tuple[int, int] | None = None

    def step(self, index: Tensor, widths: tuple[int, int]) -> None:
        """Forward, loss, backward and update, from the numbers of examples on the device and widths that hold them."""
        raise NotImplementedError

    def take(self, index: Tensor, widths: tuple[int, int]) -> None:
        """One step: computed, or replayed."""
        if self._stream is None:
            self.step(index, widths)
            return
        rounded = self._rounded(widths)
        shape = (*index.shape, *rounded)
        with torch.cuda.stream(self._stream):
            if index.numel() * sum(rounded) > self._largest:
                self.step(index, widths)
                return
            if shape not in self._seen or shape in self._refused:
                # The first one is computed as it is: it warms up the libraries and makes the optimiser's state.
                self._seen.add(shape)
                self.step(index, rounded)
                return
            if shape not in self._graphs:
                # What the computed steps left behind would lie idle beside the memory of the recorded ones.
                torch.cuda.empty_cache()
                free, total = torch.cuda.mem_get_info(index.device)
                if free < total * _SPARE + index.numel() * sum(rounded) * self._bytes_per_token:
                    self._refused.add(shape)
                    self.step(index, rounded)
                    return
                self._graphs[shape] = self._record(torch.empty_like(index), rounded)
            graph, place = self._graphs[shape]
            place.copy_(index)
            graph.replay()

    def _rounded(self, widths: tuple[int, int]) -> tuple[int, int]:
        """Few widths differ then; a model may not be able to read texts that are longer than all."""
        first, second = (min(rounded_up(width), most) for width, most in zip(widths, self._longest, strict=True))
        return first, second

    def _record(self, place: Tensor, widths: tuple[int, int]) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        graph = torch.cuda.CUDAGraph()
        # One graph runs at a time, so all of a model's graphs share their memory. Recording executes nothing.
        torch.cuda.synchronize(self.device)
        graph.capture_begin(*(() if self._pool is None else (self._pool,)))
        try:
            self.step(place, widths)
        finally:
            graph.capture_end()
        self._pool = graph.pool()
        return graph, place

    def release(self) -> None:
        """Forget what was recorded, and give its memory back."""
        self._graphs.clear()
        self._pool = None
        if self._records:
            torch.cuda.synchronize(self.device)
            torch.cuda.empty_cache()

    def wait_for_data(self) -> None:
        """Steps come after what was asked of the device before."""
        self._refused.clear()
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self.device))

    def be_waited_for(self) -> None:
        """What is asked of the device from now on comes after the steps."""
        if self._stream is not None:
            torch.cuda.current_stream(self.device).wait_stream(self._stream)


class Stepper(GraphStepper):
    """Takes the steps of one model. Those of several models run at the same time, each on a stream of its own."""

    def __init__(
        self,
        network: Any,
        recipe: Recipe,
        train: TrainingSplit,
        optimiser: torch.optim.Optimizer,
        objective: Objective,
        *,
        largest: int = LARGEST,
    ) -> None:
        largest = largest if getattr(network, "recorded", False) else 0
        super().__init__(train.device, step_bytes(network, train), train.longest, largest=largest)
        self.network, self.recipe, self.train, self.optimiser = network, recipe, train, optimiser
        self.objective = objective
        self.total = torch.zeros((), device=train.device)
        """The summed loss since it was last set to 0."""

    def epoch(self, rng: np.random.Generator) -> Iterator[None]:
        """Take the steps of one pass over the data; yields after each, without waiting for the device."""
        self.network.train()
        self.total.zero_()
        pieces = self.train.shuffled(self.recipe.batch_size, rng)
        order = torch.from_numpy(np.concatenate(pieces)).to(self.train.device)
        self.wait_for_data()
        begin = 0
        for rows in pieces:
            self.take(order[begin : begin + len(rows)], self.train.widths(rows))
            begin += len(rows)
            yield
        self.be_waited_for()

    def step(self, index: Tensor, widths: tuple[int, int]) -> None:
        """Forward, loss, backward and update."""
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


def step_bytes(network: Any, train: TrainingSplit) -> int:
    """About how many bytes a training step holds for each token of its batch."""
    return 6 * int(network.numbers_per_token(int(train.sizes.max(initial=1)), gradients=True))


def rounded_up(width: int) -> int:
    """The width with at most an eighth of padding added, so that few widths differ: 1 to 16, 18, ..., 32, 36, ..."""
    if width <= 16:
        return width
    step = 1 << (width - 1).bit_length() - 4
    return -(-width // step) * step
