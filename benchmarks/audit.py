"""The audit of a model with 200 texts against the sum of its trials run apart: what it shares must pay for the rest."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import trueness as tn
from benchmarks.report import line
from trueness.audits.repeats import after_edit, by_itself
from trueness.kinds import KINDS
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.kinds.text.data.planting import own_words, plant
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.families import train_many
from trueness.models.recipes import Recipe
from trueness.papers.ground_truth.trial import trial
from trueness.protocols.faithfulness import removal
from trueness.protocols.randomisation import explained, randomisation, redrawn

WORDS, TEXTS, TOKENS, SEEDS = 400, 200, 20, 2
METHODS = ("attention", "gradient", "integrated-gradients", "leave-one-out")
SIZES: dict[str, Any] = {
    "examples": TEXTS,
    "training_examples": TEXTS,
    "planted_models": SEEDS,
    "companion_examples": 0,
    "planted_examples": 30,
}
FOILS = ("random", "blurred[leave-one-out]", "token-number")


def main() -> None:
    rng = np.random.default_rng(0)
    words = [f"{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}{chr(97 + n // 676)}" for n in range(WORDS)]
    texts = TextExamples([TextExample(tuple(rng.choice(words, TOKENS)), n % 2) for n in range(TEXTS)])
    vocabulary = Vocabulary.of(texts)
    parts = {"train": range(140), "dev": range(140, 170), "test": range(170, TEXTS)}
    splits = {name: texts.pick(rows) for name, rows in parts.items()}
    data = TextDataset("benchmark", ("0", "1"), splits, vocabulary, Preparation())
    shape = {"hidden": 32, "embedding": 32}
    (model,) = train_many("bilstm-additive", data, [0], recipe=Recipe(epochs=1), **shape)
    names = [*METHODS, *FOILS]

    def apart() -> None:
        split = EncodedSplit(texts, model.coder)
        few = EncodedSplit(texts[:100], model.coder)
        for name in names:
            method = TEXT_EXPLAINERS[name]
            scores, mask = explained(model.network, split, method)
            removal(model.network, split, scores, mask)
            randomisation(model.network, few, method, orders=["all at once"], seeds=(0, 1))
            scores, mask = explained(model.network, split, method)
            if (again := redrawn(method)) is not None:
                explained(model.network, few, again)
            by_itself(model.network, split, 30, method, scores, mask)
            after_edit(KINDS["text"], model, texts, np.arange(100), method, scores)
        planting, kept = own_words(data, vocabulary.numbers.get)
        planted = plant(kept, planting)
        for seed in range(SEEDS):
            (trained,) = train_many("bilstm-additive", planted, [seed], recipe="dry-run", **shape)
            trial(trained, planted["test"], names, bound=0.5, instances=30)

    def together(folder: Path) -> None:
        given = [(" ".join(one.tokens), one.label) for one in texts]
        with ThreadPoolExecutor(1) as executor:
            tn.audit(folder / "model", given, explainers=METHODS, store=folder / "store", executor=executor, **SIZES)

    ratios = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            begin = process_time()
            together(Path(folder))
            middle = process_time()
            apart()
            ratios.append((middle - begin) / (process_time() - middle))
    line("an audit of 200 texts against its trials run apart", min(ratios), "x", 1.3, at_least=False)
