"""Word vectors trained by fastText (gensim) on the training texts of datasets, for `--set vectors=FILE`.

    TRUENESS_DATA=DATA python tools/train_fasttext.py FILE.npz sst@madsen2022 sst@jw2019 imdb@madsen2022 agnews@jw2019

The papers' FastText vectors are in no package. The file has a vector for every word of the vocabularies, because
fastText composes rare words of their letters. gensim is no dependency of the project: pip install gensim.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from gensim.models import FastText  # type: ignore[import-not-found,import-untyped,unused-ignore]

from trueness.kinds.text.data.coding import SPECIAL
from trueness.kinds.text.data.datasets import load_text

WIDTH, EPOCHS, SEED = 100, 5, 0


def main(out: Path, names: list[str]) -> None:
    """Train and write."""
    data = [load_text(name) for name in names]
    texts = [list(tokens) for tokens in dict.fromkeys(example.tokens for one in data for example in one["train"])]
    # One worker: with more the result would depend on their timing.
    model = FastText(
        texts, vector_size=WIDTH, sg=1, min_count=2, epochs=EPOCHS, seed=SEED, workers=1, bucket=200_000, window=5
    )
    words = sorted({word for one in data for word in one.vocabulary.words} - set(SPECIAL))
    vectors = np.stack([model.wv[word] for word in words])
    np.savez(out, words="\n".join(words), vectors=vectors.astype(np.float16))
    lengths = np.linalg.norm(vectors, axis=1)
    print(f"{len(words):,} words, mean length {lengths.mean():.2f}, of the most frequent 100 {_frequent(model):.2f}")


def _frequent(model: FastText) -> float:
    words = model.wv.index_to_key[:100]
    return float(np.linalg.norm(np.stack([model.wv[word] for word in words]), axis=1).mean())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
