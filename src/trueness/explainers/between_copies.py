"""What a model would say to the masked copies it was not asked about: a Gaussian process over masks.

Two masks are alike by exp(-sum of the rates of the tokens at which they differ), so that what a model says may depend
on tokens together as well as one by one. Shapley values of such a function have a closed form: no copies are drawn.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

FILLED = 2048
"""The most copies: their covariances take 34 MB, three times, and half a second."""
_NUGGET = 1e-6  # what a model says twice may differ so much, over the variance of what it says
_FITTED = 256  # copies by which rates are chosen
_RATES = np.exp(np.linspace(-6.0, 1.5, 16))
_LEAST = 0.05  # of the largest score: tokens with smaller ones have the rate of this


def filled_shapley(keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor) -> Tensor:
    """(tokens,) Shapley values of the process that says `said` (masks,) to the masks (masks, tokens), and both ends.

    All in double precision. They sum to the difference of the ends. Rates are first equal, then grow with the root of
    the scores that this gives; how large they are is likeliest, given what is said.
    """
    tokens = keep.shape[1]
    ends = torch.stack([torch.ones_like(keep[0]), torch.zeros_like(keep[0])])
    keep, said = torch.cat([ends, keep]), torch.cat([torch.stack([whole, empty]), said])
    some = slice(None, None, -(-len(keep) // _FITTED))
    equal = _likeliest(keep[some], said[some], torch.ones_like(keep[0]))
    first = _shapley(keep[some], said[some], equal).abs()
    relative = (first / first.max().clamp(min=1e-300)).clamp(min=_LEAST).sqrt()
    scores = _shapley(keep, said, _likeliest(keep[some], said[some], relative / relative.mean()))
    return scores + (whole - empty - scores.sum()) / tokens


def _likeliest(keep: Tensor, said: Tensor, relative: Tensor) -> Tensor:
    """(tokens,) rates, of these relative sizes, under which the process says this most likely.

    Its mean and variance are the likeliest as well.
    """
    chosen, least = relative, float("inf")
    for rates in (rate * relative for rate in _RATES.tolist()):
        rest, root = _whitened(keep, said, rates)
        variance = (rest @ rest / len(said)).clamp(min=1e-300)
        surprise = float(len(said) / 2 * variance.log() + root.diagonal().log().sum())
        if surprise < least:
            chosen, least = rates, surprise
    return chosen


def _whitened(keep: Tensor, said: Tensor, rates: Tensor) -> tuple[Tensor, Tensor]:
    """What is said less the mean, with unit covariance, and the root of the covariance."""
    size = keep @ rates
    covariance = torch.exp(2 * (keep * rates) @ keep.T - size[:, None] - size)
    covariance.diagonal().add_(_NUGGET)
    root = torch.linalg.cholesky(covariance)
    both = torch.linalg.solve_triangular(root, torch.stack([said, torch.ones_like(said)], dim=1), upper=False)
    mean = (both[:, 0] @ both[:, 1]) / (both[:, 1] @ both[:, 1])
    return both[:, 0] - mean * both[:, 1], root


def _shapley(keep: Tensor, said: Tensor, rates: Tensor) -> Tensor:
    """(tokens,) Shapley values of the process: those of the likeness to each mask, weighted as the process does.

    A token that the mask keeps adds (1 - its rho) times the likeness of the others, one that it hides takes it away,
    with rho = exp(-rate). Over orders of the tokens those before it are each there with probability q, for a q drawn
    evenly: the mean likeness is the integral of the product over the others of q + (1 - q) rho, where the mask keeps
    them, and 1 - q + q rho, by as many points as make it exact.
    """
    rest, root = _whitened(keep, said, rates)
    weight = torch.linalg.solve_triangular(root.T, rest[:, None], upper=True)[:, 0]
    points, share = (keep.new_tensor(each) for each in np.polynomial.legendre.leggauss(len(rates) // 2 + 1))
    q, rho = (points + 1) / 2, torch.exp(-rates)[:, None]
    kept, hidden = q + (1 - q) * rho, 1 - q + q * rho
    product = torch.exp(keep @ kept.log() + (1 - keep) @ hidden.log()) * share / 2
    of_kept, of_hidden = (product @ (1 / each).T for each in (kept, hidden))
    values: Tensor = weight @ torch.where(keep > 0, of_kept, -of_hidden) * (1 - rho[:, 0])
    return values
