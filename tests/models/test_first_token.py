import pytest
import torch

from tests.models.test_transformer import EXAMPLES, batch_of
from tests.models.transformers import FAMILIES, model
from trueness.kinds.text.models.first_token import AFTER_ATTENTION
from trueness.kinds.text.models.transformer import Transformer
from trueness.models.pretrained import computing_attention


@pytest.mark.parametrize("family", FAMILIES)
def test_behind_the_last_attention_the_first_token_is_alone(family):
    """What it says, and its gradients, stay the same."""
    network, batch = Transformer(model(family).double()), batch_of(EXAMPLES)
    found = []
    for known in (False, None):
        network._first_suffices = known
        given = network.embed(batch).detach().requires_grad_()
        said = network.logits(batch, values=given)
        found.append((said, torch.autograd.grad(said[:, 0].sum(), given)[0]))
    assert network._first_suffices is (family in AFTER_ATTENTION)
    for wanted, mine in zip(*found, strict=True):
        assert torch.allclose(mine, wanted, atol=1e-12)


@pytest.mark.parametrize("family", sorted(AFTER_ATTENTION))
def test_the_first_token_is_alone_only_while_it_is_asked(family):
    network, batch = Transformer(model(family)), batch_of(EXAMPLES)
    network.logits(batch)
    assert network._first_suffices
    assert network(batch).states.shape[1] == batch.tokens.shape[1]
    with pytest.raises(RuntimeError):
        network.logits(batch, values=torch.zeros(1, 2, 3))
    assert not any(part._forward_pre_hooks for part in network.model.modules())


def test_training_is_as_it_was():
    """Dropout would draw other numbers."""
    network, batch = Transformer(model("bert")), batch_of(EXAMPLES)
    network.train()
    torch.manual_seed(0)
    with computing_attention(network.model.config, "sdpa"):
        wanted = network._run(batch, None, weights=False).logits
    torch.manual_seed(0)
    assert torch.equal(network.logits(batch), wanted)
    assert network._first_suffices is None
    assert all(part.training for part in network.modules())


def test_a_head_that_reads_all_tokens_gets_all():
    class Mean(torch.nn.Module):
        def forward(self, states):
            return states.mean(dim=1)

    made = model("bert")
    made.bert.pooler = Mean()
    network, batch = Transformer(made), batch_of(EXAMPLES)
    assert torch.allclose(network.logits(batch), network(batch).logits, atol=1e-6)
    assert network._first_suffices is False
