import pytest
import torch
from torch import nn

from tests.models.test_attentive import VOCABULARY, build
from tests.protocols.roar.test_hiding import texts
from trueness.data.batches import EncodedSplit
from trueness.models.recurrence import input_gates, recurrence, together
from trueness.models.training import build as fresh

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


def states_of(layer, values):
    gates = torch.einsum("bte,ge->btg", values, layer.weight_ih_l0) + layer.bias_ih_l0 + layer.bias_hh_l0
    return recurrence(gates[None], layer.weight_hh_l0[None])[0]


@pytest.mark.parametrize("device", DEVICES)
def test_it_is_an_lstm_with_its_gradients(device):
    torch.manual_seed(0)
    layer = nn.LSTM(5, 4, batch_first=True).to(device)
    values = torch.randn(3, 7, 5, device=device, requires_grad=True)
    weights = torch.randn(3, 7, 4, device=device)
    inputs = [values, *layer.parameters()]
    wanted = torch.autograd.grad((layer(values)[0] * weights).sum(), inputs)
    found = states_of(layer, values)
    assert torch.allclose(found, layer(values)[0], atol=1e-6)
    for mine, theirs in zip(torch.autograd.grad((found * weights).sum(), inputs), wanted, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_products_are_rounded_where_those_of_cudnn_are(monkeypatch):
    settings, seen = torch.backends.cuda.matmul, []
    monkeypatch.setattr(torch, "bmm", lambda a, b: seen.append(settings.fp32_precision == "tf32") or a @ b)
    values, weight = torch.randn(1, 2, 3, 5, requires_grad=True), torch.randn(1, 8, 5)
    for allowed in (False, True):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", allowed)
        recurrence(input_gates(values, weight), torch.randn(1, 8, 2)).sum().backward()
        assert set(seen) == {allowed}, "there and back"
        assert settings.fp32_precision != "tf32", "only LSTMs"
        seen.clear()


def test_what_the_user_set_stays():
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        recurrence(input_gates(torch.randn(1, 2, 3, 5), torch.randn(1, 8, 5)), torch.randn(1, 8, 2))
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    finally:
        torch.backends.cuda.matmul.fp32_precision = "none"
    assert torch.get_float32_matmul_precision() == "highest"


def test_gradients_are_those_of_differences():
    torch.manual_seed(0)
    gates = torch.randn(2, 3, 4, 8, dtype=torch.double, requires_grad=True)
    weight = torch.randn(2, 8, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(recurrence, (gates, weight))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average"])
def test_models_mapped_over_are_the_models(encoder, device):
    networks = [fresh(build(encoder).config, seed, None).to(device) for seed in range(3)]
    split = EncodedSplit(texts(), VOCABULARY, device)
    batch = split.batch([0, 3, 5, 7])
    names = [name for name, _ in networks[0].named_parameters()]
    stacked = {name: torch.stack([network.get_parameter(name).detach() for network in networks]) for name in names}

    def one(parameters):
        seen = torch.func.functional_call(networks[0], parameters, (batch,))
        return seen.logits, seen.attention

    with together():
        logits, attention = torch.vmap(one)(stacked)
    for number, network in enumerate(networks):
        seen = network(batch)
        assert torch.allclose(logits[number], seen.logits, atol=1e-5)
        assert torch.allclose(attention[number], seen.attention, atol=1e-5)
