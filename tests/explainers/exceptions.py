"""What an explainer leaves behind when a model fails under it."""

import pytest
import torch

from trueness.errors import UserError


def check_restored(network, part, explain):
    """Fail in the second call of a part of the network (the first may only ask for the class), in both modes."""
    calls = failing = 0

    def count(*_):
        nonlocal calls
        calls += 1
        if calls == failing:
            raise ZeroDivisionError

    hook = part.register_forward_hook(count)
    explain()
    failing = min(calls, 2)
    learned = [parameter.requires_grad for parameter in network.parameters()]
    for training in (True, False) if failing else ():
        network.train(training)
        calls = 0
        with pytest.raises((ZeroDivisionError, UserError)):
            explain()
        assert network.training is training
        assert torch.is_grad_enabled()
        assert [parameter.requires_grad for parameter in network.parameters()] == learned
    hook.remove()
