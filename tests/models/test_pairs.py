"""Both texts of a pair as one sequence: the same prediction, and explanations of both."""

import pytest
import torch

from tests.models.test_attentive import VOCABULARY, batch_of, build, examples
from trueness.errors import UserError
from trueness.explainers.masked_copies import KernelShap, Lime, Occlusion
from trueness.kinds.text.data.batches import Batch, EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.pairs import BothTexts, JoinedPairs
from trueness.papers.agreement.explainers import LimeCourt2022


def joined_of(some):
    return EncodedSplit(some, JoinedPairs(VOCABULARY.words)).batch(range(len(some)))


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average"])
def test_it_predicts_what_the_model_of_pairs_predicts(encoder):
    model, some = build(encoder, "additive", "concat"), examples()
    both, joined = BothTexts(model), joined_of(some)
    expected = model(batch_of(some))
    found = both(joined)
    assert torch.allclose(found.logits, expected.logits, atol=1e-9)
    assert torch.allclose(found.attention.sum(-1), torch.ones(len(some), dtype=torch.float64))
    for row, example in enumerate(some):
        words = len(example.tokens)
        assert torch.allclose(found.attention[row, 1 : 1 + words] * 2, expected.attention[row, 1 : 1 + words])
        assert joined.mask[row].sum() == words + len(example.tokens_b)
        assert (found.attention[row][~joined.mask[row]] == 0).all()


NAMES = ["gradient", "integrated-gradients", "lime", "kernel-shap", "occlusion", "leave-one-out", "deep-lift"]


@pytest.mark.parametrize("name", [*NAMES, "attention", "gradient-shap@court2022", "lime@court2022"])
def test_every_position_of_both_texts_is_explained_whatever_the_company(name):
    both, some = BothTexts(build("cnn", "additive", "concat")), examples()
    scores = TEXT_EXPLAINERS[name].attribute(both, joined_of(some))
    for row, example in enumerate(some):
        alone = TEXT_EXPLAINERS[name].attribute(both, joined_of([example]))
        assert torch.allclose(alone[0], scores[row, : alone.shape[1]], atol=1e-8)
        assert (alone[0] != 0).sum() > len(example.tokens), "the second text counts too"


def test_the_first_text_s_gradient_is_the_model_of_pairs_own():
    model, some = build("bilstm", "additive", "concat"), examples()
    joined = TEXT_EXPLAINERS["input-x-gradient"].attribute(BothTexts(model), joined_of(some))
    own = TEXT_EXPLAINERS["input-x-gradient"].attribute(model, batch_of(some))
    for row, example in enumerate(some):
        words = slice(1, 1 + len(example.tokens))
        assert torch.allclose(joined[row, words], own[row, words], atol=1e-9)


def test_equal_places_of_both_texts_are_one_feature_only_where_asked():
    both, some = BothTexts(build("cnn", "additive", "concat")), [TextExample(("w1", "w2", "w3"), 0, ("w4", "w5"))]
    batch = joined_of(some)
    own = Lime(n_samples=200).attribute(both, batch)[0][batch.mask[0]]
    shared = LimeCourt2022(n_samples=200, width=0.25, hiding="usual").attribute(both, batch)[0][batch.mask[0]]
    assert len(set(own.tolist())) == 5
    assert shared[0] == shared[3]
    assert shared[1] == shared[4]
    assert len(set(shared.tolist())) == 3


def test_shapley_values_of_both_texts_sum_to_the_difference():
    both, batch = BothTexts(build("bilstm", "additive", "concat")), joined_of(examples())
    scores = KernelShap(output="logit").attribute(both, batch, 1)
    with torch.no_grad():
        hidden = both(batch.hide(batch.mask)).logits[:, 1]
        assert torch.allclose(scores.sum(-1), both(batch).logits[:, 1] - hidden, atol=1e-6)


def test_what_does_not_fit_is_refused():
    with pytest.raises(UserError, match="query head does not treat both texts alike"):
        BothTexts(build("bilstm", "additive", "query"))
    with pytest.raises(UserError, match="Only pairs of texts can be joined"):
        joined_of(examples(pairs=False))
    both, batch = BothTexts(build("cnn", "additive", "concat")), joined_of(examples())
    with pytest.raises(UserError, match="its own attention"):
        both(batch, attention=torch.ones(batch.mask.shape))


def test_occlusion_is_the_mean_over_spans():
    model = build("bilstm", "additive", "linear")
    some = examples(pairs=False)
    batch = batch_of(some)
    target = model(batch).logits.argmax(-1)
    ours = Occlusion(sliding_window_shapes=3).attribute(model, batch)
    for row, example in enumerate(some):
        words = len(example.tokens)
        one = batch.rows(torch.tensor([row]))
        changes = [[] for _ in range(words)]
        for begin in range(max(words - 3, 0) + 1):
            hidden = torch.zeros_like(one.mask)
            hidden[0, 1 + begin : 1 + begin + 3] = True
            with torch.no_grad():
                before, after = (
                    model(Batch(text, one.labels)).logits.softmax(-1)[0, target[row]]
                    for text in (one.text, one.text.masked(hidden))
                )
            for place in range(begin, min(begin + 3, words)):
                changes[place].append(float(before - after))
        expected = [sum(each) / len(each) for each in changes]
        assert ours[row, 1 : 1 + words].tolist() == pytest.approx(expected, abs=1e-9)
    alone = Occlusion(sliding_window_shapes=1).attribute(model, batch)
    assert torch.allclose(alone, TEXT_EXPLAINERS["leave-one-out-mask"].attribute(model, batch), atol=1e-9)
