"""Both texts of a pair as one sequence, so that every explainer explains both at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.errors import UserError
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.coding import Coded
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.sequences import Sequences
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.models.attentive import AttentiveClassifier, Auxiliary
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.network import Prediction, TextNetwork


class JoinedPairs(Vocabulary):
    """Codes a pair as one sequence: begin, the first text, end, begin, the second text, end."""

    def code(self, example: TextExample) -> Coded:
        """One pair."""
        coded = super().code(example)
        if coded.other is None:
            raise UserError("Only pairs of texts can be joined; this example has one text.")
        parts = [list(coded.tokens), list(coded.other)]
        types = [number for number, part in enumerate(parts) for _ in part]
        explained = [0 < place < len(part) - 1 for part in parts for place in range(len(part))]
        return Coded(parts[0] + parts[1], None, types, None, explained)


@dataclass(frozen=True, repr=False)
class JoinedModel(Classifier):
    """A classifier of pairs that explains both texts."""

    def words_of(self, example: TextExample) -> list[str]:
        """Those of both texts."""
        return [*example.tokens, *(example.tokens_b or ())]


def joined(model: Classifier) -> Classifier:
    """The same model with both texts of a pair explained if it treats them alike; any other as it is."""
    network, coder = model.network, model.coder
    if not isinstance(network, AttentiveClassifier) or network.config.head != "concat":
        return model
    assert isinstance(coder, Vocabulary)
    return JoinedModel(BothTexts(network), JoinedPairs(coder.words), model.classes, model.preparation)


class BothTexts(TextNetwork):
    """A model of pairs that encodes and attends both texts alike, as a model of their joined sequence.

    Its attention is that of both texts, each halved: together they sum to 1.
    """

    recurrent = True

    def __init__(self, model: AttentiveClassifier) -> None:
        super().__init__()
        if model.config.head != "concat":
            raise UserError(f"A model with a {model.config.head} head does not treat both texts alike.")
        self.model, self.shape, self.attends, self.pairs = model, model.shape, model.attends, True
        self.train(model.training)

    @property
    def embedding(self) -> torch.nn.Embedding:  # type: ignore[override]
        """The table of word embeddings."""
        return self.model.embedding

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:
        """As the model of two texts."""
        return self.model.numbers_per_token(width, gradients=gradients)

    def numbers_for_logits(self, width: int, *, gradients: bool = False) -> int:
        """As the model of two texts."""
        return self.model.numbers_for_logits(width, gradients=gradients)

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict from the joined sequence; given embeddings take the place of the model's own."""
        if attention is not None:
            raise UserError("Each text of a pair has its own attention: none can be given from outside.")
        joined = self.embed(batch) if embeddings is None else embeddings
        text = batch.text
        assert text.types is not None
        inside = torch.arange(text.tokens.shape[1], device=text.tokens.device) < text.lengths[:, None]
        first = ((text.types == 0) & inside).sum(dim=-1)
        sides = [
            self._side(text, joined, begin, length)
            for begin, length in ((torch.zeros_like(first), first), (first, text.lengths - first))
        ]
        states = [self.model.encoder(one, sequences) for sequences, one, _ in sides]
        weights = [self.model.weigh(state, side[0].mask, None) for state, side in zip(states, sides, strict=True)]
        context = torch.einsum("bt,bth->bh", weights[1], states[1])
        auxiliary = Auxiliary(self.model.encoder.summary(states[1], sides[1][0]), context)
        logits = self.model.decode(states[0], weights[0], batch, auxiliary=auxiliary)
        whole = joined.new_zeros(text.tokens.shape)
        for weight, (sequences, _, index) in zip(weights, sides, strict=True):
            whole = whole.scatter_add(1, index, weight * sequences.mask / 2)
        return Prediction(logits, whole, states[0])

    @staticmethod
    def _side(text: Sequences, joined: Tensor, begin: Tensor, length: Tensor) -> tuple[Sequences, Tensor, Tensor]:
        """One text: its sequences, its embeddings, and where its tokens are in the joined sequence."""
        place = torch.arange(int(length.max()), device=joined.device)
        index = (begin[:, None] + place).clamp(max=text.tokens.shape[1] - 1)
        real = place < length[:, None]
        tokens = torch.where(real, text.tokens.gather(1, index), 0)
        mask = real & (place > 0) & (place < length[:, None] - 1)
        embeddings = joined.gather(1, index[..., None].expand(-1, -1, joined.shape[-1]))
        return Sequences(tokens, length, mask, None, text.mask_token), embeddings * real[..., None], index
