"""Vectors of words are those of torch, and so are their gradients."""

import pytest
import torch

from tests.models.stacks import DEVICES
from trueness.kinds.text.models import encoders
from trueness.kinds.text.models.encoders import Embedding
from trueness.kinds.text.models.recurrence import together


@pytest.mark.parametrize("device", DEVICES)
# Where torch is asked, it forgets the padding of all tables but the first: no gradient comes from padding anyway.
@pytest.mark.parametrize(("few", "padding"), [(2, None), (256, None), (256, 0), (256, 3)])
def test_gradients_of_many_tables_are_those_of_each(few, padding, device, monkeypatch):
    monkeypatch.setattr(encoders, "FEW", few)
    torch.manual_seed(0)
    layer = Embedding(7, 4, padding_idx=padding).to(device)
    tables = torch.randn(3, 7, 4, device=device, requires_grad=True)
    tokens = torch.randint(7, (3, 5, 6), device=device)
    grown = torch.randn(3, 5, 6, 4, device=device)

    def one(table, some):
        return torch.func.functional_call(layer, {"weight": table}, (some,))

    with together():
        found = torch.vmap(one)(tables, tokens)
    (mine,) = torch.autograd.grad((found * grown).sum(), tables)
    for number in range(3):
        literal = tables[number].detach().clone().requires_grad_()
        rows = torch.nn.functional.embedding(tokens[number], literal, padding_idx=padding)
        (wanted,) = torch.autograd.grad((rows * grown[number]).sum(), literal)
        assert torch.equal(found[number], rows)
        assert torch.allclose(mine[number], wanted, atol=1e-5)
        assert padding is None or not mine[number][padding].any()
