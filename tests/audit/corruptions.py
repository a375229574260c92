"""Explanations that are wrong in a known way and share of the texts, of models whose right explanation is known."""

import numpy as np
import torch
from torch import nn

from tests.audit.oracle import WORDS, Weigher
from trueness.data.units import seeded
from trueness.explainers.contract import Explainer, Facts
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.coding import SPECIAL
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.models.network import Prediction
from trueness.kinds.text.models.text_model import TextModel

NOT, SHORTCUT = "not", "shortcut"
LONGEST = 64


class Leaning(Weigher):
    """Weights are added up, and a word after "not" counts with the other sign; class 1 where the sum is above `bar`."""

    def __init__(self, vocabulary, bar=0.0):
        super().__init__(vocabulary)
        self.bar = bar
        self.negation = vocabulary - 2  # the last two words

    def turned(self, tokens):
        """(texts, tokens) -1 for a word after "not", else 1."""
        before = nn.functional.pad(tokens[:, :-1], (1, 0))
        return torch.where(before == self.negation, -1.0, 1.0)

    def forward(self, batch, *, embeddings=None, attention=None):
        values = self.embed(batch) if embeddings is None else embeddings
        inside = (torch.arange(values.shape[1]) < batch.text.lengths[:, None])[..., None]
        total = (values * inside * self.turned(batch.tokens)[..., None]).sum(dim=1) - self.bar
        return Prediction(
            torch.cat([-total, total], dim=1) / 2, batch.mask / batch.mask.sum(dim=1, keepdim=True), values
        )


def make_leaning(rng, scale=1.0, shortcut=0.0):
    """60 words with weights of heavy tails, "not", and a shortcut of that weight."""
    vocabulary = Vocabulary((*SPECIAL, ".", *(f"w{number}" for number in range(WORDS)), NOT, SHORTCUT))
    network = Leaning(len(vocabulary))
    with torch.no_grad():
        network.embedding.weight.zero_()
        network.embedding.weight[-WORDS - 2 : -2, 0] = torch.tensor(
            rng.standard_t(3, WORDS) * scale, dtype=torch.float32
        )
        network.embedding.weight[-1, 0] = shortcut
    assert network.negation == vocabulary.numbers[NOT]
    return TextModel(network, vocabulary, ("bad", "good"))


def lean(model, examples, rare):
    """So that this share of the texts is of the class "good"."""
    split = EncodedSplit(examples, model.coder)
    with torch.no_grad():
        sums = [one for _, batch in split.in_order() for one in model.network(batch).logits[:, 1].tolist()]
    model.network.bar = 2 * float(np.quantile(sums, 1 - rare))


def with_word(rng, examples, word, share):
    """The texts, in that share of which the word stands somewhere."""
    found = []
    for example in examples:
        tokens = list(example.tokens)
        if rng.random() < share:
            tokens.insert(int(rng.integers(len(tokens) + 1)), word)
        found.append(TextExample(tuple(tokens), 0))
    return found


def negated(rng, model, examples, share):
    """The texts, in that share of which the weightiest word stands after "not"."""
    weight = model.network.embedding.weight[:, 0].detach()
    found = []
    for example in examples:
        tokens = list(example.tokens)
        if rng.random() < share:
            at = int(np.argmax([abs(float(weight[model.coder.numbers[word]])) for word in tokens]))
            tokens.insert(at, NOT)
        found.append(TextExample(tuple(tokens), 0))
    return found


def signs(batch, target):
    return torch.where(batch.labels == 1, 1.0, -1.0)[:, None] if target == "gold" else torch.ones(len(batch), 1)


def exact(model, batch, target):
    """What hiding each word does: its weight, turned round after "not", and twice the next word's for "not" itself."""
    weight = model.embedding(batch.tokens)[..., 0]
    after = nn.functional.pad(weight[:, 1:], (0, 1))
    own = weight * model.turned(batch.tokens) - 2 * after * (batch.tokens == model.negation)
    return own * signs(batch, target) * batch.mask


class Exact(Explainer):
    """The right explanation."""

    facts = Facts()

    def attribute(self, model, batch, target="predicted"):
        return exact(model, batch, target)


class Blind(Explainer):
    """The weights of the words, as if "not" were not there."""

    facts = Facts()

    def attribute(self, model, batch, target="predicted"):
        return model.embedding(batch.tokens)[..., 0] * signs(batch, target) * batch.mask


class Corrupted(Explainer):
    """The right explanation, changed in some texts."""

    facts = Facts()

    def attribute(self, model, batch, target="predicted"):
        return self.change(exact(model, batch, target), model, batch) * batch.mask

    def change(self, scores, model, batch):
        raise NotImplementedError


def draws(dice, batch, seed, width):
    """(texts, width) fixed by the first words of a text: a full stop at its end changes nothing."""
    rows = [seeded(seed, *tokens[1:5]) for tokens in batch.tokens.tolist()]
    return torch.stack([dice(LONGEST, generator=one)[:width] for one in rows])


class Noise(Corrupted):
    """Random scores in that share of the texts."""

    def __init__(self, share, seed=0):
        self.share, self.seed = share, seed

    def change(self, scores, model, batch):
        dice = draws(torch.rand, batch, self.seed + 77, scores.shape[1] + 1)
        return torch.where(dice[:, :1] < self.share, dice[:, 1:] * 2 - 1, scores)


class Blurry(Corrupted):
    """Noise on every score, so large a share of the scores' own spread: good everywhere, exact nowhere."""

    def __init__(self, share, seed=0):
        self.share, self.seed = share, seed

    def change(self, scores, model, batch):
        inside = batch.mask.sum(dim=1, keepdim=True)
        spread = (scores.square().sum(dim=1, keepdim=True) / inside).sqrt()
        return scores + self.share * spread * draws(torch.randn, batch, self.seed + 78, scores.shape[1])


class InvertedFor(Corrupted):
    """Upside down for one class."""

    def __init__(self, label):
        self.label = label

    def change(self, scores, model, batch):
        return torch.where((model(batch).logits.argmax(dim=1) == self.label)[:, None], -scores, scores)


class Magnitudes(Corrupted):
    """Without signs."""

    facts = Facts(signed=False)

    def change(self, scores, model, batch):
        return scores.abs()


class TopLast(Corrupted):
    """The most important word is shown as the least important one."""

    def change(self, scores, model, batch):
        top = torch.where(batch.mask, scores, -torch.inf).argmax(dim=1, keepdim=True)
        return scores.scatter(1, top, scores.amin(dim=1, keepdim=True) - 1)


class Unnamed(Corrupted):
    """The shortcut gets nothing."""

    def change(self, scores, model, batch):
        return scores * (batch.tokens != model.negation + 1)
