"""What a classifier of masks finds."""

import numpy as np
import torch

from trueness.data.batches import EncodedSplit
from trueness.data.examples import TextExample
from trueness.data.vocabulary import Vocabulary
from trueness.protocols.roar.step import largest_class, mask_only


def test_more_epochs_find_what_a_few_do_not():
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
    few, many = (mask_only(splits, [hidden], [0], 4, epochs)[0] for epochs in (None, 60))
    assert few < chance + 0.2
    assert many > 0.9
