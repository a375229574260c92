"""A model whose right explanation is known by hand, wrong explanations of it, and an audit of all of them in memory."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from trueness.audits.judging import in_order, judge
from trueness.audits.measured import Measurements
from trueness.audits.repeats import after_edit, by_itself
from trueness.audits.trials import lines_of
from trueness.explainers.contract import Explainer, Facts
from trueness.explainers.simple import Blurred, Random
from trueness.kinds.text.audit import VIEW, edit
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.coding import SPECIAL
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.explainers.simple import TokenNumber
from trueness.kinds.text.models.network import Prediction, TextNetwork
from trueness.kinds.text.models.text_model import TextModel
from trueness.protocols.best_order import reference
from trueness.protocols.faithfulness import removal
from trueness.protocols.randomisation import explained, randomisation, redrawn
from trueness.protocols.similarity import flat, similarity

WORDS = 60


class Weigher(TextNetwork):
    """Each word has a weight, and the weights of a text are added up: class 1 where the sum is above 0."""

    def __init__(self, vocabulary, classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 1, padding_idx=0)
        self.shape = {"vocabulary": vocabulary, "classes": classes}

    def forward(self, batch, *, embeddings=None, attention=None):
        values = self.embed(batch) if embeddings is None else embeddings
        position = torch.arange(values.shape[1], device=values.device)
        inside = (position < batch.text.lengths[:, None])[..., None]
        total = (values * inside).sum(dim=1)
        logits = torch.cat([-total, total], dim=1) / 2
        return Prediction(logits, batch.mask / batch.mask.sum(dim=1, keepdim=True), values)


def make_model(rng, scale=1.5):
    """A few strong words and many weak ones; what is hidden, and a full stop, weigh nothing."""
    words = (".", *(f"w{number}" for number in range(WORDS)))
    vocabulary = Vocabulary((*SPECIAL, *words)) if not hasattr(Vocabulary, "of_words") else Vocabulary.of_words(words)
    network = Weigher(len(vocabulary))
    with torch.no_grad():
        network.embedding.weight.zero_()
        weights = rng.standard_t(3, WORDS) * scale
        network.embedding.weight[-WORDS:, 0] = torch.tensor(weights, dtype=torch.float32)
    return TextModel(network, vocabulary, ("bad", "good"))


def make_texts(rng, number, low=8, high=16):
    return [
        TextExample(tuple(f"w{word}" for word in rng.integers(0, WORDS, rng.integers(low, high))), 0)
        for _ in range(number)
    ]


def make_sparse_model():
    """Two words alone weigh anything, one for each class."""
    model = make_model(np.random.default_rng(0), scale=0.0)
    with torch.no_grad():
        model.network.embedding.weight[-WORDS : -WORDS + 2, 0] = torch.tensor([3.0, -3.0])
    return model


def make_sparse_texts(rng, number, low=15, high=31):
    """One word that decides among many that weigh nothing, at any place."""
    texts = []
    for _ in range(number):
        words = [f"w{word}" for word in rng.integers(2, WORDS, rng.integers(low, high))]
        words[rng.integers(len(words))] = f"w{rng.integers(2)}"
        texts.append(TextExample(tuple(words), 0))
    return texts


class Right(Explainer):
    """The weight of each word, for or against the class."""

    facts = Facts()

    def attribute(self, model, batch, target="predicted"):
        sign = torch.where(batch.labels == 1, 1.0, -1.0) if target == "gold" else torch.ones(len(batch))
        return model.embedding(batch.tokens)[..., 0] * sign[:, None] * batch.mask


class Inverted(Right):
    facts = Facts()

    def attribute(self, model, batch, target="predicted"):
        return -super().attribute(model, batch, target)


class Constant(Explainer):
    facts = Facts(signed=False)

    def attribute(self, model, batch, target="predicted"):
        return batch.mask.float()


class Positions(Explainer):
    """The same whatever the text: the later, the more."""

    facts = Facts(signed=False)

    def attribute(self, model, batch, target="predicted"):
        return torch.arange(batch.mask.shape[1]).float() * batch.mask


class WeightIndependent(Explainer):
    """What is right for this model, looked up beforehand: it never looks at the model."""

    facts = Facts()

    def __init__(self, table):
        self.table = table

    def attribute(self, model, batch, target="predicted"):
        sign = torch.where(batch.labels == 1, 1.0, -1.0)
        return self.table[batch.tokens] * sign[:, None] * batch.mask


KIND = SimpleNamespace(edit=edit, view=VIEW)
DRAWS = 5
"""Random orders of the weights, as many as an audit takes."""


def measure(model, examples, methods, randomised=50, gold=None):
    """What an audit measures of each method; the labels are those of the model, or `gold` ones."""
    split = EncodedSplit(examples, model.coder)
    with torch.no_grad():
        found = torch.zeros(len(examples), dtype=torch.long)
        for rows, batch in split.in_order():
            found[torch.from_numpy(rows)] = model.network(batch).logits.argmax(dim=-1)
    examples = TextExamples(replace(one, label=int(label)) for one, label in zip(examples, found, strict=True))
    split = EncodedSplit(examples, model.coder)
    few = EncodedSplit(examples[:randomised], model.coder)
    result, most = {}, reference(model.network, split)
    effect = np.nan_to_num(most.alone, nan=-np.inf).argmax(axis=1) - 1  # the first token is none of the text's
    strongest = [one.tokens[at] for one, at in zip(examples, effect, strict=True)]
    for name, method in methods.items():
        scores, mask = explained(model.network, split, method)
        other = redrawn(method)
        ceiling = (
            np.ones(len(examples))
            if other is None
            else similarity(scores, explained(model.network, split, other)[0], mask)
        )
        table = randomisation(
            model.network, few, method, orders=["all at once"], seeds=range(DRAWS), before=scores[:randomised]
        )
        change = (table["ceiling"] - table["similarity"]).to_numpy().reshape(DRAWS, -1)
        hidden = removal(model.network, split, scores, mask)
        result[name] = Measurements(
            cost=hidden.cost,
            soft_cost=hidden.soft_cost,
            change=change,
            moved=float(table["output change"].mean()),
            ceiling=ceiling,
            alone=by_itself(model.network, split, min(30, len(examples)), method, scores, mask),
            edited=after_edit(KIND, model, examples, np.arange(len(examples)), other or method, scores),
            flat=flat(scores, mask),
            random=method.facts.random,
            reference=most,
            singles=most.singles(scores, mask),
            strongest=strongest,
            predicted=found.numpy(),
            labels=np.full(len(examples), -1) if gold is None else gold,
            classes=model.classes,
        )
    return result


FOILS = ("random", "blurred", "token-number")


def audit(model, examples, methods, **how):
    """Verdicts of the methods and of the foils; no model is trained, so that no evidence is planted."""
    every = {**methods, "random": Random(), "blurred": Blurred(Right()), "token-number": TokenNumber()}
    found = measure(model, examples, every, **how)
    judged, ties = in_order(judge(lines_of(found, FOILS, missing_planted="no", planted_required=False), FOILS), found)
    return {one.explainer: one for one in judged}, ties
