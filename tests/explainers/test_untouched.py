"""What an explainer of somebody else changes is put back and told; what it does not change is no fault."""

import pytest
import torch
import torch.nn.utils.parametrizations
import torch.nn.utils.prune
from torch import nn

from trueness.errors import UserError
from trueness.explainers.untouched import untouched


def build():
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 3, bias=False))
    network[2].weight = nn.Parameter(torch.zeros(3, 4))
    network.register_buffer("gap", torch.tensor([float("nan"), 1.0]))
    network.register_forward_hook(lambda *_: None)
    return network.eval()


def state(network):
    hooks = [list(module._forward_hooks) for module in network.modules()]
    modes = [module.training for module in network.modules()]
    learns = [one.requires_grad for one in network.parameters()]
    return (
        {name: tensor.tolist() for name, tensor in network.state_dict().items() if name != "gap"},
        hooks,
        modes,
        learns,
    )


def scale(network):
    for one in network.parameters():
        one.data.mul_(2)


def normalise(network):
    network.train()(torch.randn(5, 3))
    network.eval()


def shortened(network):
    network[0].weight.data = torch.ones(1, 3)


def parametrized(network):
    torch.nn.utils.parametrizations.weight_norm(network[0])


def prune_one(network):
    torch.nn.utils.prune.l1_unstructured(network[0], "weight", 2)


def patched(network):
    network[2].forward = lambda x: x


CHANGES = {
    "the numbers of 0.weight": scale,
    "the numbers of 1.running_mean": normalise,
    "a hook of Linear": lambda network: network[0].register_forward_hook(lambda *_: None),
    "a hook of Sequential": lambda network: network._forward_hooks.clear(),
    "a part of Sequential": lambda network: setattr(network, "2", nn.Linear(4, 3)),
    "a part of Linear": lambda network: setattr(network[0], "weight", nn.Parameter(torch.ones(4, 3))),
    "a part of BatchNorm1d": lambda network: setattr(network[1], "running_mean", torch.ones(4)),
    "the class of Linear": parametrized,
    "what Linear computes": patched,
    "whether it is in training": lambda network: network.train(),
    "whether 0.weight has gradients": lambda network: network[0].weight.requires_grad_(False),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_changed_is_told_and_put_back(what):
    network = build()
    before = state(network)
    with (
        pytest.raises(UserError, match=rf"^mine changed the model that it explains \({what}"),
        untouched(network, "mine"),
    ):
        CHANGES[what](network)
    assert state(network) == before


@pytest.mark.parametrize("change", [shortened, lambda network: network.double(), prune_one])
def test_numbers_of_another_kind_are_put_back(change):
    network = build()
    before = network(torch.ones(2, 3))
    with pytest.raises(UserError, match="changed the model"), untouched(network, "mine"):
        change(network)
    assert torch.equal(network(torch.ones(2, 3)), before)


def test_numbers_that_are_nowhere_yet_are_left_alone():
    for network in (nn.LazyLinear(3), nn.Linear(2, 2, device="meta")):
        weight = network.weight
        with untouched(network, "mine"):
            pass
        assert network.weight is weight


def test_what_an_explainer_raises_comes_first_and_the_model_is_put_back():
    network = build()
    before = state(network)

    def wrong():
        with untouched(network, "mine"):
            scale(network)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        wrong()
    assert state(network) == before


def test_what_is_put_back_by_itself_is_no_fault():
    network = build()
    kept = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with untouched(network, "mine"):
        scale(network)
        network.load_state_dict(kept)
        hook = network[0].register_forward_hook(lambda *_: None)
        network(torch.randn(2, 3)).sum().backward()
        hook.remove()
    assert all(torch.equal(tensor, kept[name]) for name, tensor in network.state_dict().items() if name != "gap")
    assert network[0].weight.grad is None


def test_what_is_no_network_is_left_alone():
    function = [1]
    with untouched(function, "mine"):
        function.append(2)
    assert function == [1, 2]


@pytest.mark.parametrize("kind", [nn.Linear, nn.Module])
@pytest.mark.parametrize("name", ["forward", "half", "own"])
def test_methods_of_classes_are_put_back(kind, name):
    before = vars(kind).copy()
    with pytest.raises(UserError, match=rf"the method {name} of {kind.__name__}"), untouched(build(), "mine"):
        setattr(kind, name, lambda *_: None)
    assert dict(vars(kind)) == dict(before)
