"""What a classifier of masks finds."""

import numpy as np
import torch

from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.outlines import mask_only
from trueness.protocols.roar.step import largest_class


def test_few_texts_are_not_few_steps():
    """The class is which of the last four tokens is left: plain to see, but not in eight epochs of few texts."""
    rng = np.random.default_rng(0)
    splits, hidden = {}, {}
    for name, count in {"train": 400, "dev": 100, "test": 200}.items():
        texts = [TextExample(("word",) * int(rng.integers(8, 14)), int(rng.integers(4))) for _ in range(count)]
        splits[name] = EncodedSplit(texts, Vocabulary.of(texts))
        where = []
        for text in texts:
            mask = rng.random(len(text.tokens)) < 0.5
            mask[-4:] = True
            mask[-1 - text.label] = False
            where.append(np.array([False, *mask, False]))  # begin and end
        hidden[name] = torch.from_numpy(np.concatenate(where))
    chance = largest_class(splits["test"].labels.numpy())
    few, enough = (mask_only(splits, [hidden], [0], 4, epochs)[0] for epochs in (8, None))
    assert few < chance + 0.2
    assert enough > 0.9


def test_of_pairs_the_other_text_is_seen():
    """Whether the first token is hidden tells the label only together with the question."""
    rng = np.random.default_rng(0)
    splits, hidden = {}, {}
    for name, count in {"train": 300, "dev": 60, "test": 200}.items():
        asked, masked = rng.integers(2, size=(2, count))
        texts = [
            TextExample(("word",) * 4, int(one ^ two), (("same", "other")[one],))
            for one, two in zip(asked, masked, strict=True)
        ]
        splits[name] = EncodedSplit(
            texts, Vocabulary(("[PAD]", "[BEGIN]", "[END]", "[MASK]", "[UNKNOWN]", "same", "other"))
        )
        hidden[name] = torch.from_numpy(np.concatenate([[False, bool(one), *[False] * 4] for one in masked]))
    assert mask_only(splits, [hidden], [0], 2)[0] > 0.9
