"""Masking a split by gradients against the same text by text; on a GPU also a step of five seeds against one by one."""

import numpy as np
import torch

from benchmarks.report import line, ratio
from trueness.kinds import KINDS
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.models.recipes import Recipe
from trueness.protocols.roar.bounds import Drops, attainable, normalised
from trueness.protocols.roar.hiding import Amount, hide
from trueness.protocols.roar.step import nothing, retrain
from trueness.studies.retraining import retraining_of

WORDS, TEXTS, TOKENS = 2000, 400, 20
SEEDS = (0, 1, 2, 3, 4)


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(WORDS)]
    vocabulary = Vocabulary.of([TextExample(tuple(words), 0)])
    texts = [TextExample(tuple(rng.choice(words, TOKENS)), number % 2) for number in range(TEXTS)]
    split = EncodedSplit(texts, vocabulary, device)
    network = AttentiveClassifier(AttentiveConfig(len(vocabulary), 2)).to(device)
    method, amount = TEXT_EXPLAINERS["gradient"], Amount(0.1)
    start = torch.zeros(split.tokens, dtype=torch.bool, device=device)

    def ours() -> None:
        hide(network, method, split, start, [amount])

    def text_by_text() -> None:
        for row in range(TEXTS):
            batch = split.batch([row])
            scores = method.attribute(network, batch, "gold")[0]
            inside = batch.mask[0].nonzero()[:, 0].tolist()
            inside.sort(key=lambda place: -float(scores[place]))
            inside[: int(0.1 * len(inside))]

    ours()
    line(
        f"masking {TEXTS} texts by gradients, {device}, against text by text",
        ratio(text_by_text, ours),
        "x",
        5,
        at_least=True,
    )
    _bounds(network, split)
    if device == "cuda":
        _together(texts, vocabulary, device)


def _bounds(network: AttentiveClassifier, split: EncodedSplit) -> None:
    """Comprehensiveness and sufficiency of a text between the bounds of two orders, against the two alone."""
    drops = Drops(network, split.batch([0]), "gold")
    scores = np.random.default_rng(0).normal(size=drops.size)

    def curves() -> None:
        order = np.argsort(-scores)
        drops.along(order)
        drops.along(order[::-1].copy())

    def bounded() -> None:
        normalised(drops, scores, attainable(drops, beam=0), signed=True)

    bounded()
    more = 1 / ratio(curves, bounded, 20)
    line(f"both curves with bounds, {TOKENS} tokens, against without", more, "x", 3, at_least=False)


def _together(texts: list[TextExample], vocabulary: Vocabulary, device: str) -> None:
    splits = {"train": TextExamples(texts * 8), "dev": TextExamples(texts), "test": TextExamples(texts)}
    data = TextDataset("benchmark", ("0", "1"), splits, vocabulary, Preparation())
    how = retraining_of(KINDS["text"], data, device, "bilstm-additive", recipe=Recipe(epochs=4))

    def step(seeds: tuple[int, ...]) -> None:
        retrain(how, seeds, [nothing] * len(seeds), leak=True)

    def one_by_one() -> None:
        for seed in SEEDS:
            step((seed,))

    step(SEEDS)
    line(
        "a step of five seeds together, against one by one",
        ratio(one_by_one, lambda: step(SEEDS)),
        "x",
        1.2,
        at_least=True,
    )
