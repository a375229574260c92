"""How much of its length does a word's vector keep through training, by how often training sees the word?

    TRUENESS_DATA=DATA python tools/decayed_vectors.py sst@madsen2022 madsen2022 DATA/vectors/glove-6b-100d.npz

Trains one BiLSTM with the vectors as they come, one with all of length 1, and both once more without weight decay.
Prints, for words that training sees once, two or three times and so on, the median of length after over length before.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

SEEN = ((1, 1), (2, 3), (4, 10), (11, 100), (101, 10**9))


def main() -> None:
    """Train four models, and print a line for each."""
    from trueness.kinds.text.data.coding import SPECIAL
    from trueness.kinds.text.data.datasets import load_text
    from trueness.kinds.text.data.word_vectors import load_vectors
    from trueness.kinds.text.models.families import train
    from trueness.models.recipes import RECIPES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("recipe")
    parser.add_argument("vectors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    at = parser.parse_args()
    data = load_text(at.dataset)
    table, found = load_vectors(at.vectors, data.vocabulary)
    found[: len(SPECIAL)] = False
    words = Counter(token for example in data["train"] for token in example.tokens)
    times = np.array([words[word] for word in data.vocabulary.words])
    lengths = np.linalg.norm(table, axis=1)
    print("vectors, weight decay", *(f"{low} to {high}" for low, high in SEEN), sep="\t")
    for name, scale in (("as they come", 1.0), ("length 1", 1 / np.maximum(lengths, 1e-9)[:, None])):
        before = table * np.where(found[:, None], scale, 1.0).astype(np.float32)
        for decay in ("", "[weight_decay=0.0]"):
            recipe = RECIPES[f"{at.recipe}{decay}"]
            model = train("bilstm-additive", data, seed=at.seed, recipe=recipe, vectors=before, device=at.device)
            after = model.network.embedding.weight.detach().cpu().numpy()
            kept = np.linalg.norm(after, axis=1) / np.maximum(np.linalg.norm(before, axis=1), 1e-9)
            shares = [np.median(kept[found & (times >= low) & (times <= high)]) for low, high in SEEN]
            print(f"{name}, {recipe.weight_decay:g}", *(f"{share:.2f}" for share in shares), sep="\t")


if __name__ == "__main__":
    main()
