"""Batches of copies: by length, within memory, and halved where memory does not suffice after all."""

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from tests.memory import peak_bytes
from tests.models.test_attentive import batch_of, build, examples
from trueness.explainers.masked_copies import KernelShap, Lime
from trueness.explainers.noisy_copies import noise_at
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.sequences import Sequences
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut
from trueness.kinds.text.models.transformer import Transformer
from trueness.models.network import inspecting
from trueness.models.packing import in_batches, memory_for_batches

LIMIT = 24 << 20
FIXED = {"random", "token-number", "rationale"}  # nothing is computed
ONLY_ATTENTIVE = {"gradient@jw2019"}
FEWER = {"lime": "n_samples", "kernel-shap": "n_samples", "gradient-shap": "n_samples", "deep-shap": "n_samples"}
FEWER |= {"lime@court2022": "n_samples", "integrated-gradients@court2022": "n_steps"}
FEWER |= {"integrated-gradients@madsen2022": "n_steps"}
FEWER |= {"smooth-gradient": "n_samples", "integrated-gradients": "n_steps"}


def transformer(layers=1, **shape):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 50, **shape}
    return Transformer(BertForSequenceClassification(BertConfig(num_hidden_layers=layers, **sizes)))


def texts(*lengths):
    width = max(lengths)
    tokens = torch.randint(5, 50, (len(lengths), width), generator=torch.Generator().manual_seed(0))
    size = torch.tensor(lengths)
    place = torch.arange(width)
    mask = (place > 0) & (place < size[:, None] - 1)
    return Batch(Sequences(tokens * (place < size[:, None]), size, mask, mask_token=3), torch.zeros_like(size))


@pytest.mark.filterwarnings("ignore:Too few masked copies")  # few of them, to be quick
@pytest.mark.parametrize("name", sorted({*TEXT_EXPLAINERS} - FIXED - ONLY_ATTENTIVE - {"attention-flow"}))
def test_peak_memory_stays_within_max_bytes_at_512_tokens(name):
    limit = LIMIT * (2 if name in ("deep-lift", "deep-shap") else 1)  # of these one text alone takes more
    few = f"{name}[{FEWER[name]}=4, max_bytes={limit}]" if name in FEWER else f"{name}[max_bytes={limit}]"
    explainer, model = TEXT_EXPLAINERS[few], transformer()
    # Methods of many copies take one text, the others as many as would be too much at once.
    batch = texts(512) if "masking" in explainer.facts.machinery else texts(*[512] * 6)
    if name.startswith("leave-one-out") or name == "occlusion":
        batch.text.mask[:, 40:] = False  # some tens of copies show it as well as hundreds
    peak = peak_bytes(lambda: explainer.attribute(model, batch, 0))
    assert limit / 20 < peak <= 1.2 * limit


@pytest.mark.parametrize(("attention", "head"), [("additive", "linear"), ("dot", "query")])
def test_a_bilstm_keeps_to_it_within_one_text(attention, head):
    model = build("bilstm", attention, head, embedding=32, hidden=32)
    limit, batch = 1 << 20, batch_of(examples(sizes=(100, 80)))
    bounded, free = (LeaveOneOut(max_bytes=bound) for bound in (limit, 1 << 30))
    assert torch.allclose(bounded.attribute(model, batch), free.attribute(model, batch), atol=1e-9)
    assert limit / 4 < peak_bytes(lambda: bounded.attribute(model, batch, 0)) <= 1.2 * limit
    assert peak_bytes(lambda: free.attribute(model, batch, 0)) > 1.5 * limit, "the bound did something"


def test_every_copy_once_shortest_first_and_cut():
    model, batch = transformer(), texts(9, 30, 9, 10, 17)
    row = torch.tensor([0, 1, 2, 3, 4, 1, 0])
    seen = []
    for places, texts_ in in_batches(model, batch, row, lambda _, some: some):
        width = int(batch.text.lengths[row[places]].max())
        assert texts_.tokens.shape[1] == width
        assert texts_.text.full is bool((batch.text.lengths[row[places]] == width).all())
        assert torch.equal(texts_.tokens, batch.tokens[row[places], :width])
        seen += places.tolist()
    assert sorted(seen) == list(range(7))
    lengths = batch.text.lengths[row[seen]].tolist()
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("can't allocate memory")])
def test_out_of_memory_halves_and_goes_on(error):
    model, batch = transformer(), texts(9, 9, 9, 9, 9)
    tried = []

    def work(places, _):
        tried.append(len(places))
        if len(places) > 1:
            raise error
        return places

    row = torch.arange(5)
    assert [int(found) for _, found in in_batches(model, batch, row, work)] == [0, 1, 2, 3, 4]
    assert tried[0] == 5

    def never(_, __):
        raise error

    with pytest.raises(type(error), match="memory"):
        list(in_batches(model, batch, row, never))
    with pytest.raises(RuntimeError, match="another"):
        list(in_batches(model, batch, row, lambda _, __: (_ for _ in ()).throw(RuntimeError("another"))))


def test_memory_for_batches_is_found_once():
    assert 16 << 20 <= memory_for_batches(torch.device("cpu")) <= 256 << 20


def test_fused_attention_says_the_same_and_is_left_as_it_was():
    model, batch = transformer(2).double(), texts(12, 7)
    with inspecting(model):
        eager, fused = model(batch).logits, model.logits(batch)
        alone = model.logits(batch.rows(torch.tensor([1])).cut(7, full=True))
    assert torch.allclose(eager, fused, atol=1e-12)
    assert torch.allclose(eager[1], alone[0], atol=1e-12)
    assert model.model.config._attn_implementation == "eager"
    with pytest.raises(IndexError):
        model.logits(batch.rows(torch.tensor([5])))
    broken = model.model.classifier.forward
    model.model.classifier.forward = lambda *_: (_ for _ in ()).throw(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        model.logits(batch)
    model.model.classifier.forward = broken
    assert model.model.config._attn_implementation == "eager"


def test_a_model_keeps_the_attention_it_was_loaded_with():
    sdpa = BertForSequenceClassification(BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2))
    assert sdpa.config._attn_implementation == "sdpa"
    assert Transformer(sdpa)._fused == "sdpa"
    assert Transformer(sdpa, uniform=True)._attention == "eager", "equal weights are made where weights exist"


@pytest.mark.parametrize("method", [Lime(50), KernelShap(50)])
def test_scores_do_not_depend_on_the_bound(method):
    model, batch = transformer().double(), texts(14, 9)
    small = type(method)(50, max_bytes=1)
    assert torch.allclose(small.attribute(model, batch), method.attribute(model, batch), atol=1e-9)


def test_a_copy_has_the_same_noise_in_every_batch():
    model, batch = transformer(), texts(30, 9)
    given = model.embed(batch).detach()
    noise = noise_at(model, batch, given, 0.15, seed=3)
    row, point = torch.arange(2).repeat_interleave(20), torch.arange(20).repeat(2)
    whole = noise(row, point, 30)
    for some in (range(5, 13), range(15, 27), [3, 1, 2, 39, 21], [17]):
        places = torch.tensor(list(some))
        assert torch.equal(noise(row[places], point[places], 30), whole[places])
    assert not whole[~batch.mask[row]].any()
    inside = whole[row == 0][:, batch.mask[0]]
    assert inside.std() == pytest.approx(0.15 * given[0, batch.mask[0]].std().item(), rel=0.02)
    assert len({float(one.sum()) for one in whole}) == 40, "no two copies have the same"


@pytest.mark.parametrize("gradients", [True, False])
def test_all_parts_and_weights_of_a_model_are_found_and_given_back(gradients):
    model = transformer(2)
    model.again = model.model.classifier  # a part that is reached twice
    model.model.classifier.bias.requires_grad = False
    model.model.bert.encoder.layer[1].train()
    learned = [weight.requires_grad for weight in model.parameters()]
    training = [part.training for part in model.modules()]
    with inspecting(model, gradients=gradients):
        assert any(weight.requires_grad for weight in model.parameters()) is not gradients
        assert not any(part.training for part in model.modules())
    assert [weight.requires_grad for weight in model.parameters()] == learned
    assert [part.training for part in model.modules()] == training
