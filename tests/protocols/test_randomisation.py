import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.oracle import Constant, Inverted, Right, WeightIndependent, make_model, make_texts
from tests.models.test_attentive import VOCABULARY, build, examples
from tests.models.transformers import model as transformer
from trueness.explainers.simple import Random
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.explainers.simple import TokenNumber
from trueness.kinds.text.models.transformer import Transformer
from trueness.protocols.randomisation import (
    Layer,
    complexity,
    explained,
    layers_of,
    mask_of,
    randomisation,
    randomised,
    redrawn,
)

KEYS = ["order", "step", "seed", "instance"]
TEXTS = [TextExample(one.tokens, one.label % 2) for one in examples((4, 5, 7, 3), pairs=False)]


def attentive():
    return build(classes=2)


def by_hand(number=40, seed=0):
    rng = np.random.default_rng(seed)
    model = make_model(rng)
    texts = make_texts(rng, number)
    return model, texts, EncodedSplit(texts, model.coder)


def entropy(scores):
    """Of a histogram of 100 equal bins between the least and the largest score."""
    counts, _ = np.histogram(scores, bins=100)
    return -sum(count / len(scores) * np.log(count / len(scores)) for count in counts if count)


def text_by_text(network, texts, explainer):
    """The scores inside the mask, and the probabilities, of every text alone."""
    scores, outputs = [], []
    for text in texts:
        batch = EncodedSplit([text], VOCABULARY).batch([0])
        scores.append(explainer.attribute(network, batch, "gold")[0][batch.mask[0]].detach().double().numpy())
        with torch.no_grad():
            outputs.append(network(batch).logits[0].double().softmax(dim=-1).numpy())
    return scores, outputs


def shuffled_copy(network, groups, seed):
    """A copy of a model in which the entries of some weights, named in groups, are in random order."""
    other = copy.deepcopy(network)
    generator = torch.Generator().manual_seed(seed)
    for prefix in groups:
        for name, weight in other.named_parameters():
            if name.startswith(prefix):
                entries = weight.detach().flatten().tolist()
                order = torch.randperm(len(entries), generator=generator).tolist()
                weight.data = torch.tensor([entries[place] for place in order], dtype=weight.dtype).view(weight.shape)
    return other


@pytest.mark.slow
def test_it_is_an_own_copy_explained_anew_for_every_order_step_and_seed():
    network, explainer = attentive(), TEXT_EXPLAINERS["input-x-gradient"]
    upwards = ["embedding.", "encoder.forwards.", "encoder.backwards.", "output.", "attention.states."]
    upwards.append("attention.weights.")
    table = randomisation(network, EncodedSplit(TEXTS, VOCABULARY), explainer, seeds=(0, 3)).set_index(KEYS)
    before, said = text_by_text(network, TEXTS, explainer)
    queues = {"all at once": upwards, "top-down": upwards[::-1], "bottom-up": upwards}
    rows = 0
    for order, queue in queues.items():
        for step in [6] if order == "all at once" else range(1, 7):
            for seed in (0, 3):
                after, now = text_by_text(shuffled_copy(network, queue[:step], seed), TEXTS, explainer)
                for number, (old, new) in enumerate(zip(before, after, strict=True)):
                    row, rows = table.loc[(order, step, seed, number)], rows + 1
                    assert row["similarity"] == pytest.approx(np.corrcoef(old, new)[0, 1], abs=1e-9)
                    rise = (entropy(new) - entropy(old)) / entropy(old)
                    assert row["complexity rise"] == pytest.approx(rise)
                    assert row["output change"] == pytest.approx(np.abs(now[number] - said[number]).sum() / 2)
                    assert row["layer"] == ("all" if order == "all at once" else queue[step - 1].removesuffix("."))
    assert rows == len(table) == 4 * 2 * 13
    assert table["ceiling"].to_numpy() == pytest.approx(1.0)


def test_smoothed_explanations_are_means_over_noisy_embeddings():
    network, explainer = attentive(), TEXT_EXPLAINERS["input-x-gradient"]
    split = EncodedSplit(TEXTS, VOCABULARY)
    ours, mask = explained(network, split, explainer, smooth=3, noise=0.1)
    weight = network.embedding.weight
    size = 0.1 * (weight.max() - weight.min()).item()
    (rows, batch), expected = next(split.to_explain()), 0.0
    for draw in range(3):
        generator, plain = torch.Generator().manual_seed(draw), network.embedding.forward

        def disturbed(tokens, plain=plain, generator=generator):
            return plain(tokens) + size * torch.randn((*tokens.shape, 8), generator=generator).to(weight)

        network.embedding.forward = disturbed
        expected = expected + explainer.attribute(network, batch, "gold").detach().numpy() / 3
        network.embedding.forward = plain
    np.testing.assert_allclose(ours[rows], expected)
    assert (mask[rows] == batch.mask.numpy()).all()
    assert not np.allclose(ours, explained(network, split, explainer)[0])


@given(st.integers(0, 2**32), st.sets(st.integers(0, 5)), st.booleans())
def test_weights_keep_their_values_and_come_back_bit_by_bit(seed, chosen, failing):
    network = attentive()
    layers = layers_of(network)
    before = {name: weight.clone() for name, weight in network.state_dict().items()}

    def look():
        with randomised([layers[place] for place in sorted(chosen)], seed):
            for place, layer in enumerate(layers):
                old = dict(zip(map(id, network.parameters()), before.values(), strict=True))
                for weight in layer.weights:
                    assert torch.equal(weight.flatten().sort().values, old[id(weight)].flatten().sort().values)
                    if place not in chosen:
                        assert torch.equal(weight, old[id(weight)])
            if 0 in chosen:
                assert not torch.equal(network.embedding.weight, before["embedding.weight"])
            if failing:
                raise ZeroDivisionError

    if failing:
        with pytest.raises(ZeroDivisionError):
            look()
    else:
        look()
    for name, weight in network.state_dict().items():
        assert torch.equal(weight, before[name])


def test_a_layer_twice_is_restored_too():
    weight = torch.nn.Parameter(torch.arange(20.0))
    layer = Layer("one", (weight,))
    with randomised([layer], 0):
        inner = weight.clone()
        with randomised([layer], 1):
            assert not torch.equal(weight, inner)
        assert torch.equal(weight, inner)
    assert torch.equal(weight, torch.arange(20.0))


def test_noise_is_gone_afterwards_also_after_an_error():
    network, batch = attentive(), EncodedSplit(TEXTS, VOCABULARY).batch(range(4))
    plain = network.embed(batch)
    with network.noisy(0.1, 0):
        first = network.embed(batch)
    with network.noisy(0.1, 0):
        assert torch.equal(network.embed(batch), first)
    with network.noisy(0.1, 1):
        assert not torch.equal(network.embed(batch), first)
    with pytest.raises(ZeroDivisionError), network.noisy(0.1, 1):
        raise ZeroDivisionError
    assert not network.embedding._forward_hooks
    assert torch.equal(network.embed(batch), plain)
    assert not torch.equal(first, plain)


def test_layers_are_numbered_blocks_and_what_is_around_them():
    network = Transformer(transformer("bert"))
    layers = layers_of(network)
    expected = ["bert.embeddings", "bert.encoder.layer.0", "bert.encoder.layer.1", "bert.pooler", "classifier"]
    assert [layer.name for layer in layers] == [f"model.{name}" for name in expected]
    every = [id(weight) for layer in layers for weight in layer.weights]
    assert sorted(every) == sorted(id(weight) for weight in network.parameters())


@pytest.mark.parametrize("smooth", [0, 2])
def test_what_ignores_the_weights_stays_the_same(smooth):
    model, _, split = by_hand()
    table = model.network.embedding.weight[:, 0].detach().clone()
    for blind in (TokenNumber(), WeightIndependent(table)):
        found = randomisation(model.network, split, blind, seeds=(0, 1), smooth=smooth)
        assert found["similarity"].to_numpy() == pytest.approx(found["ceiling"].to_numpy())
        assert (found["complexity rise"].abs() < 1e-12).all()
    found = randomisation(model.network, split, Right(), seeds=(0, 1), smooth=smooth)
    assert (found["ceiling"] - found["similarity"]).mean() > 0.7
    assert found["output change"].mean() > 0.1


def test_what_draws_at_random_is_compared_with_other_draws_of_itself():
    """A method that ignores the model but draws anew is no more unlike itself than its ceiling says."""
    model, _, split = by_hand()
    found = randomisation(model.network, split, Random(), orders=["all at once"])
    assert found["similarity"].to_numpy() == pytest.approx(found["ceiling"].to_numpy())
    assert found["ceiling"].abs().mean() < 0.5
    assert redrawn(Random(seed=4)) == Random(seed=5)
    assert redrawn(TokenNumber()) is None


def test_the_order_of_texts_changes_nothing():
    model, texts, split = by_hand(12)
    order = np.random.default_rng(1).permutation(12)
    plain = randomisation(model.network, split, Right())
    other = randomisation(model.network, EncodedSplit([texts[place] for place in order], model.coder), Right())
    other["instance"] = order[other["instance"]]
    columns = ["similarity", "ceiling", "complexity rise", "output change"]
    one, two = (table.set_index(KEYS).sort_index()[columns] for table in (plain, other))
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_scores_that_are_known_are_not_asked_for_again():
    model, _, split = by_hand(8)
    before, _ = explained(model.network, split, Inverted())
    wider = np.pad(before, [(0, 0), (0, 3)])
    found = randomisation(model.network, split, Right(), before=wider)
    plain = randomisation(model.network, split, Right())
    assert found["similarity"].to_numpy() == pytest.approx(-plain["similarity"].to_numpy())


def test_what_does_not_change_the_model_changes_no_output():
    """All weights the same: their order is of no importance."""
    model, _, split = by_hand(8)
    with torch.no_grad():
        model.network.embedding.weight.fill_(0.5)
    found = randomisation(model.network, split, Right(), orders=["all at once"])
    assert (found["output change"] == 0).all()
    assert (found["similarity"] == 1).all()  # flat beside flat
    assert found["complexity rise"].isna().all()


def test_constant_scores_have_no_complexity_to_rise():
    model, _, split = by_hand(8)
    found = randomisation(model.network, split, Constant(), orders=["all at once"])
    assert found["complexity rise"].isna().all()
    assert (found["similarity"] == found["ceiling"]).all()


def test_texts_of_one_token_have_no_similarity():
    model, _, _ = by_hand(1)
    split = EncodedSplit([TextExample(("w1",), 0), TextExample(("w1", "w2"), 1)], model.coder)
    found = randomisation(model.network, split, Right(), orders=["all at once"])
    assert found["similarity"].isna().tolist() == [True, False]
    assert found["output change"].notna().all()


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40))
def test_complexity_is_the_entropy_of_a_histogram(scores):
    padded = np.array([[9.0, *scores, -7.0]])
    mask = np.array([[False, *[True] * len(scores), False]])
    assert complexity(padded, mask) == pytest.approx(entropy(np.array(scores)))
    assert 0 <= complexity(padded, mask)[0] <= np.log(min(100, len(scores))) + 1e-12


def test_complexity_of_nothing_and_of_the_same_is_zero():
    assert complexity(np.ones((2, 3)), np.array([[True] * 3, [False] * 3])).tolist() == [0.0, 0.0]


def test_the_mask_is_that_of_every_text():
    _, texts, split = by_hand(6)
    assert mask_of(split).sum(axis=1).tolist() == [len(text.tokens) for text in texts]
