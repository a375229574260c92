"""Fewer digits on a GPU: seconds at every precision, how far the ranking stays, and what `auto` chooses.

    python -m benchmarks.precision --device cuda --out results/benchmarks/precision-cuda.csv

A transformer with random weights and 128 random texts; tau is the least of a text's with full precision.
"""

import argparse
import time
from pathlib import Path

import pandas as pd
import torch

from benchmarks.peer_setting import setting
from trueness.explainers.gradients import Gradient
from trueness.explainers.paths import IntegratedGradients
from trueness.explainers.precision import attribute
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.sequences import Sequences
from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut
from trueness.stats import kendall

METHODS = {
    "gradient": Gradient(),
    "integrated-gradients": IntegratedGradients(50),
    "leave-one-out": LeaveOneOut("mask"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shapes", default="minilm,bert-base")
    parser.add_argument("--tokens", default="24,200")
    parser.add_argument("--texts", type=int, default=128)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    names = ("full", "tf32", "bf16", "auto") if given.device.startswith("cuda") else ("full", "bf16", "auto")
    for shape in given.shapes.split(","):
        for tokens in map(int, given.tokens.split(",")):
            one = setting(shape, tokens, given.device, 1, 1, (1,))
            numbers = torch.randint(1000, 30_000, (given.texts, tokens), device=given.device)
            inside = one.batch.mask.expand(given.texts, -1)
            text = Sequences(numbers, torch.full((given.texts,), tokens, device=given.device), inside, mask_token=103)
            batch = Batch(text, torch.zeros(given.texts, dtype=torch.long, device=given.device))
            for method, explainer in METHODS.items():
                said = {name: attribute(explainer, one.network, batch, 0, name) for name in names}  # also warms up
                for name in names:
                    begin = time.perf_counter()
                    scores = attribute(explainer, one.network, batch, 0, name).scores.double().cpu().numpy()
                    taken = time.perf_counter() - begin
                    full = said["full"].scores.double().cpu().numpy()
                    tau = kendall(scores, full, batch.mask.cpu().numpy()).statistic.values.min()
                    about = {"shape": shape, "tokens": tokens, "texts": given.texts, "method": method}
                    rows.append(about | {"precision": name, "used": said[name].precision, "seconds": taken, "tau": tau})
                    print(*rows[-1].values(), flush=True)
    if given.out is not None:
        pd.DataFrame(rows).to_csv(given.out, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
