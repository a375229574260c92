"""What a model would say to the masked copies it was not asked about: a Gaussian process over masks.

Two masks are alike by a line through the groups, and by exp(-sum of the rates of the groups at which they differ), so
that groups may count together as well as one by one. Shapley values of such a function, and what LIME makes of it with
infinitely many copies, have closed forms: no copies are drawn for them.

Shapley values depend only on half the difference between what is said to a mask and to its complement, so theirs is a
process of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor

from trueness.errors import UserError

CHOICES = 32
"""Masks of which one is taken: the more, the less alike they are."""
ROWS = 2048
"""At most, a copy or a pair of complements each: their covariances take 34 MB, four times, and a second."""
_NUGGET = 1e-6  # what a model says twice may differ so much, over the variance of what it says
_FITTED = 512  # rows by which rates are chosen
_RATES = np.exp(np.linspace(-6.0, 1.5, 16))
_LEAST = 0.05  # of the largest score: groups with smaller ones have the rate of this


def room_for(rows: int, groups: int, max_bytes: int | None) -> bool:
    """Whether the process of so many rows is small enough."""
    return rows <= ROWS and (max_bytes is None or _bytes_of(rows, groups) <= max_bytes)


def refuse_without_room(rows: int, groups: int, max_bytes: int | None, *, each: int) -> None:
    """Raise where it is not: rows of one copy `each`, or of two."""
    most, copies = ROWS * each, rows * each
    if copies > most:
        raise UserError(f"filled=true takes at most {most:,} copies, not {copies:,}: take a smaller n_samples.")
    if not room_for(rows, groups, max_bytes):
        raise UserError(
            f"filled=true takes about {_bytes_of(rows, groups):,} bytes with {copies:,} copies of {groups} groups, "
            f"more than max_bytes={max_bytes}: take a smaller n_samples, a larger max_bytes, or leave it out."
        )


def _bytes_of(rows: int, groups: int) -> int:
    with_whole = rows + 1
    return 8 * with_whole * (4 * with_whole + 8 * groups) + 96 * groups**2


def spread_out(choices: Iterable[Tensor]) -> Tensor:
    """(masks, groups) of the choices for each mask (choices, groups) the one least like those before it.

    Alike are masks that do the same, or the opposite, at most groups: what is between the masks is nearer to one then.
    No group and no mask of a size is preferred, so that a drawn mask remains a drawn mask.
    """
    chosen: list[Tensor] = []
    products = torch.zeros(())  # of the signs of groups, added up
    for each in choices:
        signs = 2 * each.double() - 1
        # The sum of squared products with those before: whole numbers.
        best = int(((signs @ products) * signs).sum(dim=-1).argmin()) if chosen else 0
        products = products + torch.outer(signs[best], signs[best])
        chosen.append(each[best])
    return torch.stack(chosen)


def filled_shapley(keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor) -> Tensor:
    """(groups,) Shapley values of the process that says `said` (masks,) to the masks (masks, groups), and both ends.

    After each mask comes its complement. All in double precision. The values sum to the difference of the ends.
    """
    keep = torch.cat([torch.ones_like(keep[:1]), keep[::2]])
    odd = torch.cat([(whole - empty)[None], said[::2] - said[1::2]]) / 2
    scores = _by_scores(keep, odd, _odd_covariance, _shapley)
    return scores + (whole - empty - scores.sum()) / keep.shape[1]


def filled_lime(keep: Tensor, said: Tensor, nearness: Tensor) -> Tensor:
    """(groups,) what the regression of LIME would be with all masks, each as the process says it.

    `nearness` (groups + 1,) is the weight of a mask that keeps none, one, ... all groups.
    """

    def scores(keep: Tensor, rates: Tensor, weight: Tensor) -> Tensor:
        return _lime(keep, rates, weight, nearness)

    return _by_scores(keep, said - said.mean(), _covariance, scores)


Covariance = Callable[[Tensor, Tensor], Tensor]
"""(masks, masks) of masks and rates."""
Scores = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(groups,) of the process that is the likeness to masks, by rates, each times its weight."""


def _by_scores(keep: Tensor, said: Tensor, covariance: Covariance, scores: Scores) -> Tensor:
    """Rates are first equal, then grow with the root of the scores that this gives; how large is likeliest."""
    few, told = keep[:_FITTED], said[:_FITTED]

    def found(keep: Tensor, said: Tensor, rates: Tensor) -> Tensor:
        rest, root = _whitened(covariance(keep, rates), said)
        return scores(keep, rates, torch.linalg.solve_triangular(root.T, rest[:, None], upper=True)[:, 0])

    first = found(few, told, _likeliest(few, told, covariance, torch.ones_like(keep[0]))).abs()
    relative = (first / first.max().clamp(min=1e-300)).clamp(min=_LEAST).sqrt()
    return found(keep, said, _likeliest(few, told, covariance, relative / relative.mean()))


def _likeliest(keep: Tensor, said: Tensor, covariance: Covariance, relative: Tensor) -> Tensor:
    """(groups,) rates, of these relative sizes, under which the process says this most likely, at its best variance."""
    chosen, least = relative, float("inf")
    for rates in (rate * relative for rate in _RATES.tolist()):
        rest, root = _whitened(covariance(keep, rates), said)
        variance = (rest @ rest / len(said)).clamp(min=1e-300)
        surprise = float(len(said) / 2 * variance.log() + root.diagonal().log().sum())
        if surprise < least:
            chosen, least = rates, surprise
    return chosen


def _whitened(covariance: Tensor, said: Tensor) -> tuple[Tensor, Tensor]:
    """What is said with unit covariance, and the root of the covariance, which is overwritten."""
    covariance.diagonal().add_(_NUGGET)
    root = torch.linalg.cholesky(covariance)
    return torch.linalg.solve_triangular(root, said[:, None], upper=False)[:, 0], root


def _apart(keep: Tensor, rates: Tensor) -> Tensor:
    """(masks, masks) the rates of the groups at which two masks differ."""
    size = keep @ rates
    return size[:, None] + size - 2 * (keep * rates) @ keep.T


def _with_line(covariance: Tensor, keep: Tensor) -> Tensor:
    """The mean over groups of 1 where two masks do the same, of -1 elsewhere, is added."""
    signs = 2 * keep - 1
    return covariance.addmm_(signs, signs.T, alpha=1 / keep.shape[1])


def _covariance(keep: Tensor, rates: Tensor) -> Tensor:
    """exp(-d) with d the rates of the groups at which two masks differ, the line, and 1 for what all have in common."""
    return _with_line(_apart(keep, rates).neg_().exp_().add_(1), keep)


def _odd_covariance(keep: Tensor, rates: Tensor) -> Tensor:
    """With D the rates of all groups, (exp(-d) - exp(d - D)) over what a mask has with itself, and the line."""
    apart = _apart(keep, rates)
    covariance = torch.exp(apart - rates.sum()).neg_()
    covariance += apart.neg_().exp_()
    covariance /= _itself(rates)
    return _with_line(covariance, keep)


def _itself(rates: Tensor) -> Tensor:
    return -torch.expm1(-rates.sum())


def _shapley(keep: Tensor, rates: Tensor, weight: Tensor) -> Tensor:
    """(groups,) Shapley values of the process: those of the likeness to each mask, weighted as the process does.

    In exp(-d) a group that the mask keeps adds (1 - rho) times the likeness of the others, one that it hides takes it
    away, with rho = exp(-rate). Over orders of the groups those before it are each there with probability q, for a q
    drawn evenly: the mean likeness is the integral of the product over the others of q + (1 - q) rho, where the mask
    keeps them, and 1 - q + q rho elsewhere, by as many points as make it exact. The complement's has the other sign.
    """
    points, share = (keep.new_tensor(each) for each in np.polynomial.legendre.leggauss(len(rates) // 2 + 1))
    q, rho = (points + 1) / 2, torch.exp(-rates)[:, None]
    kept, hidden = q + (1 - q) * rho, 1 - q + q * rho
    product = torch.exp(keep @ kept.log() + (1 - keep) @ hidden.log()) * share / 2
    of_kept, of_hidden = (product @ (1 / each).T for each in (kept, hidden))
    together = weight @ torch.where(keep > 0, of_kept, -of_hidden) * (1 - rho[:, 0])
    values: Tensor = 2 * (together / _itself(rates) + _slope(keep, weight))
    return values


def _slope(keep: Tensor, weight: Tensor) -> Tensor:
    """(groups,) half of what a group adds by the line."""
    return weight @ (2 * keep - 1) / keep.shape[1]


def _lime(keep: Tensor, rates: Tensor, weight: Tensor, nearness: Tensor) -> Tensor:
    """(groups,) the regression of the process on groups, over all masks weighted by their nearness.

    It takes the mean over all masks of nearness times likeness, also times each group. Were nearness a power of the
    number of groups kept, w^size, these would be products over groups: with rho = exp(-rate) and a mask that keeps the
    group (rho + w) / 2, or that hides it (1 + w rho) / 2, of which w / 2 or w rho / 2 is where the group is kept. As a
    function of the size nearness is a sum of such powers, of the roots w of 1: its Fourier series.
    """
    groups = len(rates)
    size = torch.arange(groups + 1, dtype=keep.dtype, device=keep.device)
    powers = torch.polar(torch.ones_like(size), 2 * torch.pi * size / (groups + 1))
    rho = torch.exp(-rates)[:, None]
    kept, hidden = (rho + powers) / 2, (1 + powers * rho) / 2
    there = keep.to(powers)
    product = torch.exp(there @ kept.log() + (1 - there) @ hidden.log()) * torch.fft.fft(nearness) / (groups + 1)
    with_kept, with_hidden = ((product @ (powers * each / 2).T).real for each in (1 / kept, rho / hidden))
    with_group = torch.where(keep > 0, with_kept, with_hidden)
    # How often masks of each size occur, times their nearness.
    ways = torch.lgamma(size[-1] + 1) - torch.lgamma(size + 1) - torch.lgamma(size[-1] - size + 1)
    often = torch.softmax(ways, dim=0) * nearness
    mean = (often * size).sum() / often.sum()
    right = weight @ (with_group - product.sum(dim=1).real[:, None] * mean / groups)
    # Tokens have one variance and one covariance: `own` is their difference, `of_all` the variance of the size.
    of_all = (often * (size - mean) ** 2).sum() / groups
    own = (often * size * (groups - size)).sum() / (groups * (groups - 1)) if groups > 1 else of_all
    scores: Tensor = (right - right.mean()) / own + right.mean() / of_all
    return scores + 2 * _slope(keep, weight)
