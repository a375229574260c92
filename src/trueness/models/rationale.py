"""Rationale models: a selector chooses words, and a classifier sees only those.

Lei et al. (2016) draw the choice and learn by REINFORCE; Bastings et al. (2019) relax it to the HardKuma distribution,
which can be differentiated. Both are trained to a target rate of selection, as Zhou et al. (2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from trueness.data.batches import Batch, EncodedSplit
from trueness.data.coding import PAD
from trueness.data.examples import TextDataset
from trueness.data.vocabulary import Vocabulary
from trueness.models.encoders import BiLSTM
from trueness.models.keeper import Keeper
from trueness.models.looking import looking
from trueness.models.loop import Loop, run_loops
from trueness.models.network import Prediction, TextNetwork
from trueness.models.recipes import RECIPES, Recipe

Method = Literal["reinforce", "hardkuma"]
LOW, HIGH = -0.1, 1.1
"""HardKuma stretches a Kumaraswamy variable to this support, and cuts it to [0, 1]."""


def stretched_sample(a: Tensor, b: Tensor, uniform: Tensor) -> Tensor:
    """A HardKuma(a, b) variable from a uniform one: inverse transform, stretched, cut; differentiable in a and b."""
    kuma = (1 - (1 - uniform) ** (1 / b)) ** (1 / a)
    return (LOW + (HIGH - LOW) * kuma).clamp(0, 1)


def chance_of_zero(a: Tensor, b: Tensor) -> Tensor:
    """P(z = 0) of HardKuma(a, b)."""
    return 1 - (1 - (-LOW / (HIGH - LOW)) ** a) ** b


def chance_of_one(a: Tensor, b: Tensor) -> Tensor:
    """P(z = 1) of HardKuma(a, b)."""
    return (1 - ((1 - LOW) / (HIGH - LOW)) ** a) ** b


@dataclass(frozen=True)
class Selection:
    """What a selector says of each token."""

    chosen: Tensor
    """(batch, tokens) how much of it the classifier sees: 0 or 1, between them only while HardKuma is trained."""
    rate: Tensor
    """(batch, tokens) the chance to be selected."""
    log_chance: Tensor
    """(batch,) logarithm of the chance of this choice; 0 where it is not drawn."""


class RationaleClassifier(TextNetwork):
    """A selector and a classifier with encoders of their own; `attention` of a prediction is what was selected.

    While it is trained selections are drawn; otherwise each token is selected if it more likely is than not. With
    `dependent` a token's chance also depends on the choices before it.
    """

    recurrent = True

    def __init__(
        self,
        vocabulary: int,
        classes: int,
        method: Method,
        *,
        embedding: int = 100,
        hidden: int = 100,
        dependent: bool = False,
    ) -> None:
        super().__init__()
        self.method = method
        self._classes = classes
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=PAD)
        self.selector = BiLSTM(embedding, hidden)
        self.memory = nn.LSTMCell(2 * hidden + 1, 30) if dependent else None
        self.choice = nn.Linear(2 * hidden + (30 if dependent else 0), 1 if method == "reinforce" else 2)
        self.reader = BiLSTM(embedding, hidden)
        self.output = nn.Linear(2 * hidden, classes)
        self.draws = False
        """Whether selections are drawn in training mode: cuDNN needs that mode for gradients, too."""
        self.selection: Selection | None = None
        """Of the last forward pass."""

    @property
    def classes(self) -> int:
        """How many there are."""
        return self._classes

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # the same for all lengths
        """Two encoders."""
        return (24 if gradients else 16) * (self.embedding.embedding_dim + self.selector.size)

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict from what is selected; given attention is the selection."""
        vectors = self.embed(batch) if embeddings is None else embeddings
        states = self.selector(vectors, batch.text)
        selection = self._select(states, batch, attention)
        self.selection = selection
        seen = vectors * selection.chosen[..., None]
        read = self.reader(seen, batch.text)
        weight = selection.chosen / selection.chosen.sum(dim=-1, keepdim=True).clamp(min=1e-6)
        logits = self.output(torch.einsum("bt,bth->bh", weight, read))
        return Prediction(logits, selection.chosen, read)

    def _select(self, states: Tensor, batch: Batch, given: Tensor | None) -> Selection:
        inside = batch.mask.to(states.dtype)
        if self.memory is None:
            chosen, rate, log_chance = self._choose(self.choice(states), given)
        else:
            parts = []
            hidden = cell = states.new_zeros(len(states), self.memory.hidden_size)
            for place in range(states.shape[1]):
                numbers = self.choice(torch.cat([states[:, place], hidden], dim=-1))
                parts.append(self._choose(numbers, None if given is None else given[:, place]))
                step = torch.cat([states[:, place], parts[-1][0][:, None] * inside[:, place, None]], dim=-1)
                hidden, cell = self.memory(step, (hidden, cell))
            chosen, rate, log_chance = (torch.stack(part, dim=1) for part in zip(*parts, strict=True))
        return Selection(chosen * inside, rate * inside, (log_chance * inside).sum(dim=-1))

    def _choose(self, numbers: Tensor, given: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """How much of a token is selected, the chance that any is, and the logarithm of the chance of this choice."""
        if self.method == "reinforce":
            logit = numbers[..., 0]
            rate = torch.sigmoid(logit)
            if given is not None:
                chosen = given.to(rate.dtype)
            elif self.training and self.draws:
                chosen = (torch.rand_like(rate) < rate.detach()).to(rate.dtype)
            else:
                chosen = (rate > 0.5).to(rate.dtype)
            log_chance = -nn.functional.binary_cross_entropy_with_logits(logit, chosen, reduction="none")
            return chosen, rate, log_chance
        a, b = nn.functional.softplus(numbers).clamp(1e-6, 100).unbind(dim=-1)
        rate = 1 - chance_of_zero(a, b)
        if given is not None:
            chosen = given.to(rate.dtype)
        elif self.training and self.draws:
            chosen = stretched_sample(a, b, torch.rand_like(a) * 0.998 + 0.001)
        else:
            # A zero more likely than the rest is a zero; otherwise the word is seen whole.
            chosen = (rate > 0.5).to(rate.dtype)
        return chosen, rate, torch.zeros_like(rate)


class RationaleObjective:
    """Cross-entropy, and `weight` times the distance of the rate of selection from its target.

    The rate is that of a whole batch (Zhou et al. 2022); with `by_text` it is what the code behind their numbers has:
    of each text (reinforce), or the mean over texts (hardkuma). REINFORCE learns the selector by the cost of its draw
    times the gradient of the draw's log-probability.
    """

    def __init__(
        self, network: RationaleClassifier, target: float, weight: float = 1.0, *, by_text: bool = False
    ) -> None:
        self.network, self.target, self.weight, self.by_text = network, target, weight, by_text

    def __call__(self, prediction: Prediction, batch: Batch, index: Tensor) -> Tensor:  # noqa: ARG002  # the contract
        """One loss per example."""
        selection = self.network.selection
        assert selection is not None
        error = nn.functional.cross_entropy(prediction.logits, batch.labels, reduction="none")
        drawn = self.network.method == "reinforce"
        amount, sizes = (selection.chosen if drawn else selection.rate).sum(dim=-1), batch.mask.sum(dim=-1).clamp(min=1)
        if self.by_text:
            apart = (amount / sizes - self.target).abs() if drawn else ((amount / sizes).mean() - self.target).abs()
        else:
            apart = (amount.sum() / sizes.sum() - self.target).abs()
        penalty = (self.weight * apart).expand_as(error)
        if drawn:
            # What is common to a batch depends on the draws of all its texts.
            together = selection.log_chance if self.by_text else selection.log_chance.sum()
            return error + error.detach() * selection.log_chance + penalty.detach() * together
        return error + penalty


@dataclass(frozen=True)
class RationaleModel:
    """A trained rationale model with what it takes to read texts."""

    network: RationaleClassifier
    vocabulary: Vocabulary
    classes: tuple[str, ...]

    @property
    def coder(self) -> Vocabulary:
        """How it reads texts."""
        return self.vocabulary


def train_rationale(
    method: Method,
    data: TextDataset,
    *,
    selection: float,
    seed: int = 0,
    weight: float = 1.0,
    by_text: bool = False,
    dependent: bool = False,
    recipe: str | Recipe = "rationale",
    vectors: npt.NDArray[np.float32] | None = None,
    device: str = "cpu",
    hidden: int = 100,
    embedding: int = 100,
) -> RationaleModel:
    """A rationale model that is trained to select that share of the words, as it was after its best epoch."""
    how = RECIPES[recipe] if isinstance(recipe, str) else recipe
    train, dev = (EncodedSplit(data[split], data.vocabulary, device) for split in ("train", "dev"))
    devices = [torch.device(device)] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)  # of the first weights, and of every draw
        size = embedding if vectors is None else vectors.shape[1]
        shape: dict[str, Any] = {"embedding": size, "hidden": hidden, "dependent": dependent}
        network = RationaleClassifier(len(data.vocabulary), len(data.classes), method, **shape)
        if vectors is not None:
            with torch.no_grad():
                network.embedding.weight.copy_(torch.from_numpy(vectors))
        network.to(device)
        objective = RationaleObjective(network, selection, weight, by_text=by_text)
        loop = Loop(network, how, train, objective, _Measure(dev, selection, weight), seed)
        network.draws = True
        run_loops([loop], [Keeper(None, {})])
        network.draws = False
    return RationaleModel(loop.finish(), data.vocabulary, data.classes)


class _Measure:
    """The loss, accuracy and rate of selection on the development split, with the choices that are made in earnest."""

    def __init__(self, split: EncodedSplit, target: float, weight: float) -> None:
        self._split, self._target, self._weight = split, target, weight

    def __call__(self, network: RationaleClassifier) -> dict[str, float]:
        error, right, chosen, words = 0.0, 0, 0.0, 0
        with looking(network):
            for _, batch in self._split.in_order():
                found = network(batch)
                error += float(nn.functional.cross_entropy(found.logits, batch.labels, reduction="sum"))
                right += int((found.logits.argmax(dim=-1) == batch.labels).sum())
                chosen += float(found.attention.sum())
                words += int(batch.mask.sum())
        rate = chosen / max(words, 1)
        loss = error / len(self._split) + self._weight * abs(rate - self._target)
        return {
            "loss": loss if math.isfinite(loss) else math.inf,
            "accuracy": right / len(self._split),
            "selected": rate,
        }
