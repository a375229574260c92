"""Rationale models: a selector chooses words, and a classifier sees only those.

Lei et al. (2016) draw the choice and learn by REINFORCE; Bastings et al. (2019) relax it to the HardKuma distribution,
which can be differentiated. Both are trained to a target rate of selection, as Zhou et al. (2022).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from trueness.boundary import check_fields
from trueness.errors import UserError
from trueness.kinds.text.data.batches import Batch, EncodedSplit
from trueness.kinds.text.data.coding import PAD
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.models import stack
from trueness.kinds.text.models.attentive import Width
from trueness.kinds.text.models.encoders import BiLSTM
from trueness.kinds.text.models.network import Prediction, TextNetwork
from trueness.kinds.text.models.text_model import TextModel
from trueness.kinds.text.models.training import trained
from trueness.models.cuda_graphs import Together, cross_entropy
from trueness.models.loop import Loop
from trueness.models.network import inspecting
from trueness.models.recipes import RECIPES, Recipe

Method = Literal["reinforce", "hardkuma"]
LOW, HIGH = -0.1, 1.1
"""HardKuma stretches a Kumaraswamy variable to this support, and cuts it to [0, 1]."""

_ON_TARGET = 0.01
"""So near to its target must a rate of selection be before training may stop."""


def stretched_sample(a: Tensor, b: Tensor, uniform: Tensor) -> Tensor:
    """A HardKuma(a, b) variable from a uniform one: inverse transform, stretched, cut; differentiable in a and b."""
    kuma = (1 - (1 - uniform) ** (1 / b)) ** (1 / a)
    return (LOW + (HIGH - LOW) * kuma).clamp(0, 1)


def chance_of_zero(a: Tensor, b: Tensor) -> Tensor:
    """P(z = 0) of HardKuma(a, b)."""
    return 1 - (1 - (-LOW / (HIGH - LOW)) ** a) ** b


class RationaleClassifier(TextNetwork):
    """A selector and a classifier with encoders of their own; `attention` of a prediction is what was selected.

    While it is trained selections are drawn; otherwise each token is selected if it more likely is than not. With
    `dependent` a token's chance also depends on the choices before it.
    """

    recurrent = recorded = True

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
        self.shape = {"vocabulary": vocabulary, "classes": classes}
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=PAD)
        self.selector = BiLSTM(embedding, hidden)
        self.memory = nn.LSTMCell(2 * hidden + 1, 30) if dependent else None
        self.choice = nn.Linear(2 * hidden + (30 if dependent else 0), 1 if method == "reinforce" else 2)
        self.reader = BiLSTM(embedding, hidden)
        self.output = nn.Linear(2 * hidden, classes)
        self.draws = False
        """Whether selections are drawn in training mode: cuDNN needs that mode for gradients, too."""

    @property
    def kind(self) -> tuple[Any, ...] | None:
        """Choices that depend on one another are made one by one, in each model."""
        sizes = tuple((name, weight.shape) for name, weight in self.named_parameters())
        return (self.method, *sizes) if self.memory is None else None

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # the same for all lengths
        """Two encoders."""
        return (24 if gradients else 16) * (self.embedding.embedding_dim + self.selector.size)

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict from what is selected; given attention is the selection."""
        vectors = self.embed(batch) if embeddings is None else embeddings
        states = self.selector(vectors, batch.text)
        chosen, rate, log_chance = self._select(states, batch, attention)
        read = self.reader(vectors * chosen[..., None], batch.text)
        weight = chosen / chosen.sum(dim=-1, keepdim=True).clamp(min=1e-6)
        logits = self.output(torch.einsum("bt,bth->bh", weight, read))
        return Prediction(logits, chosen, read, (rate, log_chance))

    def _select(self, states: Tensor, batch: Batch, given: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Of each token how much the classifier sees and its chance to be selected; of each text, of its choice.

        The first is 0 or 1, between them only while HardKuma is trained; the last is a logarithm, 0 if nothing is
        drawn.
        """
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
        return chosen * inside, rate * inside, (log_chance * inside).sum(dim=-1)

    def _choose(self, numbers: Tensor, given: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """How much of a token is selected, the chance that any is, and the logarithm of the chance of this choice."""
        drawn = self.method == "reinforce"
        if drawn:
            rate = torch.sigmoid(numbers[..., 0])
        else:
            a, b = nn.functional.softplus(numbers).clamp(1e-6, 100).unbind(dim=-1)
            rate = 1 - chance_of_zero(a, b)
        if given is not None:
            chosen = given.to(rate.dtype)
        elif not (self.training and self.draws):
            # What is more likely left out than not is left out; otherwise the word is seen whole.
            chosen = (rate > 0.5).to(rate.dtype)
        elif drawn:
            chosen = (torch.rand_like(rate) < rate.detach()).to(rate.dtype)
        else:
            chosen = stretched_sample(a, b, torch.rand_like(a) * 0.998 + 0.001)
        if not drawn:
            return chosen, rate, torch.zeros_like(rate)
        return chosen, rate, -nn.functional.binary_cross_entropy_with_logits(numbers[..., 0], chosen, reduction="none")


class RationaleObjective(Together):
    """Cross-entropy, and `weight` times the distance of the rate of selection from its target.

    The rate is that of a whole batch (Zhou et al. 2022); with `by_text` it is what the code behind their numbers has:
    of each text (reinforce), or the mean over texts (hardkuma). REINFORCE learns the selector by the cost of its draw
    times the gradient of the draw's log-probability; what the rest of the batch costs is taken off, but for `by_text`.
    """

    def __init__(self, method: Method, target: float | Tensor, weight: float = 1.0, *, by_text: bool = False) -> None:
        self.method, self.target, self.weight, self.by_text = method, target, weight, by_text

    def __call__(self, prediction: Prediction, batch: Batch, index: Tensor) -> Tensor:  # noqa: ARG002  # the contract
        """One loss per example."""
        rate, log_chance = prediction.more
        error = cross_entropy(prediction.logits, batch.labels)
        drawn = self.method == "reinforce"
        amount, sizes = (prediction.attention if drawn else rate).sum(dim=-1), batch.mask.sum(dim=-1).clamp(min=1)
        if self.by_text:
            shares = amount / sizes
            apart = ((shares if drawn else shares.mean(dim=-1, keepdim=True)) - self.target).abs()
        else:
            apart = (amount.sum(dim=-1, keepdim=True) / sizes.sum(dim=-1, keepdim=True) - self.target).abs()
        penalty = (self.weight * apart).expand_as(error)
        if not drawn:
            return error + penalty
        if self.by_text:
            return error + (error + penalty).detach() * log_chance
        # The penalty depends on the draws of all texts; what the others have by themselves is a text's baseline.
        count = error.shape[-1]
        others = self.weight * (_without(amount) / _without(sizes).clamp(min=1) - self.target).abs()
        costs = error - _without(error) / max(count - 1, 1) + count * (penalty - others)
        return error + costs.detach() * log_chance

    def alike(self, other: RationaleObjective) -> bool:
        """Targets may differ."""
        return (other.method, other.weight, other.by_text) == (self.method, self.weight, self.by_text)

    def joined(self, others: Sequence[RationaleObjective], device: torch.device) -> RationaleObjective:
        """With the target of each."""
        targets = torch.tensor([[other.target] for other in others], device=device)
        return RationaleObjective(self.method, targets, self.weight, by_text=self.by_text)


def _without(values: Tensor) -> Tensor:
    """(..., batch): the sum of all others in the batch."""
    return values.sum(dim=-1, keepdim=True) - values


@dataclass(frozen=True)
class _Shape:
    embedding: Width = 100
    hidden: Width = 100

    def __post_init__(self) -> None:
        check_fields(self, "The shape of a rationale model")


RATIONALE_SETTINGS = tuple(field.name for field in fields(_Shape))
"""What of the shape of a rationale model may be set."""


def check_rationale_shape(changes: Mapping[str, Any]) -> None:
    """Refuse changes that leave no rationale model, before any work starts."""
    for name in changes:
        if name not in RATIONALE_SETTINGS:
            raise UserError(f"A rationale model has no {name} to set; {' and '.join(RATIONALE_SETTINGS)} can be.")
    _Shape(**changes)


def train_rationales(
    method: Method,
    data: TextDataset,
    jobs: Sequence[tuple[float, int]],
    *,
    weight: float = 1.0,
    by_text: bool = False,
    dependent: bool = False,
    recipe: str | Recipe = "rationale",
    vectors: npt.NDArray[np.float32] | None = None,
    device: str = "cpu",
    hidden: int = 100,
    embedding: int = 100,
) -> list[TextModel]:
    """A rationale model for each share of words to select and seed: stacked on a GPU, one by one on a CPU."""
    how = RECIPES[recipe] if isinstance(recipe, str) else recipe
    train, dev = (EncodedSplit(data[split], data.vocabulary, device) for split in ("train", "dev"))
    size = embedding if vectors is None else vectors.shape[1]
    shape: dict[str, Any] = {"embedding": size, "hidden": hidden, "dependent": dependent}

    def loop_of(selection: float, seed: int) -> Loop[RationaleClassifier]:
        torch.manual_seed(seed)
        network = RationaleClassifier(len(data.vocabulary), len(data.classes), method, **shape)
        if vectors is not None:
            network.take_vectors(vectors)
        network.to(device).draws = True
        objective = RationaleObjective(method, selection, weight, by_text=by_text)
        measure = functools.partial(_measure, split=dev, target=selection, weight=weight)
        return Loop(network, how, train, objective, measure, seed)

    kind = torch.device(device).type
    found = []
    for group in [jobs] if kind in stack.DEVICES else [[job] for job in jobs]:
        with torch.random.fork_rng(devices=[torch.device(device)] if kind == "cuda" else []):
            # Draws go on from the last seed; a model trained alone depends on its own only.
            loops = [loop_of(*job) for job in group]
            stack.run_loops(loops)
        for loop in loops:
            loop.network.draws = False
            found.append(trained(loop, data))
    return found


def _measure(network: RationaleClassifier, split: EncodedSplit, target: float, weight: float) -> dict[str, float]:
    """The loss, accuracy and rate of selection on the development split, with the choices that are made in earnest."""
    # Added up on the device: a GPU is waited for once.
    sums = torch.zeros(4, dtype=torch.float64, device=split.device)
    with inspecting(network):
        for _, batch in split.in_order():
            found = network(batch)
            here = nn.functional.cross_entropy(found.logits, batch.labels, reduction="sum")
            hits = (found.logits.argmax(dim=-1) == batch.labels).sum()
            sums += torch.stack([here, hits, found.attention.sum(), batch.mask.sum()])
    error, right, chosen, words = sums.tolist()
    rate = chosen / max(words, 1)
    loss = error / len(split) + weight * abs(rate - target)
    return {
        "loss": loss if math.isfinite(loss) else math.inf,
        "accuracy": right / len(split),
        "selected": rate,
        "on target": float(abs(rate - target) <= _ON_TARGET),
    }
