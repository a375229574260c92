"""What a model would say to the masked copies it was not asked about: a Gaussian process over masks.

Two masks are alike by rho to the number of tokens at which they differ, so that what a model says may depend on tokens
together as well as one by one. Shapley values of such a function have a closed form: no copies are drawn for them.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

FILLED = 2048
"""The most copies: their covariances take 34 MB, three times, and half a second."""
_NUGGET = 1e-6  # what a model says twice may differ so much, over the variance of what it says
_FITTED = 256  # copies by which rho is chosen
_SPEEDS = np.exp(np.linspace(-6.0, 0.5, 14))  # minus the logarithms of the rhos to choose from


def filled_shapley(keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor) -> Tensor:
    """(tokens,) Shapley values of the process that says `said` (masks,) to the masks (masks, tokens), and both ends.

    All in double precision. They sum to the difference of the ends.
    """
    tokens = keep.shape[1]
    ends = torch.stack([torch.ones_like(keep[0]), torch.zeros_like(keep[0])])
    keep, said = torch.cat([ends, keep]), torch.cat([torch.stack([whole, empty]), said])
    rho = _likeliest(keep[:: -(-len(keep) // _FITTED)], said[:: -(-len(said) // _FITTED)])
    _, whitened, root = _whitened(keep, said, rho)
    weight = torch.linalg.solve_triangular(root.T, whitened[:, None], upper=True)[:, 0]
    inside, outside = _of_one_mask(tokens, rho)
    size = keep.sum(dim=1).long()
    values = torch.where(keep > 0, inside.to(keep)[size, None], -outside.to(keep)[size, None])
    scores: Tensor = weight @ values
    return scores + (whole - empty - scores.sum()) / tokens


def _likeliest(keep: Tensor, said: Tensor) -> float:
    """The rho under which the process says this most likely, its mean and variance being the likeliest as well."""
    chosen, least = 0.0, float("inf")
    for rho in np.exp(-_SPEEDS).tolist():
        variance, _, root = _whitened(keep, said, rho)
        surprise = float(len(said) / 2 * variance.clamp(min=1e-300).log() + root.diagonal().log().sum())
        if surprise < least:
            chosen, least = rho, surprise
    return chosen


def _whitened(keep: Tensor, said: Tensor, rho: float) -> tuple[Tensor, Tensor, Tensor]:
    """The variance, what is said less the mean with unit covariance, and the root of the covariance."""
    size = keep.sum(dim=1)
    covariance = rho ** (size[:, None] + size - 2 * keep @ keep.T)
    covariance.diagonal().add_(_NUGGET)
    root = torch.linalg.cholesky(covariance)
    both = torch.linalg.solve_triangular(root, torch.stack([said, torch.ones_like(said)], dim=1), upper=False)
    mean = (both[:, 0] @ both[:, 1]) / (both[:, 1] @ both[:, 1])
    rest = both[:, 0] - mean * both[:, 1]
    return (rest @ rest) / len(said), rest, root


def _of_one_mask(tokens: int, rho: float) -> tuple[Tensor, Tensor]:
    """By the size of a mask, 0 to `tokens`: Shapley values of the likeness to it, of what it keeps and what it hides.

    A token of the mask adds (1 - rho) times the likeness of the others, one outside takes it away. Over orders of the
    tokens those before it are each there with probability q, for a q drawn evenly: the mean likeness is the integral of
    (q + (1 - q) rho)^a (1 - q + q rho)^b, with a others inside and b outside, by as many points as make it exact.
    """
    points, weights = np.polynomial.legendre.leggauss(tokens // 2 + 1)
    q = (points + 1) / 2
    inside, outside = np.log(q + (1 - q) * rho), np.log(1 - q + q * rho)
    size = np.arange(tokens + 1)[:, None]
    of_kept = np.exp((size - 1) * inside + (tokens - size) * outside) @ (weights / 2)
    of_hidden = np.exp(size * inside + (tokens - size - 1) * outside) @ (weights / 2)
    return torch.from_numpy((1 - rho) * of_kept), torch.from_numpy((1 - rho) * of_hidden)
