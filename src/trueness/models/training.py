"""What trainings of every kind share: a fresh network fixed by a seed, and splits as a model is to see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from trueness.models import network as networks

Network = TypeVar("Network", bound=networks.Network)
SplitView = Callable[[str, Any], Any]
"""A split as a model is to see it, from its name and what it is."""


def build(make: Callable[[], Network], seed: int, table: npt.NDArray[np.float32] | None = None) -> Network:
    """A fresh network, fixed by the seed; the table of word vectors starts its embedding."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make()
    if table is not None:
        taking: Any = network
        taking.take_vectors(table)
    return network
