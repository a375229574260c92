import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.coding import BEGIN, END, MASK, PAD
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.vocabulary import Vocabulary

WORDS = ("a", "b", "c", "d")


def split(sizes, pairs=False):
    rng = np.random.default_rng(0)
    examples = [
        TextExample(tuple(rng.choice(WORDS, size)), index % 2, ("a", "b") if pairs else None)
        for index, size in enumerate(sizes)
    ]
    return examples, EncodedSplit(examples, Vocabulary.of(examples))


def test_a_batch_holds_its_examples_and_masks_what_is_not_a_word():
    examples, encoded = split([3, 1, 5])
    batch = encoded.batch([2, 0])
    assert batch.tokens.shape == (2, 7)
    assert batch.tokens[1].tolist() == [*Vocabulary.of(examples).encode(examples[0].tokens), PAD, PAD]
    assert batch.mask.sum(1).tolist() == [5, 3]
    assert set(batch.tokens[~batch.mask].tolist()) <= {PAD, BEGIN, END}
    assert batch.labels.tolist() == [0, 0]
    assert batch.other is None


def test_pairs_have_a_second_text():
    _, encoded = split([3, 4], pairs=True)
    batch = encoded.batch([0, 1])
    assert batch.other.tokens.shape == (2, 4)
    assert batch.rows(torch.tensor([1, 1])).other.tokens.shape == (2, 4)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 200))
def test_evaluation_batches_cover_every_example_once_within_the_bound(sizes, bound):
    _, encoded = split(sizes)
    seen = []
    for rows, batch in encoded.in_order(bound):
        seen += rows.tolist()
        assert batch.tokens.numel() <= bound or len(batch) == 1
        assert batch.labels.tolist() == encoded.labels[torch.from_numpy(rows)].tolist()
    assert sorted(seen) == list(range(len(sizes)))


def test_training_batches_cover_every_example_once_in_an_order_fixed_by_the_generator():
    _, encoded = split(range(1, 41))
    orders = []
    for seed in (0, 0, 1):
        batches = [encoded.batch(rows) for rows in encoded.shuffled(8, np.random.default_rng(seed))]
        orders.append([batch.text.lengths.tolist() for batch in batches])
        assert sorted(length for batch in orders[-1] for length in batch) == list(range(3, 43))
    assert orders[0] == orders[1] != orders[2]
    assert max(max(batch) - min(batch) for batch in orders[0]) < 20  # of similar length


def test_masking_replaces_words_only():
    _, encoded = split([3, 5])
    batch = encoded.batch([0, 1])
    masked = batch.hide(torch.ones_like(batch.mask))
    assert (masked.tokens[batch.mask] == MASK).all()
    assert torch.equal(masked.tokens[~batch.mask], batch.tokens[~batch.mask])


@pytest.mark.parametrize("index", [[1], [0, 0, 1]])
def test_rows_may_repeat(index):
    _, encoded = split([3, 5])
    batch = encoded.batch([0, 1])
    picked = batch.rows(torch.tensor(index))
    assert torch.equal(picked.tokens, batch.tokens[index])
