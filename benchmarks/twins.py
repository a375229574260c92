"""Nine twins of three weights, of one base model, trained side by side in one process against one after the other."""

import itertools
import time

import numpy as np
import torch

from benchmarks.report import line
from trueness.kinds.text.data.dataset import prepare
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.models.families import train
from trueness.kinds.text.models.twins import train_twins
from trueness.models.recipes import Recipe

JOBS = [(seed, weight) for seed, weight in itertools.product(range(3), (0.3, 1.0, 3.0))]


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    examples, epochs = (1000, 6) if device == "cuda" else (64, 2)
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(500)]
    raw = {
        split: [RawExample(" ".join(rng.choice(words, int(rng.integers(50, 101)))), row % 2) for row in range(size)]
        for split, size in (("train", examples), ("dev", 100), ("test", 100))
    }
    data = prepare("made up", raw, Preparation())
    hidden = 128 if device == "cuda" else 16
    base = train("bilstm-additive", data, recipe=Recipe(epochs=1), device=device, hidden=hidden)
    recipe = Recipe(epochs=epochs, select="loss")

    def seconds(groups: list[list[tuple[int, float]]]) -> float:
        begin = time.perf_counter()
        for jobs in groups:
            train_twins(base, data, jobs, recipe=recipe, device=device)
        return time.perf_counter() - begin

    together, alone = [JOBS], [[job] for job in JOBS]
    seconds([JOBS[:1]])  # libraries warm up
    ratios = [seconds(alone) / seconds(together) for _ in range(2)]
    # On a CPU there is nothing to overlap: only the looks at the base model are saved.
    limit = 1.0 if device == "cuda" else 0.9
    line(
        f"{len(JOBS)} twins at once, 75 tokens, {device}, against one after the other",
        max(ratios),
        "x",
        limit,
        at_least=True,
    )
