import itertools
import math

import numpy as np
import pytest
import torch

from trueness.errors import UserError
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.models.attention import normalise
from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.kinds.text.models.encoders import BiLSTM

WORDS = [f"w{i}" for i in range(12)]
ENCODERS, ATTENTIONS = ("bilstm", "cnn", "average"), ("additive", "dot", "uniform")
HEADS, NORMALISERS = ("linear", "query", "concat"), ("softmax", "sparsemax", "entmax15")
EVERY = list(itertools.product(ENCODERS, ATTENTIONS, HEADS, NORMALISERS))


def examples(sizes=(4, 1, 7, 3), pairs=True):
    generator = torch.Generator().manual_seed(0)

    def words(n):
        return tuple(WORDS[i] for i in torch.randint(12, (n,), generator=generator))

    return [TextExample(words(n), i % 3, words(2 + i) if pairs else None) for i, n in enumerate(sizes)]


def batch_of(some):
    return EncodedSplit(some, VOCABULARY).batch(range(len(some)))


VOCABULARY = Vocabulary.of([TextExample(tuple(WORDS), 0)])


def build(encoder="bilstm", attention="additive", head="linear", normaliser="softmax", **more):
    torch.manual_seed(0)
    options = {"embedding": 8, "hidden": 8, "classes": 3, **more}
    config = AttentiveConfig(
        vocabulary=len(VOCABULARY), encoder=encoder, attention=attention, head=head, normaliser=normaliser, **options
    )
    return AttentiveClassifier(config).double()


@pytest.mark.parametrize(("encoder", "attention", "head", "normaliser"), EVERY)
def test_the_contract_of_every_combination(encoder, attention, head, normaliser):
    model = build(encoder, attention, head, normaliser)
    some = examples()
    batch = batch_of(some)
    whole = model(batch)
    assert whole.logits.shape == (4, 3)
    assert torch.isfinite(whole.logits).all()
    # Attention sums to 1 inside the mask and is 0 outside.
    assert torch.allclose(whole.attention.sum(1), torch.ones(4, dtype=torch.float64), atol=1e-6)
    assert (whole.attention[~batch.mask] == 0).all()
    assert (whole.attention >= 0).all()
    # forward is the composition of the four functions.
    states = model.encode(model.embed(batch), batch)
    weights = model.attend(states, batch)
    assert torch.equal(model.decode(states, weights, batch), whole.logits)
    # Many attentions over the same states: mixed features give the same logits.
    mixed = torch.einsum("bt,btf->bf", weights, model.features(states))[:, None]
    assert torch.allclose(model.outputs(mixed, model.auxiliary(batch))[:, 0], whole.logits, atol=1e-9)
    # Padding and the company in a batch change nothing.
    for row, example in enumerate(some):
        alone = model(batch_of([example]))
        assert torch.allclose(alone.logits[0], whole.logits[row], atol=1e-9)
        width = alone.attention.shape[1]
        assert torch.allclose(alone.attention[0], whole.attention[row, :width], atol=1e-9)
    # Given embeddings and attention take the place of the model's own.
    assert torch.equal(model(batch, embeddings=model.embed(batch)).logits, whole.logits)
    assert torch.equal(model(batch, attention=whole.attention).logits, whole.logits)
    other = torch.roll(whole.attention, 1, dims=1) * batch.mask + 0.1 * batch.mask
    changed = model(batch, attention=other)
    assert torch.equal(changed.attention, other)
    if head == "linear":
        mixed = torch.einsum("bt,btc->bc", whole.attention, model.features(states))
        assert torch.allclose(mixed, whole.logits, atol=1e-9)
    else:
        single = batch_of(examples(pairs=False))
        with pytest.raises(UserError, match="needs pairs"):
            model(single)


def test_one_logit_is_a_sigmoid():
    model = build(classes=2, one_logit=True)
    logits = model(batch_of(examples(pairs=False))).logits
    assert torch.equal(logits[:, 0], -logits[:, 1]), "the classes are treated alike: each has a gradient"
    assert torch.allclose(torch.softmax(logits, -1)[:, 1], torch.sigmoid(2 * logits[:, 1]))
    with pytest.raises(UserError, match="two classes"):
        build(classes=3, one_logit=True)


def test_frozen_attention_comes_from_outside():
    model = build(attention="frozen")
    batch = batch_of(examples(pairs=False))
    with pytest.raises(UserError, match="from outside"):
        model(batch)
    given = batch.mask.double() / batch.mask.sum(1, keepdim=True)
    assert torch.equal(model(batch, attention=given).attention, given)


def test_the_bilstm_equals_torch_on_packed_sequences():
    torch.manual_seed(0)
    ours = BiLSTM(5, 4).double()
    theirs = torch.nn.LSTM(5, 4, batch_first=True, bidirectional=True).double()
    for name, parameter in ours.forwards.named_parameters():
        getattr(theirs, name).data.copy_(parameter)
    for name, parameter in ours.backwards.named_parameters():
        getattr(theirs, f"{name}_reverse").data.copy_(parameter)
    text = batch_of(examples()).text
    embeddings = torch.randn(4, text.tokens.shape[1], 5, dtype=torch.float64)
    packed = torch.nn.utils.rnn.pack_padded_sequence(embeddings, text.lengths, batch_first=True, enforce_sorted=False)
    output, (last, _) = theirs(packed)
    padded, _ = torch.nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    states = ours(embeddings, text)
    inside = torch.arange(padded.shape[1]) < text.lengths[:, None]
    assert torch.allclose(states[inside], padded[inside])
    assert torch.allclose(ours.summary(states, text), torch.cat([last[0], last[1]], dim=-1))


@torch.no_grad()
def test_additive_attention_is_equation_4_of_madsen():
    """alpha_i proportional to exp(v . tanh(W h_i + b))."""
    model = build()
    batch = batch_of(examples(pairs=False))
    states = model.encode(model.embed(batch), batch)
    layer = model.attention
    for row in range(4):
        scores = {
            i: float(layer.weights.weight[0] @ torch.tanh(layer.states.weight @ states[row, i] + layer.states.bias))
            for i in range(states.shape[1])
            if batch.mask[row, i]
        }
        total = sum(math.exp(score) for score in scores.values())
        expected = [math.exp(scores[i]) / total if i in scores else 0.0 for i in range(states.shape[1])]
        assert model.attend(states, batch)[row].tolist() == pytest.approx(expected)


def test_dot_attention_scales_by_the_root_of_the_size():
    model = build(attention="dot", head="query")
    batch = batch_of(examples())
    states = model.encode(model.embed(batch), batch)
    query = model.auxiliary(batch).summary
    expected = torch.softmax(
        (torch.einsum("bth,bh->bt", states, query) / math.sqrt(16)).masked_fill(~batch.mask, -torch.inf), -1
    )
    assert torch.allclose(model.attend(states, batch), expected)


def test_temperature_and_empty_rows():
    scores, mask = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), torch.tensor([[True, True, False], [False] * 3])
    sharp, soft = normalise(scores, mask, temperature=0.1), normalise(scores, mask, temperature=10)
    assert sharp[0, 1] > 0.99
    assert abs(float(soft[0, 1]) - 0.5) < 0.05
    assert (sharp[1] == 0).all()


def test_separate_query_embeddings():
    shared, apart = build(head="query"), build(head="query", shared_embedding=False)
    assert (
        sum(p.numel() for p in apart.parameters()) - sum(p.numel() for p in shared.parameters()) == len(VOCABULARY) * 8
    )
    batch = batch_of(examples(pairs=True))
    before = apart(batch).logits
    with torch.no_grad():
        apart.query_embedding.weight.copy_(torch.randn_like(apart.query_embedding.weight))
    assert not torch.allclose(apart(batch).logits, before), "the query text is read with its own"
    table = np.random.default_rng(0).normal(size=(len(VOCABULARY), 8)).astype(np.float32)
    apart.take_vectors(table)
    assert np.array_equal(apart.embedding.weight.detach(), table)
    assert np.array_equal(apart.query_embedding.weight.detach(), table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": -5}, "hidden should be greater than or equal to 1, not -5"),
        ({"hidden": 10**9}, "hidden should be less than"),
        ({"embedding": 8.0}, "embedding should be a valid integer"),
        ({"hidden": True}, "hidden should be a valid integer"),
        ({"activation": "sine"}, "activation should be 'tanh', 'relu' or 'identity'"),
        ({"normaliser": "sine"}, "normaliser should be 'softmax', 'sparsemax' or 'entmax15'"),
        ({"temperature": float("inf")}, "temperature should be a finite number"),
        ({"temperature": 0.0}, "temperature should be greater than 0"),
        ({"encoder": "cnn", "hidden": 6}, "a multiple of 4, not 6"),
        ({"encoder": "average", "hidden": 1}, "at least 2, not 1"),
        ({"one_logit": True}, "one_logit needs two classes, not 3"),
    ],
)
def test_shapes_that_no_model_has_are_refused_where_they_are_made(change, message):
    with pytest.raises(UserError, match=message):
        AttentiveConfig(**{"vocabulary": 9, "classes": 3, **change})
