"""Transformers that do not classify by the first token: decoders by the last one, encoder-decoders by token numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from trueness.errors import Unsupported, UserError
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.models.network import Prediction
from trueness.kinds.text.models.pretrained import reads_numbers, reads_to_the_end
from trueness.kinds.text.models.transformer import Transformer
from trueness.models.network import Attends
from trueness.models.pretrained import quiet


def network_of(model: Any) -> Transformer:
    """The network that suits a sequence classifier of transformers."""
    if reads_numbers(model):
        return ByNumbers(model)
    return Decoder(model) if reads_to_the_end(model) else Transformer(model)


class _WithoutWeights(Transformer):
    """Explained by what it predicts: no attention of it says what the class was read from."""

    attends: Attends = "none"

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.recorded = False

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict; there are no weights of attention."""
        if attention is not None:
            raise UserError("A transformer has many attentions: none can be given from outside.")
        found = self.logits(batch, values=embeddings)
        return Prediction(found, found.new_zeros(batch.mask.shape), found.new_zeros(0))

    def attentions(self, batch: Batch, *, embeddings: Tensor | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:  # noqa: ARG002
        """There are none to be read: Unsupported."""
        raise Unsupported(f"{type(self.model).__name__} does not classify by its first token.")


class Decoder(_WithoutWeights):
    """Classifies by the last token, so that texts of one length are computed together, without padding."""

    def logits(self, batch: Batch, *, values: Tensor | None = None) -> Tensor:
        """(texts, classes)."""
        embedded = self.embed(batch) if values is None else values
        found = embedded.new_zeros((len(embedded), self.classes))
        lengths = batch.text.lengths
        with self._padded(), quiet():
            for length in sorted(set(lengths.tolist())):
                rows = (lengths == length).nonzero()[:, 0]
                said = self.model(inputs_embeds=embedded[rows, :length], use_cache=False).logits
                found = found.index_copy(0, rows, said.to(found))
        return found

    @contextlib.contextmanager
    def _padded(self) -> Iterator[None]:
        """With a padding token, without which no two texts are taken at once; none occurs."""
        config = self.model.config
        before = config.pad_token_id
        config.pad_token_id = 0 if before is None else before
        try:
            yield
        finally:
            config.pad_token_id = before


class ByNumbers(_WithoutWeights):
    """Takes numbers of tokens alone, such as T5 and BART: it is explained by methods that hide words."""

    differentiable = False

    def embed(self, batch: Batch) -> Tensor:  # noqa: ARG002  # it takes none
        """It reads no embeddings: Unsupported."""
        raise Unsupported(f"{type(self.model).__name__} takes no embeddings: it has no gradients to explain it by.")

    def logits(self, batch: Batch, *, values: Tensor | None = None) -> Tensor:
        """(texts, classes)."""
        if values is not None:
            return self.embed(batch)
        text = batch.text
        inside = torch.arange(text.tokens.shape[1], device=text.tokens.device) < text.lengths[:, None]
        with quiet():
            found: Tensor = self.model(input_ids=text.tokens, attention_mask=inside.long(), use_cache=False).logits
        return found
