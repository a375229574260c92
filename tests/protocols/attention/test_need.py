import copy

import numpy as np
import pytest
import torch

from tests.audit.oracle import make_model
from tests.models.test_attentive import VOCABULARY, build, examples
from tests.models.transformers import FAMILIES, model, tokenizer
from tests.protocols.attention.test_adversary import divergence, vertices
from trueness.kinds.text.attention.adversary import slab
from trueness.kinds.text.attention.need import (
    EPSILON,
    change_when_uniform,
    layers_shown,
    needs_attention,
    shows_attention,
)
from trueness.kinds.text.attention.permutation import permuted
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.text_model import TextModel
from trueness.kinds.text.models.transformer import Subwords, Transformer, UniformAttention

EXAMPLES = [
    TextExample(("a", "goodness", "film"), 1),
    TextExample(("the", "plots", "dully", "bad", "scenes"), 0),
    TextExample(("greatness",), 2),
]
LAYERS = [(), (0,), (1,), (0, 1)]


def split_of(some=EXAMPLES):
    return EncodedSplit(some, Subwords(tokenizer(), 64))


def without_questions(network, layers):
    """A copy in which all that attention scores come from, in some layers, is 0: every score is the same."""
    other = copy.deepcopy(network)
    with torch.no_grad():
        for name, weight in other.named_parameters():
            parts = name.split(".")
            number = next((int(part) for part in parts if part.isdigit()), None)
            if number in layers and parts[-2] in ("query", "key", "q_lin", "k_lin", "query_proj", "key_proj"):
                weight.zero_()
    return other


@torch.no_grad()
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layers", LAYERS)
def test_uniform_attention_is_that_of_a_model_that_asks_nothing(family, layers):
    network, split = Transformer(model(family)), split_of()
    batch = split.batch(range(3))
    with UniformAttention(layers):
        logits, attentions = network.attentions(batch)
    expected, theirs = without_questions(network, layers).attentions(batch)
    torch.testing.assert_close(logits, expected)
    for number, (one, two) in enumerate(zip(attentions, theirs, strict=True)):
        torch.testing.assert_close(one, two)
        for row, length in enumerate(batch.text.lengths.tolist()):
            inside = one[row, :, :length]
            assert (inside[..., length:] == 0).all()
            equal = torch.allclose(inside[..., :length], torch.full_like(inside[..., :length], 1 / length))
            assert equal == (number in layers)


@torch.no_grad()
@pytest.mark.parametrize("family", FAMILIES)
def test_uniform_attention_of_all_layers_is_that_of_every_layer(family):
    network, batch = Transformer(model(family)), split_of().batch(range(3))
    plain = network(batch).logits
    with UniformAttention():
        first = network(batch).logits
        assert torch.equal(network(batch).logits, first)
    with UniformAttention((0, 1)):
        assert torch.equal(network(batch).logits, first)
    assert torch.equal(Transformer(network.model, uniform=True)(batch).logits, first)
    assert torch.equal(network(batch).logits, plain)
    assert not torch.allclose(first, plain)


@torch.no_grad()
@pytest.mark.parametrize("layers", LAYERS)
def test_the_change_is_the_total_variation_text_by_text(layers):
    network = Transformer(model("bert"))
    other = without_questions(network, layers)
    found = change_when_uniform(network, split_of(), layers)
    for row, example in enumerate(EXAMPLES):
        batch = split_of([example]).batch([0])
        own, flat = (one(batch).logits[0].softmax(dim=-1).numpy() for one in (network, other))
        assert found[row] == pytest.approx(np.abs(own - flat).sum() / 2, abs=1e-9)
    assert (found == 0).all() == (layers == ())


@torch.no_grad()
def test_every_batch_is_made_uniform_from_its_first_layer_on():
    """Texts so many that one batch cannot hold them: layers are counted anew in each."""
    network = Transformer(model("bert"))
    some = [TextExample((*EXAMPLES[1].tokens * 4, *EXAMPLES[0].tokens), 0)] * 400
    found = change_when_uniform(network, split_of(some), [0])
    assert len(list(split_of(some).in_order(1 << 13))) > 1
    assert found == pytest.approx(found[0])
    assert found[0] > 0


@torch.no_grad()
def test_what_asks_nothing_anyway_changes_nothing():
    network = without_questions(Transformer(model("bert")), (0, 1))
    assert change_when_uniform(network, split_of(), (0, 1)) == pytest.approx(0.0, abs=1e-12)


def test_attention_is_shown_by_what_uses_nothing_else():
    shown = {name for name in TEXT_EXPLAINERS if shows_attention(TEXT_EXPLAINERS[name])}
    assert shown == {"attention", "attention-flow", "attention-rollout"}
    assert shows_attention(TEXT_EXPLAINERS["attention[1,2]"])


@pytest.mark.parametrize(
    ("name", "layers"),
    [("attention", [1]), ("attention-rollout", [0, 1]), ("attention[1]", [0]), ("attention[2,1]", [1])],
)
def test_the_layers_shown_are_those_that_scores_change_with(name, layers):
    """Whatever the attention in the other layers above, the scores are the same; in these they are not."""
    network, batch, explainer = Transformer(model("bert")), split_of().batch([1]), TEXT_EXPLAINERS[name]
    assert layers_shown(explainer, network) == layers
    plain = explainer.attribute(network, batch)
    for number in range(2):
        with UniformAttention([number]):
            moved = not torch.allclose(explainer.attribute(network, batch), plain)
        if number in layers:
            assert moved
        elif number > max(layers):
            assert not moved


@torch.no_grad()
@pytest.mark.parametrize("classes", [2, 3])
def test_permuting_and_the_adversary_are_those_of_decoding_by_hand(classes):
    network, some = build(classes=classes), examples((4, 2, 6, 3), pairs=False)
    found = needs_attention(TextModel(network, VOCABULARY, tuple("abc"[:classes])), some)
    assert found["exact"] is (classes == 2)
    split = EncodedSplit(some, VOCABULARY)
    ((rows, batch),) = split.in_order()
    states = network.encode(network.embed(batch), batch)
    own, observed = network(batch).logits.softmax(dim=-1), network(batch).attention
    orders = permuted(observed.float(), batch.mask, 100, torch.Generator().manual_seed(0)).double()
    changes = [network.decode(states, weights, batch).softmax(dim=-1) - own for weights in orders.unbind(dim=1)]
    medians = np.median([one.abs().sum(dim=-1).numpy() / 2 for one in changes], axis=0)
    assert found["permuted"][rows] == pytest.approx(medians, abs=1e-5)
    for row, number in enumerate(rows):
        size = int(batch.mask[row].sum())
        attention = observed[row, 1 : size + 1].numpy()
        if classes == 2:
            features = network.features(states)[row, 1 : size + 1]
            first, second = own[row].argsort(descending=True)
            odds = (features[:, first] - features[:, second]).numpy()
            low, high = (float(end) for end in slab(own[row, first], own[row, second], EPSILON))
            best = max(divergence(vertex, attention) for vertex in vertices(odds, low, high))
            assert found["divergence"][number] == pytest.approx(best, abs=1e-6)
        assert 0 <= found["divergence"][number] <= np.log(2) + 1e-9


def test_a_single_word_can_have_no_other_attention():
    found = needs_attention(TextModel(build(classes=2), VOCABULARY, ("a", "b")), examples((1,), pairs=False))
    assert found["permuted"] == pytest.approx(0.0, abs=1e-6)
    assert found["divergence"] == pytest.approx(0.0, abs=1e-6)


def test_equal_attention_is_not_changed_by_another_order():
    network = build(attention="uniform", classes=2)
    found = needs_attention(TextModel(network, VOCABULARY, ("a", "b")), examples(pairs=False))
    assert found["permuted"] == pytest.approx(0.0, abs=1e-6)


def test_a_model_without_attention_is_refused():
    with pytest.raises(TypeError, match="no attention of its own"):
        needs_attention(make_model(np.random.default_rng(0)), EXAMPLES)
