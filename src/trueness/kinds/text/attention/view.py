"""A model's look at a batch: what every experiment with its attention starts from."""

from __future__ import annotations

import torch
from torch import Tensor

from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.models.attentive import AttentiveClassifier, Auxiliary
from trueness.models.network import check_outputs


class AttentionView:
    """Encoder states, attention and output of a batch, computed once; attention and outputs in double precision."""

    def __init__(self, model: AttentiveClassifier, batch: Batch) -> None:
        self.batch, self.mask = batch, batch.mask
        self._model = model
        self.auxiliary = model.auxiliary(batch)
        self.states = model.encode(model.embed(batch), batch)
        self.features = model.features(self.states)
        observed = model.attend(self.states, batch, auxiliary=self.auxiliary).double()
        self.attention = observed / observed.sum(dim=-1, keepdim=True)  # float32 weights sum to 1 only nearly
        self.probability = check_outputs(model, self.outputs(self.attention[:, None])[:, 0])
        self.linear = model.linear

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.probability.shape[-1]

    @property
    def exact(self) -> bool:
        """Whether the strongest adversary is known exactly: two classes and a linear head."""
        return self.linear and self.classes == 2

    def log_odds(self, first: Tensor, second: Tensor) -> Tensor:
        """(batch, tokens): log-odds of one class against another that each token alone would give (linear heads)."""
        features = self.features.double()
        rows = torch.arange(len(features), device=features.device)
        return features[rows, :, first] - features[rows, :, second]

    def outputs(self, attention: Tensor) -> Tensor:
        """(batch, many, classes) probabilities under many attentions (batch, many, tokens)."""
        return self.of_features(torch.einsum("bkt,btf->bkf", attention, self.features.to(attention.dtype)))

    def of_features(self, mixed: Tensor, rows: slice = slice(None)) -> Tensor:
        """(batch, many, classes) probabilities of mixed features (batch, many, size), of all instances or some."""
        return torch.softmax(self.logits_of_features(mixed, rows), dim=-1)

    def logits_of_features(self, mixed: Tensor, rows: slice = slice(None)) -> Tensor:
        """The same before the softmax."""
        other = self.auxiliary
        if other is not None:
            mixed = mixed.to(self.features.dtype)
            other = Auxiliary(other.summary[rows], None if other.context is None else other.context[rows])
        return self._model.outputs(mixed, other).double()
