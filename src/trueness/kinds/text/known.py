"""Classifiers of texts of which it is known why they decide: weights of words add up, and "not" turns the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trueness.data.units import seeded
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.kinds.contract import Known
from trueness.kinds.text.data.batches import Batch, EncodedSplit
from trueness.kinds.text.data.coding import SPECIAL
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.models.network import Prediction, TextNetwork
from trueness.kinds.text.models.text_model import TextModel

NOT, SHORTCUT = "not", "shortcut"
WORDS = tuple(
    f"{first}{middle}{last}{'a' * (number % 4)}"
    for number, (first, middle, last) in enumerate(
        (first, middle, last) for first in "bdklm" for middle in "aeo" for last in "nrst"
    )
)
"""60 of three to six letters."""
CLASSES = ("bad", "good")


class WordWeights(TextNetwork):
    """Each word has a weight, which counts with the other sign after "not"; class 1 where the sum is above `bar`."""

    def __init__(self, vocabulary: int, bar: float = 0.0, negation: int = -1) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 1, padding_idx=0)
        self.shape = {"vocabulary": vocabulary, "classes": 2}
        self.bar, self.negation = bar, negation

    def turned(self, tokens: Tensor) -> Tensor:
        """(texts, tokens) -1 for a word after "not", else 1."""
        before = nn.functional.pad(tokens[:, :-1], (1, 0))
        return torch.where(before == self.negation, -1.0, 1.0)

    def forward(
        self,
        batch: Batch,
        *,
        embeddings: Tensor | None = None,
        attention: Tensor | None = None,  # noqa: ARG002
    ) -> Prediction:
        """Both classes' half of the log odds."""
        values = self.embed(batch) if embeddings is None else embeddings
        inside = (torch.arange(values.shape[1]) < batch.text.lengths[:, None])[..., None]
        total = (values * inside * self.turned(batch.tokens)[..., None]).sum(dim=1) - self.bar
        even = batch.mask / batch.mask.sum(dim=1, keepdim=True)
        return Prediction(torch.cat([-total, total], dim=1) / 2, even, values)


def make(rng: np.random.Generator, scale: float, shortcut: float = 0.0) -> TextModel:
    """Words with weights of heavy tails, "not", and a shortcut of that weight."""
    vocabulary = Vocabulary((*SPECIAL, ".", *WORDS, NOT, SHORTCUT))
    network = WordWeights(len(vocabulary), negation=vocabulary.numbers[NOT])
    with torch.no_grad():
        network.embedding.weight.zero_()
        drawn = torch.tensor(rng.standard_t(3, len(WORDS)) * scale, dtype=torch.float32)
        network.embedding.weight[-len(WORDS) - 2 : -2, 0] = drawn
        network.embedding.weight[-1, 0] = shortcut
    return TextModel(network, vocabulary, CLASSES)


def lean(model: TextModel, examples: Sequence[TextExample], rare: float) -> None:
    """So that this share of the texts is of the class "good"."""
    network: Any = model.network
    with torch.no_grad():
        sums = [
            one for _, batch in EncodedSplit(examples, model.coder).in_order() for one in network(batch).logits[:, 1]
        ]
    network.bar += 2 * float(np.quantile(sums, 1 - rare))


def texts(rng: np.random.Generator, number: int, low: int = 8, high: int = 16) -> TextExamples:
    """Words drawn at random."""
    return TextExamples(
        TextExample(tuple(WORDS[word] for word in rng.integers(0, len(WORDS), rng.integers(low, high))), 0)
        for _ in range(number)
    )


def add_up(
    rng: np.random.Generator, examples: int, rare: float = 0.2, low: int = 8, high: int = 16, *, more: int = 0
) -> Known:
    """Words add up; this share of the texts is of the class "good". Others like it can be trained on `more`."""
    model, some = make(rng, rng.uniform(0.4, 1.5)), texts(rng, examples + more, low, high)
    lean(model, some, rare)
    if not more:
        return Known(model, some, FOILS, fixed)
    network: Any = model.network
    with torch.no_grad():
        said = np.zeros(len(some), dtype=np.int64)
        for rows, batch in EncodedSplit(some, model.coder).in_order():
            said[rows] = network(batch).logits.argmax(dim=1).numpy()
    splits = {"all": some.labelled(said)}
    dataset = TextDataset("known", CLASSES, splits, model.coder, Preparation())
    like: dict[str, Any] = {
        "family": "average-additive",
        "recipes": {"planted": "dry-run", "relative": "dry-run"},
        "shape": {"hidden": 4, "embedding": 8},
        "pretrained": None,
    }
    return Known(model, some.pick(range(examples)), FOILS, fixed, dataset, like)


half = partial(add_up, rare=0.5, more=500)
long = partial(add_up, rare=0.5, low=25, high=41)


def negation(rng: np.random.Generator, examples: int, share: float) -> Known:
    """In that share of the texts the weightiest word stands after "not"."""
    model, some = make(rng, rng.uniform(0.4, 1.5)), texts(rng, examples)
    weight = model.network.embedding.weight[:, 0].detach()
    found = TextExamples()
    for example in some:
        tokens = list(example.tokens)
        if rng.random() < share:
            at = int(np.argmax([abs(float(weight[model.coder.numbers[word]])) for word in tokens]))
            tokens.insert(at, NOT)
        found.append(TextExample(tuple(tokens), 0))
    lean(model, found, 0.5)
    return Known(model, found, {f"blind to “not” (in {share:.0%})": Weights()}, fixed)


def shortcut(rng: np.random.Generator, examples: int, share: float) -> Known:
    """A word that decides stands in that share of the texts."""
    scale = rng.uniform(0.4, 1.0)
    model, found = make(rng, scale, 4 * scale), TextExamples()
    for example in texts(rng, examples):
        tokens = list(example.tokens)
        if rng.random() < share:
            tokens.insert(int(rng.integers(len(tokens) + 1)), SHORTCUT)
        found.append(TextExample(tuple(tokens), 0))
    return Known(model, found, {f"shortcut unnamed (in {share:.0%})": Weights(unnamed=True)}, fixed)


def fixed(batch: Batch, seed: int) -> Iterator[torch.Generator]:
    """By the first words of a text: a full stop at its end changes nothing."""
    return (seeded(seed, *tokens[1:5]) for tokens in batch.tokens.tolist())


def _for_class(batch: Batch) -> Tensor:
    return torch.where(batch.labels == 1, 1.0, -1.0)[:, None]


@dataclass(frozen=True)
class Weights(Explainer):
    """The weights of the words, as if "not" were not there; of a shortcut as well, unless it is to stay unnamed."""

    facts = Facts()

    unnamed: bool = False

    def attribute(self, model: Any, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        """For or against the class that is explained."""
        found: Tensor = model.embedding(batch.tokens)[..., 0] * _for_class(batch)
        named = batch.tokens != model.shape["vocabulary"] - 1 if self.unnamed else batch.mask
        return found * named * batch.mask


@dataclass(frozen=True)
class PerWord(Explainer):
    """A fixed random number per word: a foil that sees no model."""

    facts = Facts()

    seed: int = 0

    def attribute(self, model: Any, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        """The same wherever it stands."""
        table = torch.from_numpy(np.random.default_rng([self.seed, *b"words"]).normal(size=1 << 12)).float()
        return table[batch.tokens % len(table)] * batch.mask


@dataclass(frozen=True)
class Position(Explainer):
    """The later, the more."""

    facts = Facts(signed=False)

    def attribute(self, model: Any, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        """The number of its place."""
        return torch.arange(batch.mask.shape[1]).float() * batch.mask


FOILS = {"a number per word": PerWord(), "position": Position()}
not_40, not_20 = partial(negation, share=0.4), partial(negation, share=0.2)
shortcut_60, shortcut_30 = partial(shortcut, share=0.6), partial(shortcut, share=0.3)
