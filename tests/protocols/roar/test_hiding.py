import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.models.test_attentive import VOCABULARY, build
from trueness.explainers.simple import Random
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.coding import BEGIN, END, MASK, UNKNOWN
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.protocols.roar.hiding import Amount, accumulated, choose, hide, packed, unpacked


def literal(scores, mask, hidden, k):
    """The authors' loop: masked tokens first, then the highest scores, floor(k % of all maskable tokens)."""
    result = list(hidden)
    count = int(k * sum(mask) + 1e-9)
    candidates = [place for place in range(len(scores)) if mask[place] and not hidden[place]]
    candidates.sort(key=lambda place: -scores[place])
    for place in candidates[: max(0, count - sum(hidden))]:
        result[place] = True
    return result


@given(st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_the_highest_scores_are_hidden_and_stay_hidden(length, share, seed):
    rng = np.random.default_rng(seed)
    mask = rng.random(length) < 0.8
    hidden = mask & (rng.random(length) < 0.3)
    scores = rng.choice([0.0, 0.5, 1.0], length)  # with ties
    count = Amount(share).of(torch.tensor([mask.sum()]))
    # Between two other examples, of which nothing is to be hidden.
    of_three = [torch.from_numpy(np.tile(one, 3)) for one in (scores, mask, hidden)]
    of_three[2][:length] = False
    of_three[2][2 * length :] = False
    owner = torch.arange(3).repeat_interleave(length)
    found = choose(*of_three, owner, torch.tensor([0, int(count), 0]))
    assert not found[owner != 1].any()
    found = found[owner == 1]
    assert found.tolist() == literal(scores, mask, hidden, share)


def test_amounts_are_rounded_down_of_the_whole_text():
    sizes = torch.tensor([9, 10, 19, 30, 90])
    assert Amount(0.1).of(sizes).tolist() == [0, 1, 1, 3, 9]
    assert Amount(0.7).of(sizes).tolist() == [6, 7, 13, 21, 63]
    assert Amount(3, "tokens").of(torch.tensor([2, 5])).tolist() == [2, 3]


def texts(count=12, seed=0):
    rng = np.random.default_rng(seed)
    words = list(VOCABULARY.words[5:])
    return [TextExample(tuple(rng.choice(words, rng.integers(3, 15))), int(rng.integers(2))) for _ in range(count)]


def test_masks_follow_the_model_text_by_text():
    network, examples = build("bilstm", "additive"), texts()
    split = EncodedSplit(examples, VOCABULARY)
    method = TEXT_EXPLAINERS["input-x-gradient"]
    start = torch.zeros(split.tokens, dtype=torch.bool)
    first, second = hide(network, method, split, start, [Amount(0.2), Amount(0.5)])
    begin = 0
    for row in range(len(examples)):
        batch = split.batch([row])
        scores = method.attribute(network, batch, "gold")[0].abs().tolist()
        width = batch.mask.shape[1]
        for found, share in ((first, 0.2), (second, 0.5)):
            wanted = literal(scores, batch.mask[0].tolist(), [False] * width, share)
            assert found[begin : begin + width].tolist() == wanted
        begin += width
    assert (first <= second).all(), "nested"
    # The next step explains the masked texts, and what is hidden stays so.
    (again,) = hide(network, method, split, first, [Amount(0.5)])
    assert (first <= again).all()
    begin = 0
    for row in range(len(examples)):
        batch = split.hidden(first).batch([row])
        scores, width = method.attribute(network, batch, "gold")[0].abs().tolist(), batch.mask.shape[1]
        before = first[begin : begin + width].tolist()
        assert again[begin : begin + width].tolist() == literal(scores, batch.mask[0].tolist(), before, 0.5)
        begin += width


def test_signed_scores_hide_only_what_speaks_for_the_target():
    network, split = build("average", "additive"), EncodedSplit(texts(), VOCABULARY)
    method = TEXT_EXPLAINERS["input-x-gradient"]
    start = torch.zeros(split.tokens, dtype=torch.bool)
    (by_size,) = hide(network, method, split, start, [Amount(0.4)])
    (by_sign,) = hide(network, method, split, start, [Amount(0.4)], signed=True)
    assert by_size.sum() == by_sign.sum()
    assert (by_size != by_sign).any()


def test_random_masks_are_nested_and_differ_by_seed():
    network, split = build("average", "additive"), EncodedSplit(texts(), VOCABULARY)
    start = torch.zeros(split.tokens, dtype=torch.bool)
    few, many = hide(network, Random(1), split, start, [Amount(0.3), Amount(0.6)])
    assert (few <= many).all()
    assert (hide(network, Random(2), split, start, [Amount(0.3)])[0] != few).any()


def test_hidden_tokens_become_the_mask_token_and_begin_and_end_never():
    split = EncodedSplit(texts(), VOCABULARY)
    everything = split.hidden(split.maskable)
    for _, batch in everything.in_order():
        assert (batch.tokens[batch.mask] == MASK).all()
        assert (batch.tokens[:, 0] == BEGIN).all()
        assert (batch.tokens.gather(1, batch.text.lengths[:, None] - 1) == END).all()
    outline = split.outline(split.maskable)
    assert all(set(batch.tokens[batch.mask].tolist()) == {MASK} for _, batch in outline.in_order())
    shown = split.outline(torch.zeros(split.tokens, dtype=torch.bool))
    assert all(set(batch.tokens[batch.mask].tolist()) == {UNKNOWN} for _, batch in shown.in_order())
    assert (split.batch([0]).tokens != MASK).all(), "the split itself is as it was"


def test_masks_survive_packing():
    split = EncodedSplit(texts(), VOCABULARY)
    where = split.maskable & (torch.arange(split.tokens) % 3 == 0)
    assert (unpacked(packed(where), split) == where).all()


def test_masked_training_sees_half_of_the_texts_whole_and_new_masks_every_epoch():
    split = EncodedSplit(texts(400), VOCABULARY)
    moving = split.hidden_at_random(0)
    shares, before = [], None
    for epoch in range(3):
        moving.shuffled(32, np.random.default_rng(epoch))
        now = torch.cat([(batch.tokens == MASK).float().sum(1) / batch.mask.sum(1) for _, batch in moving.in_order()])
        assert before is None or (now != before).any()
        before = now
        shares.append(now)
    assert 0.4 < (torch.cat(shares) == 0).float().mean() < 0.65
    assert torch.cat(shares).mean() == pytest.approx(0.25, abs=0.05)
    assert (split.batch([0]).tokens != MASK).all()


def test_sparsity_of_known_explanations():
    network, split = build("average", "additive"), EncodedSplit(texts(), VOCABULARY)

    class Uniform:
        def attribute(self, model, batch, target="gold"):
            return batch.mask.float()

    class Single:
        def attribute(self, model, batch, target="gold"):
            return torch.nn.functional.one_hot(torch.ones(len(batch), dtype=torch.int64), batch.mask.shape[1]).float()

    shares = [Amount(0.5), Amount(1.0)]
    found = accumulated(network, Uniform(), split, shares)
    sizes = split.sizes - 2
    assert found == pytest.approx([np.mean(sizes // 2 / sizes), 1.0])
    assert accumulated(network, Single(), split, [Amount(1, "tokens")]) == pytest.approx([1.0])
