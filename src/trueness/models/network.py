"""What every text classifier offers to explainers: its embeddings, and a prediction from them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from trueness.errors import UserError
from trueness.kinds.text.data.batches import Batch
from trueness.models.packing import logits_of

Attends = Literal["one", "layers", "uniform", "frozen", "none"]
"""Which attention a model has: one of its own over the tokens, layers of it, equal weights, weights given from outside,
or none."""


@dataclass(frozen=True)
class Prediction:
    """What a forward pass gives."""

    logits: Tensor
    attention: Tensor
    """(batch, tokens)"""
    states: Tensor
    more: tuple[Tensor, ...] = ()
    """What else the objective of this kind of model needs."""


class Network(nn.Module):
    """A classifier of texts or images, as protocols know it: called with a batch it gives logits."""

    recurrent = False
    """Whether cuDNN must be in training mode to differentiate it."""
    attends: Attends = "none"
    differentiable = True
    """Whether predictions can be differentiated by what it reads; a function that is only called cannot."""
    family = ""
    """The name of the family that made it, and `shape` what it was made with."""
    shape: Mapping[str, Any]

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.shape["classes"])

    def noisy(self, share: float, seed: int) -> contextlib.AbstractContextManager[None]:
        """What it reads with normal noise of a share of its range; then as it was."""
        raise NotImplementedError

    def all_logits(self, batch: Any, max_bytes: int | None = None) -> Tensor:
        """(examples, classes) of all examples of a batch, looked at in parts that fit into so many bytes."""
        raise NotImplementedError


class TextNetwork(Network):
    """A text classifier: our attentive ones, a transformer, or anyone's, see `docs/models.md`."""

    embedding: nn.Embedding
    recorded = False
    """Whether its training steps can be recorded, see `cuda_graphs`: none waits for the device."""
    pairs: bool | None = False
    """Whether it reads pairs of texts; None: both pairs and single texts."""

    @property
    def padding(self) -> int:
        """The number of the token that fills up short texts."""
        return self.embedding.padding_idx or 0

    @property
    def kind(self) -> Any:
        """What models that can be trained as one have in common, see `stack`; None where they cannot."""
        return None

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # some depend on it
        """About how many numbers a look at a text so long holds for each of its tokens: to bound memory."""
        outputs = sum(len(weight) for weight in self.parameters() if weight is not self.embedding.weight)
        return (8 if gradients else 4) * (self.embedding.embedding_dim + outputs)

    def numbers_for_logits(self, width: int, *, gradients: bool = False) -> int:
        """The same of `logits`, which may hold less."""
        return self.numbers_per_token(width, gradients=gradients)

    def all_logits(self, batch: Any, max_bytes: int | None = None) -> Tensor:
        """(texts, classes), the shortest texts first and as many at a time as memory holds."""
        return logits_of(self, batch, max_bytes)

    @contextlib.contextmanager
    def noisy(self, share: float, seed: int) -> Iterator[None]:
        """Embeddings with normal noise of a share of their range; then as they were."""
        weight = self.embedding.weight
        size = share * float((weight.max() - weight.min()).detach())
        generator = torch.Generator().manual_seed(seed)

        def add(_: nn.Module, __: object, output: Tensor) -> Tensor:
            return output + size * torch.randn(output.shape, generator=generator).to(output)

        hook = self.embedding.register_forward_hook(add)
        try:
            yield
        finally:
            hook.remove()

    @torch.no_grad()
    def take_vectors(self, table: npt.NDArray[np.float32]) -> None:
        """Begin with these vectors (words, size) of the vocabulary."""
        if self.embedding.weight.shape != table.shape:
            found, wanted = tuple(self.embedding.weight.shape), table.shape
            raise UserError(f"The embedding of {type(self).__name__} has shape {found}, the word vectors {wanted}.")
        self.embedding.weight.copy_(torch.from_numpy(table))

    def embed(self, batch: Batch) -> Tensor:
        """(batch, tokens, embedding) of the words alone."""
        embeddings: Tensor = self.embedding(batch.text.tokens)
        return embeddings

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict; given embeddings or attention take the place of the model's own."""
        raise NotImplementedError

    def logits(self, batch: Batch, *, embeddings: Tensor | None = None) -> Tensor:
        """(batch, classes) and nothing else: where nobody reads attention, a model may compute it in a faster way."""
        return self(batch, embeddings=embeddings).logits  # type: ignore[no-any-return]


def check_outputs(model: Network, outputs: Tensor) -> Tensor:
    """The same (examples, classes) outputs; refuse NaN and infinity, from which all that follows would be made up."""
    wrong = int((~outputs.isfinite()).any(dim=-1).sum())
    if wrong:
        raise UserError(
            f"The outputs of the model {model.family or type(model).__name__} are NaN or infinite for {wrong} of "
            f"{len(outputs)} examples; use another model, or train this one again with a smaller learning rate."
        )
    return outputs


def _parts(model: nn.Module) -> list[nn.Module]:
    """The model and all its parts.

    `modules` and `parameters` find the same, but take three times as long: half a millisecond of each look.
    """
    found: dict[nn.Module, None] = {}
    todo: list[nn.Module | None] = [model]
    while todo:
        one = todo.pop()
        if one is not None and one not in found:
            found[one] = None
            todo += one._modules.values()
    return list(found)


@contextlib.contextmanager
def inspecting(model: Network, *, gradients: bool = False) -> Iterator[None]:
    """Look at a model with or without gradients, never of its parameters; all is restored, also after an exception.

    cuDNN differentiates recurrent layers in training mode only; our recurrent models have no dropout, so that nothing
    else changes. A transformer has, and is always looked at in evaluation mode.
    """
    parts = _parts(model)
    given = [one for part in parts for one in part._parameters.values()] if gradients else []
    learned = [one for one in given if one is not None and one.requires_grad]
    wanted = gradients and model.recurrent
    others = [part for part in parts if part.training is not wanted]
    for part in others:
        part.training = wanted
    for parameter in learned:
        parameter.requires_grad = False
    try:
        with torch.set_grad_enabled(gradients):
            yield
    finally:
        for part in others:
            part.training = not wanted
        for parameter in learned:
            parameter.requires_grad = True
