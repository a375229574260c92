"""How many test texts hold a word that the training split does not have, and how well the others are classified.

python tools/unseen_words.py mock-1@attefa2022 [MODEL RECIPE VECTORS]
"""

from __future__ import annotations

import sys


def main() -> None:
    """Count them; with a model, train it from three seeds and test it on both kinds of texts."""
    from trueness.kinds.text.data.batches import EncodedSplit
    from trueness.kinds.text.data.datasets import load_text
    from trueness.kinds.text.models.families import train_many
    from trueness.models.evaluation import evaluate

    name, *how = sys.argv[1:]
    data = load_text(name)
    known = data.vocabulary.numbers
    unseen = [any(token not in known for token in example.tokens) for example in data["test"]]
    kinds = {
        kind: [example for example, found in zip(data["test"], unseen, strict=True) if found is kind]
        for kind in (False, True)
    }
    print(f"{name}: {len(kinds[True])} of {len(data['test'])} test texts hold a word unknown to training.")
    if not how:
        return
    model, recipe, vectors = how
    for trained in train_many(model, data, [10, 50, 257], recipe=recipe, vectors=vectors):
        f1 = {
            kind: evaluate(trained.network, EncodedSplit(some, data.vocabulary, "cpu"), len(data.classes))["f1"]
            for kind, some in kinds.items()
            if some
        }
        print(
            f"{model}: F1 {f1.get(False, float('nan')):.3f} without, {f1.get(True, float('nan')):.3f} with such a word"
        )


if __name__ == "__main__":
    main()
