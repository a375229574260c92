"""What every text classifier offers: its embeddings, and a prediction from them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from trueness.errors import UserError
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.coding import Coder
from trueness.models.network import Network


@dataclass(frozen=True)
class Prediction:
    """What a forward pass gives."""

    logits: Tensor
    attention: Tensor
    """(batch, tokens)"""
    states: Tensor
    more: tuple[Tensor, ...] = ()
    """What else the objective of this kind of model needs."""


class TextNetwork(Network):
    """A text classifier: our attentive ones, a transformer, or anyone's, see `docs/models.md`."""

    embedding: nn.Embedding
    coder: Coder
    """What turned words into the numbers of a batch; a classifier gives it to its network."""
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

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embedding.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the embeddings."""
        return self.embedding.weight.dtype

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # some depend on it
        """About how many numbers a look at a text so long holds for each of its tokens: to bound memory."""
        outputs = sum(len(weight) for weight in self.parameters() if weight is not self.embedding.weight)
        return (8 if gradients else 4) * (self.embedding.embedding_dim + outputs)

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

    def words(self, batch: Batch) -> list[list[str]]:
        """Of each text what stands at every position of the batch: words or parts of them, special tokens, padding."""
        return [self.coder.spelled(row) for row in batch.tokens.tolist()]

    def embed(self, batch: Batch) -> Tensor:
        """(batch, tokens, embedding) of the words alone."""
        embeddings: Tensor = self.embedding(batch.text.tokens)
        return embeddings

    def values(self, batch: Batch) -> Tensor:
        """The embeddings."""
        return self.embed(batch)

    def blank(self, batch: Batch, baseline: str) -> Tensor:
        """Zero, or the embedding of the mask or the padding token."""
        if baseline not in ("mask", "pad"):
            if baseline != "zero":
                raise self.unknown("baselines", baseline, "zero", "mask", "pad")
            return super().blank(batch, baseline)
        return self.embedding.weight[batch.text.mask_token if baseline == "mask" else self.padding].detach()

    def shown(self, batch: Batch, hiding: str, groups: Tensor) -> Batch:  # type: ignore[override]  # noqa: ARG002
        """Hidden tokens are the mask token, or the padding one."""
        if hiding == "pad":
            return replace(batch, text=replace(batch.text, mask_token=self.padding))
        if hiding not in ("usual", "mask"):
            raise self.unknown("hiding", hiding, "mask", "pad")
        return batch

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict; given embeddings or attention take the place of the model's own."""
        raise NotImplementedError

    def logits(self, batch: Batch, *, values: Tensor | None = None) -> Tensor:
        """(batch, classes) and nothing else: where nobody reads attention, a model may compute it in a faster way."""
        return self(batch, embeddings=values).logits  # type: ignore[no-any-return]
