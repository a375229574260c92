"""Word vectors of one direction and several lengths: what of a score is the scale of the initialisation?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trueness.kinds.text.data.coding import SPECIAL
from trueness.kinds.text.data.datasets import load_text
from trueness.kinds.text.data.word_vectors import load_vectors

ARMS = ("glove", "unit", "flat", "falling", "fasttext")
"""As GloVe gives them; length 1; GloVe's mean length for every word; 5 / sqrt(1 + ln count), so that frequent words are
short; and vectors trained by fastText, directions and lengths of their own."""


def write_arms(dataset: str, glove: Path, fasttext: Path, folder: Path, arms: Sequence[str] = ARMS) -> dict[str, Path]:
    """A file of vectors for the words of a dataset for each arm; those that are there stay."""
    made = {arm: folder / f"{dataset}-{arm}.npz" for arm in arms}
    if all(path.exists() for path in made.values()):
        return made
    folder.mkdir(parents=True, exist_ok=True)
    data = load_text(dataset)
    table, found = load_vectors(glove, data.vocabulary)
    words = np.array(data.vocabulary.words)[found]
    vectors = table[found]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    counts = Counter(token for example in data["train"] for token in (*example.tokens, *(example.tokens_b or ())))
    times = np.array([[max(1, counts[str(word)])] for word in words])
    unit = vectors / lengths
    scaled = {
        "glove": vectors,
        "unit": unit,
        "flat": unit * lengths.mean(),
        "falling": unit * 5 / np.sqrt(1 + np.log(times)),
    }
    for arm in (arm for arm in scaled if arm in made):
        np.savez(made[arm], words="\n".join(words), vectors=scaled[arm].astype(np.float32))
    if "fasttext" not in made:
        return made
    trained, known = load_vectors(fasttext, data.vocabulary)
    # Of the same words as the other arms.
    both = known & found
    both[: len(SPECIAL)] = False
    np.savez(made["fasttext"], words="\n".join(np.array(data.vocabulary.words)[both]), vectors=trained[both])
    return made
