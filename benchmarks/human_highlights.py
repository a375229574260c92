"""Overlap with human highlights, checked on texts that have some: `python -m benchmarks.human_highlights FOLDER`.

FOLDER holds train and test .jsonl.gz with `text`, `label` and `evidence` (spans of words), as ERASER's movie reviews
do. A linear model of words is trained; its weights are compared with the words that people marked, and so are foils.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from trueness.ratings.analysis import overlap
from trueness.report.instances import Instance, Instances


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main(folder: Path) -> None:
    train, test = (rows(folder / f"{name}.jsonl.gz") for name in ("train", "test"))
    counter = CountVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False, binary=True, min_df=3)
    model = LogisticRegression(C=0.1, max_iter=1000)
    model.fit(counter.fit_transform(row["text"] for row in train), [row["label"] for row in train])
    weights = dict(zip(counter.get_feature_names_out(), model.coef_[0], strict=True))
    draw = random.Random(0)
    texts, marked = [], []
    for number, row in enumerate(test):
        words = row["text"].split()
        sign = 1 if str(row["label"]) == str(model.classes_[1]) else -1
        own = [sign * weights.get(word, 0.0) for word in words]
        scores = {
            "weights for the label": [max(score, 0.0) for score in own],
            "magnitudes of weights": own,
            "word length": [float(len(word)) for word in words],
            "random": [draw.random() for _ in words],
        }
        texts.append(Instance({}, number, words, scores, str(row["label"])))
        marked.append((number, {place for begin, end in row["evidence"] for place in range(begin, end)}))
    for name, found in overlap(marked, Instances(texts)).items():
        print(f"{name}: {found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f}), {found.n} texts")
    share = sum(len(places) / len(texts[number].words) for number, places in marked) / len(marked)
    print(f"people marked {share:.1%} of the words; accuracy", end=" ")
    print(f"{model.score(counter.transform(row['text'] for row in test), [row['label'] for row in test]):.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
