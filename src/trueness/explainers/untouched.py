"""Somebody else's explainer must leave the model as it found it: what it changed is put back, and it is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

from trueness.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor, nn

_TABLES = (
    *("_parameters", "_buffers", "_modules"),
    *("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"),
)
"""What of a module is a table: of its numbers, of its parts and of hooks."""


@contextlib.contextmanager
def untouched(model: Any, name: str) -> Iterator[None]:
    """UserError if the model's numbers, parts, hooks or mode are others afterwards; they are what they were before."""
    import torch

    if not isinstance(model, torch.nn.Module):
        yield
        return
    every: list[_Module | _Numbers | _Class] = [_Module(module) for module in model.modules()]
    every += [_Class(kind) for kind in {kind: None for module in model.modules() for kind in type(module).__mro__[:-1]}]
    every += [_Numbers(at, tensor) for at, tensor in (*model.named_parameters(), *model.named_buffers())]
    wrong: list[str] = []
    try:
        yield
    finally:
        for kept in every:
            wrong += kept.put_back()
    if wrong:
        some = ", ".join(list(dict.fromkeys(wrong))[:3])
        raise UserError(f"{name} changed the model that it explains ({some}): an explainer leaves it as it was.")


@dataclass
class _Module:
    """A part of a network, and what belonged to it."""

    module: nn.Module
    kind: type = field(init=False)
    training: bool = field(init=False)
    forward: Any = field(init=False)
    tables: dict[str, dict[Any, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.kind, self.training = type(self.module), self.module.training
        self.forward = self.module.__dict__.get("forward")
        self.tables = {name: dict(getattr(self.module, name)) for name in _TABLES}

    def put_back(self) -> Iterator[str]:
        own = self.module.__dict__
        if type(self.module) is not self.kind:
            self.module.__class__ = self.kind
            yield f"the class of {self.kind.__name__}"
        if self.module.training != self.training:
            self.module.training = self.training
            yield "whether it is in training"
        if own.get("forward") is not self.forward:
            own.pop("forward", None)
            own |= {} if self.forward is None else {"forward": self.forward}
            yield f"what {self.kind.__name__} computes"
        for name, before in self.tables.items():
            there = getattr(self.module, name)
            if [*there] != [*before] or any(there[key] is not before[key] for key in before):
                there.clear()
                there.update(before)
                yield f"{'a hook' if name.endswith('hooks') else 'a part'} of {self.kind.__name__}"
            if not name.endswith("hooks"):
                for key in own.keys() & before.keys():  # it would hide what is in the table
                    del own[key]


@dataclass
class _Class:
    """A class of some parts, and its methods."""

    kind: type
    methods: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.methods = self._now()

    def _now(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self.kind).items() if isinstance(value, FunctionType)}

    def put_back(self) -> Iterator[str]:
        now = self._now()
        for name in [name for name in {**now, **self.methods} if now.get(name) is not self.methods.get(name)]:
            if name in self.methods:
                setattr(self.kind, name, self.methods[name])
            else:
                delattr(self.kind, name)
            yield f"the method {name} of {self.kind.__name__}"


@dataclass
class _Numbers:
    """A parameter or buffer, and what was in it."""

    at: str
    tensor: Tensor
    learns: bool = field(init=False)
    grad: Tensor | None = field(init=False)
    kept: Tensor | None = field(init=False)

    def __post_init__(self) -> None:
        from torch.nn.parameter import is_lazy

        self.learns, self.grad = self.tensor.requires_grad, self.tensor.grad
        empty = is_lazy(self.tensor) or self.tensor.is_meta
        self.kept = None if empty else self.tensor.detach().clone()

    def put_back(self) -> Iterator[str]:
        if self.tensor.requires_grad != self.learns:
            self.tensor.requires_grad_(self.learns)
            yield f"whether {self.at} has gradients"
        if self.kept is not None and not _same(self.tensor, self.kept):
            self.tensor.data = self.kept
            yield f"the numbers of {self.at}"
        self.tensor.grad = self.grad  # of no account: it takes room


def _same(one: Tensor, other: Tensor) -> bool:
    """Also where both are not a number."""
    import torch

    if (one.shape, one.dtype, one.device) != (other.shape, other.dtype, other.device):
        return False
    return torch.equal(one, other) or bool(((one == other) | (one.isnan() & other.isnan())).all())
