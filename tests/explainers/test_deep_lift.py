"""DeepLIFT: Captum's where its hooks see every operation, sums to the difference everywhere, says where it cannot."""

import itertools

import pytest
import torch
from captum import attr

from tests.explainers.test_known_contributions import additive, contributions
from tests.models.test_attentive import batch_of, build, examples
from tests.models.test_transformer import EXAMPLES, PAIRS
from tests.models.test_transformer import batch_of as subwords
from tests.models.transformers import FAMILIES
from tests.models.transformers import model as transformer
from trueness.errors import UserError
from trueness.kinds.text.explainers.deep_lift import DeepLift, DeepShap, _Rules, _softmax
from trueness.kinds.text.models.transformer import Transformer


def test_an_additive_model_has_known_contributions():
    model, batch = additive(), batch_of(examples(pairs=False))
    target = model(batch).logits.argmax(-1)
    assert torch.allclose(DeepLift().attribute(model, batch), contributions(model, batch, target), atol=1e-9)
    with torch.no_grad():  # against texts of random words: each token against the mean of the words drawn for it
        model.embedding.weight.zero_()
    assert (DeepShap().attribute(model, batch) == 0).all()


@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks")
def test_relu_networks_equal_captum():
    """Uniform weights and a ReLU: every operation is one that Captum's rescale rule knows, once it is a module."""
    model = build("average", "uniform", "linear", activation="relu")
    model.encoder._activation = torch.nn.ReLU()
    model.encoder.add_module("rectifier", model.encoder._activation)
    batch = batch_of(examples(pairs=False))
    target = model(batch).logits.argmax(-1)

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, embeddings):
            rows = torch.arange(len(embeddings)) % len(batch)
            return self.model(batch.rows(rows), embeddings=embeddings).logits

    embeddings = model.embed(batch).detach()
    start = torch.where(batch.mask[..., None], 0.0, embeddings)
    theirs = attr.DeepLift(Module()).attribute(embeddings.requires_grad_(), start, target=target).sum(-1) * batch.mask
    assert torch.allclose(DeepLift().attribute(model, batch), theirs.detach(), atol=1e-6)


@pytest.mark.parametrize(
    "kind", list(itertools.product(["average", "cnn"], ["additive", "dot"], ["linear", "query", "concat"]))
)
def test_the_scores_sum_to_the_difference(kind):
    model, batch = build(*kind), batch_of(examples())
    target = model(batch).logits.argmax(-1)
    scores = DeepLift().attribute(model, batch)
    with torch.no_grad():
        end = model.embed(batch)
        start = torch.where(batch.mask[..., None], 0.0, end)
        change = model(batch, embeddings=end).logits - model(batch, embeddings=start).logits
    assert torch.allclose(scores.sum(-1), change.gather(1, target[:, None])[:, 0], atol=1e-6)
    assert all(parameter.requires_grad for parameter in model.parameters()), "restored"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("some", [EXAMPLES, PAIRS], ids=["texts", "pairs"])
def test_transformers_lose_nothing_either(family, some):
    network, batch = Transformer(transformer(family)), subwords(some)
    scores = DeepLift(baselines="mask").attribute(network, batch, 1)
    with torch.no_grad():
        end = network.embed(batch)
        start = torch.where(batch.mask[..., None], network.embedding.weight[batch.text.mask_token], end)
        change = network(batch, embeddings=end).logits[:, 1] - network(batch, embeddings=start).logits[:, 1]
    assert torch.allclose(scores.sum(-1), change, atol=1e-4)
    assert not torch.allclose(change, torch.zeros_like(change), atol=1e-3)


def test_an_operation_without_a_rule_is_noticed(monkeypatch):
    model, batch = build("average"), batch_of(examples(pairs=False))
    monkeypatch.setattr(model.encoder, "_activation", lambda states: 5 * torch.sin(3 * states))
    with pytest.raises(UserError, match="deep-lift does not know every operation of this model"):
        DeepLift().attribute(model, batch)


def test_the_rules_against_their_definitions():
    """Two factors share by the mean of the other one; softmax shares all of its change."""
    first, second = torch.tensor([[3.0], [1.0]], requires_grad=True), torch.tensor([[5.0], [2.0]], requires_grad=True)
    with _Rules():
        product = first * second
    one, two = torch.autograd.grad(product[0, 0], (first, second))
    assert one[0] * (3 - 1) == (5 + 2) / 2 * 2
    assert two[0] * (5 - 2) == (3 + 1) / 2 * 3
    assert one[0] * 2 + two[0] * 3 == 15 - 2
    values = torch.randn(2, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    shares = _softmax(values)
    assert torch.allclose(shares.detach(), values.detach().softmax(-1))
    for place in range(5):
        (multiplier,) = torch.autograd.grad(shares[0, place], values, retain_graph=True)
        shared = (multiplier[0] * (values[0] - values[1])).sum().detach()
        assert torch.allclose(shared, (shares[0, place] - shares[1, place]).detach())


def test_deep_shap_is_the_mean_over_its_baselines():
    model, batch = build("cnn"), batch_of(examples(pairs=False))
    single = [DeepShap(1, seed=seed).attribute(model, batch) for seed in (0, 1)]
    assert not torch.allclose(single[0], single[1])
    whole = DeepShap(40).attribute(model, batch)
    assert torch.equal(whole, DeepShap(40).attribute(model, batch))


def test_small_variances_are_shared_whole():
    """A layer norm of small inputs: their differences are tiny, those of its output are not."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(2, 16, generator=generator) * torch.tensor([[0.03], [0.01]])
    values.requires_grad_()
    with _Rules():
        found = torch.nn.functional.layer_norm(values, (16,), torch.ones(16), torch.zeros(16), 1e-12)
    for place in range(4):
        (multiplier,) = torch.autograd.grad(found[0, place], values, retain_graph=True)
        shared = (multiplier[0] * (values[0] - values[1])).sum().detach()
        assert torch.allclose(shared, (found[0, place] - found[1, place]).detach(), rtol=1e-3, atol=1e-4)


def test_attention_far_from_that_of_the_baseline_is_shared_whole():
    """As of trained transformers: scores that differ by a hundred, and positions that are masked."""
    values = torch.tensor([[90.0, 3.0, -40.0, 80.0, -torch.inf], [-10.0, 2.0, 60.0, -30.0, -torch.inf]])
    values.requires_grad_()
    shares = _softmax(values)
    change = torch.where(values[0].isfinite(), values[0] - values[1], 0.0).detach()
    for place in range(5):
        (multiplier,) = torch.autograd.grad(shares[0, place], values, retain_graph=True)
        shared = (multiplier[0] * change).sum().detach()
        assert torch.allclose(shared, (shares[0, place] - shares[1, place]).detach(), atol=1e-5)


def test_scores_that_are_no_numbers_are_noticed(monkeypatch):
    model, batch = build("average"), batch_of(examples(pairs=False))
    monkeypatch.setattr(model.encoder, "_activation", lambda states: states * torch.nan)
    with pytest.raises(UserError, match="deep-lift does not know every operation of this model"):
        DeepLift().attribute(model, batch)
