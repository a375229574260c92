"""One epoch of our training loop against the bare forward, backward and step of the same shapes, batches ready-made."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.report import line, seconds
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.kinds.text.models.finetuning import LARGEST, Steps
from trueness.kinds.text.models.stack import Stack
from trueness.kinds.text.models.transformer import Transformer
from trueness.models.cuda_graphs import CrossEntropy
from trueness.models.evaluation import Evaluation
from trueness.models.loop import Loop
from trueness.models.recipes import RECIPES, FineTuning

EXAMPLES, WORDS, EMBEDDING, HIDDEN = 1280, 5000, 100, 128


class Bare(nn.Module):
    """The same layers as plain modules: embedding, one bidirectional LSTM, additive attention, one output."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, EMBEDDING, padding_idx=0)
        self.lstm = nn.LSTM(EMBEDDING, HIDDEN, batch_first=True, bidirectional=True)
        self.first, self.second = nn.Linear(2 * HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1, bias=False)
        self.output = nn.Linear(2 * HIDDEN, 1)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        states, _ = self.lstm(self.embedding(tokens))
        scores = self.second(torch.tanh(self.first(states)))[..., 0].masked_fill(~mask, -torch.inf)
        logit: Tensor = self.output(torch.einsum("bt,bth->bh", torch.softmax(scores, -1), states))
        return logit[:, 0]


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for tokens in (20, 180):
        split, vocabulary = _split(tokens, device)
        config = AttentiveConfig(len(vocabulary), 2, embedding=EMBEDDING, hidden=HIDDEN, one_logit=True)
        # A short look at the selection split: one example of each class.
        few, _ = _split(tokens, device, examples=2)
        loop = _loop(config, split, few, 0)
        bare = Bare(len(vocabulary)).to(device)
        optimiser = torch.optim.Adam(bare.parameters(), lr=1e-3, weight_decay=1e-5, amsgrad=True, fused=True)
        pieces = split.shuffled(32, np.random.default_rng([0, 0]))
        batches = [(b.tokens, b.mask, b.labels.float()) for b in map(split.batch, pieces)]
        ours, theirs = [], []
        for _ in range(10):
            ours.append(seconds(functools.partial(_epoch, loop), 1))
            theirs.append(seconds(functools.partial(_bare_epoch, bare, optimiser, batches), 1))
        name = f"training epoch, {tokens} tokens, batch 32, {device}, against bare layers"
        # Turning texts round within their padding takes 1 ms of the 26 that a step of short texts takes on a CPU.
        line(name, min(ours) / min(theirs), "x", 1.15 if tokens == 20 else 1.1, at_least=False)
    if device == "cuda":
        many()
        fine_tuning()


def _split(tokens: int, device: str, examples: int | None = None) -> tuple[EncodedSplit, Vocabulary]:
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(WORDS)]
    texts = [
        TextExample(tuple(rng.choice(words, max(3, int(rng.normal(tokens, tokens / 5))))), number % 2)
        for number in range(examples or (EXAMPLES if tokens < 100 else EXAMPLES // 4))
    ]
    vocabulary = Vocabulary.of([TextExample(tuple(words), 0)])
    return EncodedSplit(texts, vocabulary, device), vocabulary


def many(device: str = "cuda", models: int = 16) -> None:
    """Several models stacked, against one after the other; both record their steps."""
    for encoder, tokens, least in (("bilstm", 20, 2.0), ("bilstm", 180, 2.0), ("cnn", 20, 2.0), ("cnn", 180, 10.0)):
        split, vocabulary = _split(tokens, device)
        shape: dict[str, Any] = {"encoder": encoder, "embedding": EMBEDDING, "hidden": HIDDEN}
        config = AttentiveConfig(len(vocabulary), 2, one_logit=True, **shape)
        loops = [_loop(config, split, split, seed) for seed in range(models)]
        stacked = Stack(loops)
        for _ in range(3):  # record all shapes
            _one_after_the_other(loops)
            stacked.epoch()
        alone = seconds(functools.partial(_one_after_the_other, loops))
        together = seconds(stacked.epoch)
        name = f"{models} {encoder} models stacked, {tokens} tokens, batch 32, {device}, against one after the other"
        line(name, alone / together, "x", least, at_least=True)


def fine_tuning(device: str = "cuda", texts: int = 640) -> None:
    """A transformer of MiniLM's shape, batches of 16 texts of about 25 tokens: recorded steps against computed ones."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    shape = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    config = AutoConfig.for_model("bert", vocab_size=WORDS + 10, **shape)
    model = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
    network = Transformer(model).to(device)
    split, _ = _split(25, device, texts)
    recorded, computed = (Steps(network, split, FineTuning(epochs=99), largest=largest) for largest in (LARGEST, 0))
    for _ in range(3):  # record all shapes
        _pass(recorded)
    ratio = seconds(functools.partial(_pass, computed)) / seconds(functools.partial(_pass, recorded))
    line(f"fine-tuning epoch, MiniLM's shape, {device}, recorded against computed steps", ratio, "x", 2, at_least=True)


def _pass(steps: Steps) -> None:
    for _ in steps.epoch(np.random.default_rng(0)):
        pass
    float(steps.total)  # waits for the device


def _loop(config: AttentiveConfig, train: EncodedSplit, select: EncodedSplit, seed: int) -> Loop[AttentiveClassifier]:
    network = AttentiveClassifier(config).to(train.device)
    recipe = replace(RECIPES["jw2019"], epochs=99)
    objective = CrossEntropy(train, weigh_positive=recipe.weigh_positive)
    return Loop(network, recipe, train, objective, Evaluation(select, 2), seed)


def _one_after_the_other(loops: list[Loop[AttentiveClassifier]]) -> None:
    for loop in loops:
        for _ in loop.steps():
            pass


def _epoch(loop: Loop[AttentiveClassifier]) -> None:
    for _ in loop.steps():
        pass
    loop.look()


def _bare_epoch(model: Bare, optimiser: torch.optim.Adam, batches: list[tuple[Tensor, Tensor, Tensor]]) -> None:
    for tokens, mask, labels in batches:
        loss = nn.functional.binary_cross_entropy_with_logits(model(tokens, mask), labels, reduction="sum")
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
