"""What a model would say to the masked copies it was not asked about: a Gaussian process over masks.

Shapley values depend only on half the difference between what is said to a mask and to its complement, so the process
is of that. Two masks are alike by a line through the tokens, and by exp(-sum of the rates of the tokens at which they
differ), so that tokens may count together as well as one by one. Shapley values of such a function have a closed form:
no copies are drawn for them.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

FILLED = 4096
"""The most copies: the covariances of their pairs take 34 MB, four times, and a second."""
_NUGGET = 1e-6  # what a model says twice may differ so much, over the variance of what it says
_FITTED = 512  # pairs by which rates are chosen
_RATES = np.exp(np.linspace(-6.0, 1.5, 16))
_LEAST = 0.05  # of the largest score: tokens with smaller ones have the rate of this


def bytes_of(copies: int, tokens: int) -> int:
    """About what `filled_shapley` takes at most."""
    pairs = copies // 2 + 1
    return 8 * pairs * (4 * pairs + 8 * tokens)


def filled_shapley(keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor) -> Tensor:
    """(tokens,) Shapley values of the process that says `said` (masks,) to the masks (masks, tokens), and both ends.

    After each mask comes its complement. All in double precision. The values sum to the difference of the ends. Rates
    are first equal, then grow with the root of the scores that this gives; how large they are is likeliest, given what
    is said.
    """
    tokens = keep.shape[1]
    keep = torch.cat([torch.ones_like(keep[:1]), keep[::2]])
    odd = torch.cat([(whole - empty)[None], said[::2] - said[1::2]]) / 2
    equal = _likeliest(keep[:_FITTED], odd[:_FITTED], torch.ones_like(keep[0]))
    first = _shapley(keep[:_FITTED], odd[:_FITTED], equal).abs()
    relative = (first / first.max().clamp(min=1e-300)).clamp(min=_LEAST).sqrt()
    scores = _shapley(keep, odd, _likeliest(keep[:_FITTED], odd[:_FITTED], relative / relative.mean()))
    return scores + (whole - empty - scores.sum()) / tokens


def _likeliest(keep: Tensor, odd: Tensor, relative: Tensor) -> Tensor:
    """(tokens,) rates, of these relative sizes, under which the process says this most likely, at its best variance."""
    chosen, least = relative, float("inf")
    for rates in (rate * relative for rate in _RATES.tolist()):
        rest, root = _whitened(keep, odd, rates)
        variance = (rest @ rest / len(odd)).clamp(min=1e-300)
        surprise = float(len(odd) / 2 * variance.log() + root.diagonal().log().sum())
        if surprise < least:
            chosen, least = rates, surprise
    return chosen


def _whitened(keep: Tensor, odd: Tensor, rates: Tensor) -> tuple[Tensor, Tensor]:
    """What is said with unit covariance, and the root of the covariance.

    With d the rates of the tokens at which two masks differ and D those of all, it is (exp(-d) - exp(d - D)) over what
    a mask has with itself, and the line: the mean over tokens of 1 where both do the same, of -1 elsewhere.
    """
    size, signs = keep @ rates, 2 * keep - 1
    apart = size[:, None] + size - 2 * (keep * rates) @ keep.T
    covariance = torch.exp(apart - rates.sum()).neg_()
    covariance += apart.neg_().exp_()
    covariance /= _itself(rates)
    covariance.addmm_(signs, signs.T, alpha=1 / len(rates))
    covariance.diagonal().add_(_NUGGET)
    root = torch.linalg.cholesky(covariance)
    return torch.linalg.solve_triangular(root, odd[:, None], upper=False)[:, 0], root


def _itself(rates: Tensor) -> Tensor:
    return -torch.expm1(-rates.sum())


def _shapley(keep: Tensor, odd: Tensor, rates: Tensor) -> Tensor:
    """(tokens,) Shapley values of the process: those of the likeness to each mask, weighted as the process does.

    In exp(-d) a token that the mask keeps adds (1 - rho) times the likeness of the others, one that it hides takes it
    away, with rho = exp(-rate). Over orders of the tokens those before it are each there with probability q, for a q
    drawn evenly: the mean likeness is the integral of the product over the others of q + (1 - q) rho, where the mask
    keeps them, and 1 - q + q rho elsewhere, by as many points as make it exact. The complement's has the other sign.
    """
    rest, root = _whitened(keep, odd, rates)
    weight = torch.linalg.solve_triangular(root.T, rest[:, None], upper=True)[:, 0]
    points, share = (keep.new_tensor(each) for each in np.polynomial.legendre.leggauss(len(rates) // 2 + 1))
    q, rho = (points + 1) / 2, torch.exp(-rates)[:, None]
    kept, hidden = q + (1 - q) * rho, 1 - q + q * rho
    product = torch.exp(keep @ kept.log() + (1 - keep) @ hidden.log()) * share / 2
    of_kept, of_hidden = (product @ (1 / each).T for each in (kept, hidden))
    together = weight @ torch.where(keep > 0, of_kept, -of_hidden) * (1 - rho[:, 0])
    line = weight @ (2 * keep - 1) / len(rates)
    values: Tensor = 2 * (together / _itself(rates) + line)
    return values
