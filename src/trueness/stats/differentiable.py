"""The divergences as torch functions, for losses: differentiable, batched over the last axis, on any device.

They take distributions as given (a softmax over `mask`); `stats.divergence` is the checked form for measuring.
"""

from __future__ import annotations

import torch
from torch import Tensor


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Half the sum of |p - q|: [0, 1], 0 when equal."""
    return (p - q).abs().sum(-1) / 2


def kl_divergence(p: Tensor, q: Tensor) -> Tensor:
    """Sum of p ln(p/q), 0 where p is 0, with a gradient there too: [0, inf], 0 when equal."""
    return _relative_entropy(p, q).sum(-1)


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """Mean divergence of p and q from their midpoint: [0, ln 2], 0 when equal."""
    middle = (p + q) / 2
    return (_relative_entropy(p, middle) + _relative_entropy(q, middle)).sum(-1) / 2


def _relative_entropy(p: Tensor, q: Tensor) -> Tensor:
    # Both branches of `where` are differentiated, so the logarithm must be finite where p is 0.
    present = p > 0
    ratio = torch.where(present, p, 1.0) / torch.where(present, q, 1.0)
    return torch.where(present, p * ratio.log(), 0.0)
