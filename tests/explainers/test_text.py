"""What is special to explainers of text: deletion, attention, papers; and explainers of other people."""

import itertools

import pytest
import torch
from captum import attr

import trueness as tn
from tests.models.test_attentive import batch_of, build, examples
from trueness.errors import UserError
from trueness.explainers.simple import Random
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.coding import MASK
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut

FACTS = {name: TEXT_EXPLAINERS[name].facts for name in TEXT_EXPLAINERS}
ONLY_TRANSFORMERS = {name for name, facts in FACTS.items() if "layers" in facts.needs}
KINDS = [("bilstm", "additive", "linear"), ("cnn", "dot", "linear"), ("average", "uniform", "linear")]
KINDS += [("bilstm", "additive", "query"), ("bilstm", "dot", "query"), ("bilstm", "additive", "concat")]
WITHOUT_LSTM = {"deep-lift", "deep-shap"}


@pytest.mark.parametrize("name", sorted(WITHOUT_LSTM))
def test_what_cannot_pass_an_lstm_says_so(name):
    with pytest.raises(UserError, match=f"{name} cannot pass an LSTM"):
        TEXT_EXPLAINERS[name].attribute(build(), batch_of(examples(pairs=False)))


@pytest.mark.parametrize("name", sorted(ONLY_TRANSFORMERS))
def test_what_needs_a_transformer_says_so(name):
    with pytest.raises(UserError, match=f"{name} needs the layers of a transformer"):
        TEXT_EXPLAINERS[name].attribute(build(), batch_of(examples(pairs=False)))


def hidden(batch, position):
    return torch.nn.functional.one_hot(position, batch.tokens.shape[1]).bool()


@torch.no_grad()
def literal_leave_one_out(model, batch, target, replace):
    """Token by token, text by text, from the definition."""
    scores = torch.zeros(batch.mask.shape, dtype=torch.float64)
    for row in range(len(batch)):
        one = batch.rows(torch.tensor([row]))
        before = torch.softmax(model(one).logits, -1)[0]
        for position in range(batch.tokens.shape[1]):
            if batch.mask[row, position]:
                at = torch.tensor([position])
                text = one.text.without(at) if replace == "delete" else one.text.masked(hidden(one, at))
                after = torch.softmax(model(Batch(text, one.labels, one.other)).logits, -1)[0]
                scores[row, position] = before[target[row]] - after[target[row]]
    return scores


@pytest.mark.parametrize(("kind", "replace"), list(itertools.product(KINDS, ["delete", "mask"])))
def test_leave_one_out_equals_the_loop(kind, replace):
    model, batch = build(*kind), batch_of(examples())
    target = model(batch).logits.argmax(-1)
    expected = literal_leave_one_out(model, batch, target, replace)
    for max_bytes in (1, 1 << 28):
        ours = LeaveOneOut(replace, max_bytes=max_bytes).attribute(model, batch)
        assert torch.allclose(ours, expected, atol=1e-9)


def test_deletion_and_masking_do_what_they_say():
    batch = batch_of(examples(pairs=False))
    position = torch.tensor([2, 1, 3, 1])
    shorter, masked = batch.text.without(position), batch.text.masked(hidden(batch, position))
    for row in range(4):
        tokens, at, length = batch.tokens[row].tolist(), int(position[row]), int(batch.text.lengths[row])
        assert shorter.tokens[row, : length - 1].tolist() == [*tokens[:at], *tokens[at + 1 : length]]
        assert masked.tokens[row].tolist() == [*tokens[:at], MASK, *tokens[at + 1 :]]
        assert int(shorter.mask[row].sum()) == length - 3


def captum_forward(model, batch):
    return lambda embeddings: model(batch, embeddings=embeddings).logits


def test_gradients_equal_captum():
    model, batch = build(), batch_of(examples(pairs=False))
    target = model(batch).logits.argmax(-1)
    embeddings = model.embed(batch).detach().requires_grad_()
    forward = captum_forward(model, batch)
    gradient = attr.Saliency(forward).attribute(embeddings, target=target, abs=False)
    expected = gradient.norm(dim=-1) * batch.mask
    assert torch.allclose(TEXT_EXPLAINERS["gradient"].attribute(model, batch), expected, atol=1e-9)
    product = attr.InputXGradient(forward).attribute(embeddings, target=target).sum(-1) * batch.mask
    assert torch.allclose(TEXT_EXPLAINERS["input-x-gradient"].attribute(model, batch), product, atol=1e-9)
    # Madsen et al.: the norm over the vocabulary of g E^T, word by word.
    literal = torch.stack([gradient @ word for word in model.embedding.weight.detach()], -1).norm(dim=-1) * batch.mask
    assert torch.allclose(TEXT_EXPLAINERS["gradient@madsen2022"].attribute(model, batch), literal, atol=1e-9)


def test_the_gradient_of_jain_and_wallace_holds_attention_constant():
    """For the average encoder with a linear head the closed form is p (1 - p) alpha_t w . J_t e_t."""
    model, batch = build("average", classes=2, one_logit=True), batch_of(examples(pairs=False))
    whole = model(batch)
    p = torch.softmax(whole.logits, -1)[:, 1].detach()
    embeddings = model.embed(batch).detach()
    layer = model.encoder.projection
    inner = torch.einsum("bth,h->bth", 1 - whole.states.detach() ** 2, model.output.weight[0].detach())
    slope = torch.einsum("bth,hd,btd->bt", inner, layer.weight.detach(), embeddings)
    expected = (p * (1 - p))[:, None] * whole.attention.detach() * slope
    ours = TEXT_EXPLAINERS["gradient@jw2019"].attribute(model, batch, 1)
    assert torch.allclose(ours, expected.abs() * batch.mask, atol=1e-9)


def test_a_model_that_reads_one_word_is_explained_by_it():
    """Uniform attention over an identity encoder: the logit is a mean of word values, all known by hand."""
    model = build("average", "uniform", activation="identity", classes=2, one_logit=True, embedding=8, hidden=8)
    batch = batch_of(examples(sizes=(5, 3), pairs=False))
    with torch.no_grad():
        model.encoder.projection.weight.copy_(torch.eye(8))
        model.encoder.projection.bias.zero_()
        model.output.weight.copy_(torch.eye(8)[:1])
        model.output.bias.zero_()
        values = model.embedding.weight[batch.tokens][..., 0] * batch.mask
        n = batch.mask.sum(1, keepdim=True)
        z = values.sum(1, keepdim=True) / n
    for target, sign in ((1, 1), (0, -1)):  # what speaks for one class speaks against the other
        ours = TEXT_EXPLAINERS["input-x-gradient"].attribute(model, batch, target)
        assert torch.allclose(ours, sign * values / n / 2)
    without = torch.sigmoid((values.sum(1, keepdim=True) - values) / (n - 1))
    expected = (torch.sigmoid(z) - without) * batch.mask
    assert torch.allclose(TEXT_EXPLAINERS["leave-one-out"].attribute(model, batch, 1), expected)
    assert torch.allclose(TEXT_EXPLAINERS["leave-one-out@jw2019"].attribute(model, batch), expected.abs())


def test_random_scores_differ_by_seed_and_text():
    batch = batch_of(examples(pairs=False))
    model = build()
    first, second = (Random(seed).attribute(model, batch) for seed in (0, 1))
    assert not torch.equal(first, second)
    assert first.abs().max() <= 1


def test_a_function_of_your_own_is_an_explainer():
    @tn.explainer("longest-word-first")
    def mine(model, batch, target):
        """By hand."""
        return torch.ones(batch.mask.shape)

    batch = batch_of(examples(pairs=False))
    scores = TEXT_EXPLAINERS["longest-word-first"].attribute(build(), batch)
    assert torch.equal(scores, batch.mask.float())
    assert TEXT_EXPLAINERS.describe("longest-word-first") == "By hand."
    with pytest.raises(UserError, match="already an explainer"):
        tn.explainer("longest-word-first")(lambda model, batch, target: torch.ones(batch.mask.shape))
    tn.explainer("wrong-shape")(lambda model, batch, target: torch.ones(3))
    with pytest.raises(UserError, match="returned scores of shape"):
        TEXT_EXPLAINERS["wrong-shape"].attribute(build(), batch)


THEIRS = """
import torch
from trueness.explainers.contract import Explainer, Facts

def crash(model, batch, target):
    return batch.mask / (1 // 0)

def short(model, batch):
    return batch.mask.float()

def drawn(model, batch, target):
    return batch.mask.float()

drawn.facts = Facts(random=True)

def array(model, batch, target):
    return batch.mask.float().numpy()

def nothing(model, batch, target):
    pass

def shape(model, batch, target):
    return model(batch, embeddings=torch.ones(2)).logits

class Crash(Explainer):
    def attribute(self, model, batch, target="predicted"):
        return crash(model, batch, target)

class Short(Explainer):
    def attribute(self, model, batch):
        return batch.mask.float()

class Made(Crash):
    def __init__(self):
        raise ValueError("no weights")

class Empty(Explainer):
    pass

def below(model, batch, target):
    return -batch.mask.float()

below.facts = Facts(signed=False)

class Seedless(Crash):
    facts = Facts(random=True)
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("crash", r"^theirs\.py:crash failed, theirs\.py line 6: ZeroDivisionError: .*by zero\.$"),
        ("short", r"^theirs\.py:short must take \(model, batch, target\)\.$"),
        ("drawn", r"^theirs\.py:drawn must take \(model, batch, target, seed\)\.$"),
        ("array", "^theirs.py:array returned an object of type ndarray instead of a tensor of scores of shape"),
        ("nothing", "^theirs.py:nothing returned an object of type NoneType instead of a tensor of scores of shape"),
        ("shape", r"^theirs\.py:shape failed, theirs\.py line 23: "),
        ("Crash", r"^Crash failed, theirs\.py line 6: ZeroDivisionError: .*by zero\.$"),
        ("Short", r"^theirs\.py:Short\.attribute must take \(self, model, batch, target\)\.$"),
        ("Made", r"^theirs\.py:Made failed, theirs\.py line \d+: ValueError: no weights\.$"),
        ("Empty", r"^theirs\.py:Empty has no method attribute\.$"),
        ("below", r"^theirs\.py:below declares signed=False and returned scores below 0\.$"),
        ("Seedless", r"^theirs\.py:Seedless declares random=True: make it a dataclass with a field seed"),
    ],
)
def test_a_mistake_in_somebody_s_explainer_is_theirs(name, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs.py").write_text(THEIRS)
    with pytest.raises(UserError, match=told):
        TEXT_EXPLAINERS[f"theirs.py:{name}"].attribute(build(), batch_of(examples(pairs=False)))


def test_a_mistake_in_an_explainer_of_ours_is_ours(monkeypatch):
    monkeypatch.setattr("trueness.kinds.text.models.network.TextNetwork.embed", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        TEXT_EXPLAINERS["gradient"].attribute(build(), batch_of(examples(pairs=False)))
