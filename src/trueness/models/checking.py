"""What is checked of a saved model before it is used: its names, the shapes of its weights, that they are finite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trueness.errors import UserError


def check_names(source: str | Path, what: str, names: Sequence[Any], number: int) -> None:
    """Refuse words or classes of another number than the network's, such as are no text, and repeated ones."""
    if len(names) != number:
        raise UserError(f"{source}: {len(names)} {what} for a network of {number}.")
    if not all(isinstance(name, str) for name in names) or len(set(names)) != number:
        raise UserError(f"{source}: the {what} are not text, or the same one occurs twice.")


def check_fitting(source: str | Path, build: Callable[[], nn.Module], weights: Mapping[str, Tensor]) -> None:
    """Refuse weights of other shapes than the network's, before memory is taken for it."""
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        wanted = build().state_dict()
    for name in sorted(wanted.keys() | weights.keys()):
        have, want = (tuple(some[name].shape) if name in some else "none" for some in (weights, wanted))
        if have != want:
            raise UserError(f"{source}: the weights do not fit config.json: {name} is {have} and should be {want}.")


def check_finite(source: str | Path, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that are NaN, infinite or complex: all that follows would be made up."""
    for name, tensor in weights.items():
        if tensor.is_complex() or not tensor.isfinite().all():
            raise UserError(f"{source}: the weights {name} hold NaN, infinity or complex numbers.")
