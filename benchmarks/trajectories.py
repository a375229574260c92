r"""How attention comes to agree with gradients while a model is trained: the data of results/finding.

    TRUENESS_DATA=DATA python -m benchmarks.trajectories --out results/finding/trajectories.csv \
        --device cuda:0 --processes 12 --seconds 500

Running it again goes on with the cells that the file does not have. The design is in results/finding/DESIGN.md.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CORPORA: Mapping[str, tuple[str, str]] = {
    "sst": ("sst@jw2019", "jw2019"),
    "20news": ("20news@jw2019", "jw2019"),
    "babi-1": ("babi-1@original", "jw2019-babi"),
    "snli": ("snli@jw2019", "jw2019-pair"),
    "agnews": ("agnews@jw2019", "jw2019"),
    "imdb": ("imdb@jw2019", "jw2019"),
}
ENCODERS = ("bilstm", "cnn", "average")
ATTENTIONS = ("additive", "dot")
LENGTHS = (0.15, 0.4, 1.0, 2.5)
EPOCHS = (1, 2, 4, 8, 16, 32, 64)
SEEDS = 10
TRAINED, LOOKED_AT = 4000, 200
CELL = ["corpus", "encoder", "attention", "length"]


@functools.lru_cache(maxsize=2)
def _data(corpus: str, trained: int) -> tuple[Any, Any, Any]:
    """The dataset with few training texts, the test texts looked at, and the table of vectors."""
    import os

    from trueness.data.dataset import drawn_examples
    from trueness.kinds.text.data.datasets import load_text
    from trueness.kinds.text.data.word_vectors import load_vectors

    data = load_text(CORPORA[corpus][0])
    splits = dict(data.splits)
    splits["train"] = drawn_examples(splits["train"], trained)
    table, _ = load_vectors(Path(os.environ["TRUENESS_DATA"]) / "vectors" / "glove-6b-100d.npz", data.vocabulary)
    return replace(data, splits=splits), drawn_examples(splits["test"], LOOKED_AT), table


def cell(job: tuple[dict[str, Any], str, int, Sequence[int], int]) -> list[dict[str, Any]]:
    """One row for every seed and epoch of a cell."""
    import torch

    from trueness.kinds.text.data.batches import EncodedSplit
    from trueness.kinds.text.models.families import TEXT_MODELS
    from trueness.kinds.text.models.stack import stacks_of
    from trueness.models.cuda_graphs import CrossEntropy
    from trueness.models.loop import Loop
    from trueness.models.recipes import RECIPES
    from trueness.models.training import build

    about, device, seeds, epochs, trained = job
    torch.set_num_threads(1)
    data, looked_at, table = _data(about["corpus"], trained)
    recipe = replace(RECIPES[CORPORA[about["corpus"]][1]], epochs=max(epochs), skip_first=False, select="accuracy")
    family: Any = TEXT_MODELS[f"{about['encoder']}-{about['attention']}"]
    train = EncodedSplit(data["train"], data.vocabulary, device)
    shown = EncodedSplit(looked_at, data.vocabulary, device)
    vectors = (table * about["length"]).astype(np.float32)
    loops = []
    for seed in range(seeds):
        network = build(lambda: family.make(data, recipe, {"embedding": table.shape[1]}), seed, vectors).to(device)
        objective = CrossEntropy(train, weigh_positive=recipe.weigh_positive)
        loops.append(Loop(network, recipe, train, objective, lambda _: {"accuracy": 0.0, "loss": 0.0}, seed))
    stacks = stacks_of(loops)
    stacked = {id(loop) for stack in stacks for loop in stack.loops}
    rows = []
    for epoch in range(1, max(epochs) + 1):
        for stack in stacks:
            stack.epoch()
        for loop in loops:
            if id(loop) not in stacked:
                loop.network.train()
                for _ in loop.steps():
                    pass
            loop.progress.epoch += 1
            if epoch in epochs:
                loop.network.eval()
                rows.append({**about, "epoch": epoch, "seed": loop.seed, **_measured(loop.network, shown)})
    for stack in stacks:
        stack.release()
    return rows


def _measured(network: Any, split: Any) -> dict[str, float]:
    """Means over the texts."""
    import torch

    from trueness.kinds.text.attention.ascent import best_adversary
    from trueness.kinds.text.attention.view import AttentionView
    from trueness.models.network import inspecting
    from trueness.papers.attention_is_not_explanation.explainers import GradientJW2019, LeaveOneOutJW2019
    from trueness.stats import kendall

    gradient, without, formed, right, norms, moved = [], [], [], [], [], []
    for _, batch in split.in_order(1 << 14):
        with inspecting(network):
            view = AttentionView(network, batch)
            norms.append(network.embed(batch).norm(dim=-1)[batch.mask].cpu())
        mask, attention = batch.mask.cpu().numpy(), view.attention.double().cpu().numpy()
        scores = GradientJW2019().attribute(network, batch).double().cpu().numpy()
        gradient.append(kendall(attention, scores, mask).statistic.values.filled(np.nan))
        scores = LeaveOneOutJW2019(max_bytes=512 << 20).attribute(network, batch).double().cpu().numpy()
        without.append(kendall(attention, scores, mask).statistic.values.filled(np.nan))
        formed.append(attention.max(axis=1) * mask.sum(axis=1))
        right.append((view.probability.argmax(dim=-1) == batch.labels).cpu().numpy())
        if view.exact:
            with torch.no_grad():
                moved.append(best_adversary(view, 0.01, view.attention).divergence.double().cpu().numpy())
    return {
        "tau_gradient": float(np.nanmean(np.concatenate(gradient))),
        "tau_leave_one_out": float(np.nanmean(np.concatenate(without))),
        "formed": float(np.concatenate(formed).mean()),
        "accuracy": float(np.concatenate(right).mean()),
        "norm": float(torch.cat(norms).mean()),
        "adversary": float(np.concatenate(moved).mean()) if moved else float("nan"),
    }


def main() -> None:
    """Run the cells that are missing until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--small", action="store_true")
    asked = parser.parse_args()
    begin = time.monotonic()
    before = pd.read_csv(asked.out) if asked.out.exists() else pd.DataFrame(columns=CELL)
    have = set(before[CELL].itertuples(index=False, name=None))
    seeds, epochs, trained = (2, (1, 2), 200) if asked.small else (SEEDS, EPOCHS, TRAINED)
    lengths = LENGTHS[:1] if asked.small else LENGTHS
    every = itertools.product(asked.corpora.split(","), ENCODERS, ATTENTIONS, lengths)
    jobs = [
        (dict(zip(CELL, one, strict=True)), asked.device, seeds, epochs, trained) for one in every if one not in have
    ]
    found = [before] if len(before) else []
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        waiting = [pool.apply_async(cell, (job,)) for job in jobs]
        for job, one in zip(jobs, waiting, strict=True):
            left = asked.seconds - (time.monotonic() - begin)
            try:
                found.append(pd.DataFrame(one.get(max(left, 0.01))))
            except multiprocessing.TimeoutError:
                continue
            print(f"{time.monotonic() - begin:6.0f} s", *job[0].values(), flush=True)
        pool.terminate()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    pd.concat(found, ignore_index=True).to_csv(asked.out, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
