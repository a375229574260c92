"""Somebody else's explainer must leave the model as it found it: what it changed is put back, and it is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trueness.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


@contextlib.contextmanager
def untouched(model: Any, name: str) -> Iterator[None]:
    """UserError if the model's numbers, hooks or mode are others afterwards; they are what they were before."""
    import torch

    if not isinstance(model, torch.nn.Module):
        yield
        return
    modules = dict(model.named_modules())
    modes = {at: module.training for at, module in modules.items()}
    hooks = {(at, kind): set(getattr(module, kind)) for at, module in modules.items() for kind in _HOOKS}
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    learns = {at: tensor.requires_grad for at, tensor in tensors.items()}
    kept = {at: tensor.detach().clone() for at, tensor in tensors.items()}
    try:
        yield
    finally:
        wrong = []
        for at, module in modules.items():
            if module.training != modes[at]:
                module.training = modes[at]
                wrong.append("whether it is in training")
            for kind in _HOOKS:
                there = getattr(module, kind)
                if set(there) != hooks[at, kind]:
                    for key in set(there) - hooks[at, kind]:
                        del there[key]
                    wrong.append(f"a hook of {type(module).__name__}")
        for at, tensor in tensors.items():
            if tensor.requires_grad != learns[at]:
                tensor.requires_grad_(learns[at])
                wrong.append(f"whether {at} has gradients")
            if not torch.equal(tensor, kept[at]) and not _same(tensor, kept[at]):
                with torch.no_grad():
                    tensor.data.copy_(kept[at])
                wrong.append(f"the numbers of {at}")
    if wrong:
        some = ", ".join(list(dict.fromkeys(wrong))[:3])
        raise UserError(f"{name} changed the model that it explains ({some}): an explainer leaves it as it was.")


def _same(one: Tensor, other: Tensor) -> bool:
    """Also where both are not a number."""
    return bool(((one == other) | (one.isnan() & other.isnan())).all())
