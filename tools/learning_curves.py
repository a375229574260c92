"""Does a model's test score still rise with its training texts, and would those that we lack make up for the rest?

    python tools/learning_curves.py agnews@attefa2022 wiegreffe2019 average-additive --metric f1 --whole 51000 >> FILE

Trains on an eighth, a quarter, a half and all of the training split, drawn evenly from the classes, each with a
vocabulary of its own; one line a model. The texts of a share are one draw, so that the interval is over seeds alone.
The last words go to standard error: the rise with the last doubling, and how many more doublings the paper's `--whole`
corpus is.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from dataclasses import replace

SHARES = (0.125, 0.25, 0.5, 1.0)


def main() -> None:
    """Train, test, and write a line each."""
    from trueness.data.dataset import drawn_examples
    from trueness.kinds.text.data.batches import EncodedSplit
    from trueness.kinds.text.data.datasets import load_text
    from trueness.kinds.text.data.vocabulary import Vocabulary
    from trueness.kinds.text.models.families import train
    from trueness.models.evaluation import evaluate
    from trueness.stats import t_interval

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("recipe")
    parser.add_argument("model")
    parser.add_argument("--whole", type=int, required=True, help="training texts of the paper")
    parser.add_argument("--metric", default="accuracy")
    parser.add_argument("--vectors", help="file of word vectors")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    at = parser.parse_args()
    data, lines = load_text(at.dataset), csv.writer(sys.stdout)
    scores: dict[float, list[float]] = {}
    for share in SHARES:
        some = drawn_examples(data["train"], round(share * len(data["train"])))
        vocabulary = Vocabulary.of(some, min_count=data.preparation.min_count)
        part = replace(data, splits={**data.splits, "train": some}, vocabulary=vocabulary)
        test = EncodedSplit(part["test"], vocabulary, at.device)
        for seed in range(at.seeds):
            model = train(at.model, part, recipe=at.recipe, seed=seed, device=at.device, vectors=at.vectors)
            score = evaluate(model.network, test, len(data.classes))[at.metric]
            scores.setdefault(share, []).append(score)
            lines.writerow([at.dataset, at.recipe, at.model, at.metric, len(some), seed, round(score, 4)])
            sys.stdout.flush()
    rise = t_interval([all_ - half for all_, half in zip(scores[1.0], scores[0.5], strict=True)])
    missing = math.log2(at.whole / len(data["train"]))
    print(
        f"{at.dataset}, {at.model}: {at.metric} rises by {rise.value:.3f} ({rise.low:.3f} to {rise.high:.3f}) with the "
        f"last doubling; {missing:.1f} doublings are missing.",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
