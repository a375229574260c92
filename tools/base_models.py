"""Train the papers' base models over seeds and write one JSON line each: what was trained, test metrics, seconds.

    python tools/base_models.py --root DATA --group jw2019 --device cuda --processes 12 --out FILE

Groups: jw2019 (Table 1 of Jain and Wallace 2019), madsen2022 (Table 1 of Madsen et al. 2022), attefa2022 (Table 2 of
AtteFa). A line that is in FILE already is not trained again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

MOCK = [f"mock-{kind}@attefa2022" for kind in ("1", "2", "5", "10", "1q", "2q", "3q", "4q")]
# The longest trainings first.
GROUPS: dict[str, list[tuple[str, str, str]]] = {
    "jw2019": [
        *(
            (f"babi-{task}", "jw2019-babi", "bilstm-additive")
            for task in ("3", "3@original", "2@original", "1@original")
        ),
        ("imdb@jw2019", "jw2019", "bilstm-additive"),
        ("snli@jw2019", "jw2019-pair", "bilstm-additive"),
        *((f"{name}@jw2019", "jw2019", "bilstm-additive") for name in ("agnews", "sst", "20news")),
    ],
    "madsen2022": [
        *(
            (f"babi-{task}", "madsen2022-babi", "bilstm-additive")
            for task in ("3@original", "2@original", "1@original")
        ),
        ("imdb@madsen2022", "madsen2022", "bilstm-additive"),
        ("snli@madsen2022", "madsen2022-pair", "bilstm-additive"),
        ("sst@madsen2022", "madsen2022", "bilstm-additive"),
    ],
    "attefa2022": [
        (name, "wiegreffe2019", model)
        for name in ("imdb@attefa2022", "agnews@attefa2022", "sst@attefa2022", "20news@attefa2022", *MOCK)
        for model in ("bilstm-additive", "average-additive")
    ],
}


def train_one(job: tuple[str, str, str, int], root: str, vectors: str | None, device: str) -> dict[str, Any]:
    """Train, test, and describe."""
    import torch

    torch.set_num_threads(1)
    from trueness.data.batches import EncodedSplit
    from trueness.data.text_datasets import load_text
    from trueness.models.evaluation import evaluate
    from trueness.models.families import train

    dataset, recipe, model, seed = job
    data = load_text(dataset, root=root)
    begin = time.perf_counter()
    # bAbI has vectors of its own: drawn from the standard normal distribution.
    used = None if dataset.startswith("babi") else vectors
    trained = train(model, data, recipe=recipe, seed=seed, device=device, vectors=used)
    seconds = time.perf_counter() - begin
    test = evaluate(trained.network, EncodedSplit(data["test"], data.vocabulary, device), len(data.classes))
    return {
        "dataset": dataset,
        "recipe": recipe,
        "model": model,
        "seed": seed,
        "train": len(data["train"]),
        "test": len(data["test"]),
        "epochs": len(trained.history),
        **{f"test_{name}": round(value, 6) for name, value in test.items()},
        "seconds": round(seconds, 2),
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else "cpu",
        "notes": list(trained.notes),
    }


def main() -> None:
    """Train what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True)
    parser.add_argument("--vectors", help="file of word vectors")
    parser.add_argument("--group", action="append", choices=GROUPS, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    done = set()
    if options.out.exists():
        rows = [json.loads(line) for line in options.out.read_text().splitlines()]
        done = {(row["dataset"], row["recipe"], row["model"], row["seed"]) for row in rows}
    jobs = [(*job, seed) for group in options.group for job in GROUPS[group] for seed in range(options.seeds)]
    jobs = [job for job in jobs if job not in done]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, mp_context=context) as pool, options.out.open("a") as file:
        running = {pool.submit(train_one, job, options.root, options.vectors, options.device): job for job in jobs}
        for future in as_completed(running):
            row = future.result()
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(
                row["dataset"],
                row["recipe"],
                row["model"],
                row["seed"],
                row["test_accuracy"],
                row["seconds"],
                flush=True,
            )


if __name__ == "__main__":
    main()
