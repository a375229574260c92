"""What every text classifier offers to explainers: its embeddings, and a prediction from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from trueness.data.batches import Batch


@dataclass(frozen=True)
class Prediction:
    """What a forward pass gives."""

    logits: Tensor
    attention: Tensor
    """(batch, tokens)"""
    states: Tensor
    more: tuple[Tensor, ...] = ()
    """What else the objective of this kind of model needs."""


class TextNetwork(nn.Module):
    """A text classifier: our attentive ones, or a transformer."""

    embedding: nn.Embedding
    recurrent = False
    """Whether cuDNN must be in training mode to differentiate it."""

    @property
    def classes(self) -> int:
        """How many there are."""
        raise NotImplementedError

    @property
    def padding(self) -> int:
        """The number of the token that fills up short texts."""
        return self.embedding.padding_idx or 0

    @property
    def kind(self) -> Any:
        """What models that can be trained as one have in common, see `stack`; None where they cannot."""
        return None

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:
        """About how many numbers a look at a text so long holds for each of its tokens: to bound memory."""
        raise NotImplementedError

    def embed(self, batch: Batch) -> Tensor:
        """(batch, tokens, embedding) of the words alone."""
        embeddings: Tensor = self.embedding(batch.text.tokens)
        return embeddings

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict; given embeddings or attention take the place of the model's own."""
        raise NotImplementedError
