import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.models.stacks import DEVICES, fresh
from tests.models.test_attentive import VOCABULARY, build
from tests.protocols.roar.test_hiding import texts
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.models.products import input_gates
from trueness.kinds.text.models.recurrence import recurrence, together

LENGTHS = torch.tensor([7, 1, 4])


def states_of(layer, values):
    gates, inner = [], []
    for end in ("", "_reverse"):
        entering, own, bias, second = (
            getattr(layer, f"{name}_l0{end}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        gates.append(torch.einsum("bte,ge->btg", values, entering) + bias + second)
        inner.append(own)
    return recurrence(torch.cat(gates, dim=-1), torch.stack(inner), LENGTHS.to(values.device))


@pytest.mark.parametrize("device", DEVICES)
def test_it_is_a_bidirectional_lstm_with_its_gradients(device):
    torch.manual_seed(0)
    layer = nn.LSTM(5, 4, batch_first=True, bidirectional=True).to(device)
    values = torch.randn(3, 7, 5, device=device, requires_grad=True)
    inside = torch.arange(7, device=device) < LENGTHS.to(device)[:, None]
    weights = torch.randn(3, 7, 8, device=device) * inside[..., None]
    inputs = [values, *layer.parameters()]
    packed = pack_padded_sequence(values, LENGTHS, batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(layer(packed)[0], batch_first=True)
    wanted = torch.autograd.grad((states * weights).sum(), inputs)
    found = states_of(layer, values)
    assert torch.allclose(found[inside], states[inside], atol=1e-6)
    for mine, theirs in zip(torch.autograd.grad((found * weights).sum(), inputs), wanted, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_products_are_rounded_where_those_of_cudnn_are(monkeypatch):
    settings, seen = torch.backends.cuda.matmul, []
    monkeypatch.setattr(torch, "bmm", lambda a, b: seen.append(settings.fp32_precision == "tf32") or a @ b)
    values, weight = torch.randn(2, 3, 5, requires_grad=True), torch.randn(16, 5)
    for allowed in (False, True):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", allowed)
        recurrence(input_gates(values, weight), torch.randn(2, 8, 2), torch.tensor([3, 2])).sum().backward()
        assert set(seen) == {allowed}, "there and back"
        assert settings.fp32_precision != "tf32", "only LSTMs"
        seen.clear()


def test_what_the_user_set_stays():
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        recurrence(input_gates(torch.randn(2, 3, 5), torch.randn(16, 5)), torch.randn(2, 8, 2), torch.tensor([3, 2]))
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    finally:
        torch.backends.cuda.matmul.fp32_precision = "none"
    assert torch.get_float32_matmul_precision() == "highest"


def test_gradients_are_those_of_differences():
    torch.manual_seed(0)
    gates = torch.randn(3, 4, 16, dtype=torch.double, requires_grad=True)
    weight = torch.randn(2, 8, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(recurrence, (gates, weight, torch.tensor([4, 1, 3])))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average"])
def test_models_mapped_over_are_the_models(encoder, device):
    networks = [fresh(build(encoder).config, seed).to(device) for seed in range(3)]
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
