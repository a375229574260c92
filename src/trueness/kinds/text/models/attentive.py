"""The attentive classifier: four functions, and every attention experiment is a composition of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor, nn

from trueness.boundary import check_fields
from trueness.errors import Unsupported, UserError
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.coding import PAD
from trueness.kinds.text.models import attention as attentions
from trueness.kinds.text.models.encoders import CNN, KERNELS, Activation, Average, BiLSTM, Embedding
from trueness.kinds.text.models.network import Prediction, TextNetwork
from trueness.models.network import Attends
from trueness.registry import nearest

Width = Annotated[int, Field(ge=1, le=16384)]


@dataclass(frozen=True)
class AttentiveConfig:
    """The shape of an attentive classifier."""

    vocabulary: Annotated[int, Field(ge=1)]
    classes: Annotated[int, Field(ge=1)]
    encoder: Literal["bilstm", "cnn", "average"] = "bilstm"
    attention: Literal["additive", "dot", "uniform", "frozen"] = "additive"
    embedding: Width = 100
    hidden: Width = 128
    """Units a direction (bilstm), filters in all (cnn), units (average)."""
    activation: Activation | None = None
    """Of cnn (default relu) and average (default tanh)."""
    normaliser: attentions.Normaliser = "softmax"
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    head: Literal["linear", "query", "concat"] = "linear"
    """linear: one text. query: the other text's summary conditions attention and output (Jain and Wallace 2019).
    concat: both texts are encoded and attended alike, [c1; c2; |c1-c2|; c1*c2] (Order in the Court 2022)."""
    one_logit: bool = False
    """Two classes from one number z: logits [-z/2, z/2], whose softmax is sigmoid(z). Both classes have a gradient."""
    shared_embedding: bool = True
    """Whether the query text uses the same embedding and not one of its own."""

    def __post_init__(self) -> None:
        check_fields(self, "The model's shape")
        if self.one_logit and self.classes != 2:
            raise UserError(f"one_logit needs two classes, not {self.classes}.")
        if self.encoder == "cnn" and self.hidden % len(KERNELS):
            raise UserError(f"The model's shape: hidden of a cnn is a multiple of {len(KERNELS)}, not {self.hidden}.")
        if self.encoder == "average" and self.hidden < 2:
            raise UserError(f"The model's shape: hidden of an average is at least 2, not {self.hidden}.")


SETTABLE = ("embedding", "hidden", "activation", "normaliser", "temperature", "head", "one_logit", "shared_embedding")
"""What of a model's shape may be set; the rest follows from the data and the model's name."""


def check_settable(changes: Mapping[str, Any]) -> None:
    """Refuse a name that is not of a model's shape."""
    for name in changes:
        if name not in SETTABLE:
            raise UserError(f"There is no {name!r} of a model's shape to set; {nearest(name, list(SETTABLE))}")


@dataclass(frozen=True)
class Auxiliary:
    """What is computed once from the other text of a pair."""

    summary: Tensor
    context: Tensor | None


class AttentiveClassifier(TextNetwork):
    """embed, encode, attend, decode; see `docs/models.md`."""

    recurrent = recorded = True

    def __init__(self, config: AttentiveConfig) -> None:
        super().__init__()
        self.config, self.shape = config, asdict(config)
        self.family = f"{config.encoder}-{config.attention}"
        self.pairs = config.head != "linear"
        self.embedding = Embedding(config.vocabulary, config.embedding, padding_idx=PAD)
        self.encoder = _encoder(config)
        size = self.encoder.size
        query = config.head == "query"
        if query:
            shared = config.shared_embedding
            self.query_embedding = None if shared else Embedding(config.vocabulary, config.embedding, padding_idx=PAD)
            self.query_encoder = _encoder(config)
            self.text_projection = nn.Linear(size, size // 2)
            self.query_projection = nn.Linear(size, size // 2)
        read = {"linear": size, "query": size // 2, "concat": 4 * size}[config.head]
        self.output = nn.Linear(read, 1 if config.one_logit else config.classes)
        kind = {"additive": attentions.Additive, "dot": attentions.Dot}.get(config.attention)
        self.attention = kind(size, query=query) if kind is not None else None
        self.attends = "one" if kind is not None else cast(Attends, config.attention)

    @property
    def linear(self) -> bool:
        """Whether the logits are linear in the attended state, so that logits are its attention times the features."""
        return self.config.head == "linear"

    @property
    def kind(self) -> AttentiveConfig | None:
        """Models of one shape; sparse attention cannot be mapped over models."""
        return self.config if self.config.normaliser == "softmax" else None

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # the same for all lengths
        """Embeddings, states, gates and workspace, and what differentiating them takes."""
        return (12 if gradients else 8) * (self.config.embedding + self.encoder.size)

    def take_vectors(self, table: npt.NDArray[np.float32]) -> None:
        """Begin with these vectors, of the other text as well."""
        super().take_vectors(table)
        if self.config.head == "query" and self.query_embedding is not None:
            self.query_embedding.load_state_dict({"weight": torch.from_numpy(table)})

    def encode(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """(batch, tokens, hidden)."""
        states: Tensor = self.encoder(embeddings, batch.text)
        return states

    def auxiliary(self, batch: Batch) -> Auxiliary | None:
        """What attention and output need of the other text; None for single texts."""
        if self.config.head == "linear":
            return None
        if batch.other is None:
            raise UserError(f"A model with a {self.config.head} head needs pairs of texts.")
        if self.config.head == "query":
            table = self.query_embedding or self.embedding
            states = self.query_encoder(table(batch.other.tokens), batch.other)
            return Auxiliary(self.query_encoder.summary(states, batch.other), None)
        states = self.encoder(self.embedding(batch.other.tokens), batch.other)
        weights = self.weigh(states, batch.other.mask, None)
        return Auxiliary(self.encoder.summary(states, batch.other), _attended(states, weights))

    def attend(self, states: Tensor, batch: Batch, *, auxiliary: Auxiliary | None = None) -> Tensor:
        """(batch, tokens) weights: 0 outside `batch.mask`, sum 1 inside."""
        if self.config.attention == "frozen" and batch.guide is not None:
            return batch.guide.to(states.dtype)
        auxiliary = auxiliary or self.auxiliary(batch)
        query = auxiliary.summary if self.config.head == "query" and auxiliary is not None else None
        return self.weigh(states, batch.mask, query)

    def weigh(self, states: Tensor, mask: Tensor, query: Tensor | None) -> Tensor:
        """(batch, tokens) weights of the states of one text, 0 outside the mask."""
        scores = states[..., 0] if self.attention is None else self.attention(states, query)
        return self.normalise(scores, mask)

    def normalise(self, scores: Tensor, mask: Tensor) -> Tensor:
        """(batch, tokens) weights of attention's scores; without an attention they count for nothing."""
        if self.config.attention == "frozen":
            raise UserError(
                "A model with frozen attention needs the weights from outside: EncodedSplit.guide, or "
                "forward(batch, attention=...)."
            )
        if self.attention is None:
            return attentions.uniform(mask).to(scores.dtype)
        return attentions.normalise(scores, mask, self.config.normaliser, self.config.temperature)

    def decode(self, states: Tensor, attention: Tensor, batch: Batch, *, auxiliary: Auxiliary | None = None) -> Tensor:
        """(batch, classes) logits of states mixed by attention."""
        context = _attended(states, attention)
        read = context if self.decoding is None else self.decoding(context)
        return self.decode_read(read, auxiliary or self.auxiliary(batch))

    @property
    def decoding(self) -> nn.Linear | None:
        """Through which the decoder reads the attended state; None: as it is."""
        if self.config.head == "query":
            return self.text_projection
        return self.output if self.config.head == "linear" else None

    def decode_read(self, read: Tensor, auxiliary: Auxiliary | None) -> Tensor:
        """(..., classes) logits, of what the decoder reads of attended states (..., size)."""
        if auxiliary is None:
            return self._of_classes(read)
        if auxiliary.context is None:
            return self._logits(torch.tanh(read + self.query_projection(auxiliary.summary)))
        other = auxiliary.context.expand_as(read)
        return self._logits(torch.cat([read, other, (read - other).abs(), read * other], dim=-1))

    def _logits(self, context: Tensor) -> Tensor:
        return self._of_classes(self.output(context))

    def _of_classes(self, outputs: Tensor) -> Tensor:
        return torch.cat([-outputs, outputs], dim=-1) / 2 if self.config.one_logit else outputs

    def features(self, states: Tensor) -> Tensor:
        """(batch, tokens, size): what the decoder mixes linearly, as small as the head allows.

        Many attentions over the same states cost little with it: decode(states, attention) equals
        outputs(attention @ features(states), auxiliary), and the encoder and the large products run once.
        """
        if self.config.head == "linear":
            return self._logits(states)
        return states if self.decoding is None else self.decoding(states)

    def outputs(self, mixed: Tensor, auxiliary: Auxiliary | None) -> Tensor:
        """(batch, many, classes) logits of mixed features (batch, many, size)."""
        if auxiliary is None:
            return mixed
        context = None if auxiliary.context is None else auxiliary.context[:, None]
        return self.decode_read(mixed, Auxiliary(auxiliary.summary[:, None], context))

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict; given embeddings or attention take the place of the model's own."""
        auxiliary = self.auxiliary(batch)
        states = self.encode(self.embed(batch) if embeddings is None else embeddings, batch)
        weights = self.attend(states, batch, auxiliary=auxiliary) if attention is None else attention
        return Prediction(self.decode(states, weights, batch, auxiliary=auxiliary), weights, states)


def attentive(network: TextNetwork) -> AttentiveClassifier:
    """The network as one whose attention can be looked at and exchanged, or a refusal."""
    if not isinstance(network, AttentiveClassifier) or network.attends != "one":
        has = f"the attention of {network.family or type(network).__name__} is: {network.attends}"
        has = has if network.differentiable else "a function that can only be called shows none"
        raise Unsupported(f"This needs a model with one attention of its own, such as bilstm-additive; {has}.")
    return network


def _encoder(config: AttentiveConfig) -> BiLSTM | CNN | Average:
    if config.encoder == "bilstm":
        return BiLSTM(config.embedding, config.hidden)
    if config.encoder == "cnn":
        return CNN(config.embedding, config.hidden, config.activation or "relu")
    return Average(config.embedding, config.hidden, config.activation or "tanh")


def _attended(states: Tensor, attention: Tensor) -> Tensor:
    return torch.einsum("bt,bth->bh", attention, states)
