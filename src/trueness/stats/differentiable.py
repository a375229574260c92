"""The divergences as torch functions, for losses: differentiable, batched over the last axis, on any device.

They take distributions as given (a softmax over `mask`); `stats.divergence` is the checked form for measuring.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trueness.stats.divergence import LN2


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Half the sum of |p - q|: [0, 1], 0 when equal."""
    return (p - q).abs().sum(-1) / 2


def kl_divergence(p: Tensor, q: Tensor) -> Tensor:
    """Sum of p ln(p/q), 0 where p is 0, with a gradient there too: [0, inf], 0 when equal."""
    present = p > 0
    return torch.where(present, p * (_log(p, present) - _log(q, present)), 0.0).sum(-1)


def skewed_kl(p: Tensor, q: Tensor, skew: float = 1e-3) -> Tensor:
    """Divergence of p from q with a little of p mixed in: finite where q is 0, [0, ln(1 / skew)], 0 when equal.

    The Kullback-Leibler divergence itself is infinite, or its gradient NaN, once p has weight where q has none.
    """
    return kl_divergence(p, (1 - skew) * q + skew * p)


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """Mean divergence of p and q from their midpoint: [0, ln 2], 0 when equal."""
    return (_half(p, q) + _half(q, p)).sum(-1) / 2


def _half(p: Tensor, q: Tensor) -> Tensor:
    """Terms p ln(2p / (p + q)); the midpoint itself may underflow, p + q does not."""
    present = p > 0
    return torch.where(present, p * (LN2 + _log(p, present) - _log(p + q, present)), 0.0)


def _log(values: Tensor, where: Tensor) -> Tensor:
    # Both branches of the caller's `where` are differentiated, so the logarithm must be finite outside.
    return torch.where(where, values, 1.0).log()
