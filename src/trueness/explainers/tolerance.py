"""As many looks as an error asks for: quadrature and sampling that stop by themselves, and say how far off they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.errors import UserError

Count = int | Literal["auto"]
"""How many looks: a number, for reproducing papers, or as many as the tolerance asks for."""
Round = TypeVar("Round")
_GROUPS = 8  # that the rounds of a sample are put into for the jackknife
_DOUBLINGS = 4


def number_of(count: Count) -> int:
    """A number of looks where one is needed."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UserError(f'The number of samples or steps must be at least 1, or "auto", not {count!r}.')
    return count


class Estimate(NamedTuple):
    """Scores with their error: an estimate of its size over that of the scores."""

    scores: Tensor
    error: Tensor


def together(batch: Batch, found: Sequence[Estimate]) -> Estimate:
    """(examples, units) scores and (examples,) errors of the estimates (1, units) of every example."""
    scores = found[0].scores.new_zeros(batch.mask.shape)
    for row, one in enumerate(found):
        scores[row, : one.scores.shape[1]] = one.scores[0]
    return Estimate(scores, torch.stack([one.error for one in found]))


def until_accurate(
    draw: Callable[[int], Round], combine: Callable[[list[Round]], Tensor], tolerance: float
) -> Estimate:
    """Rounds 0, 1, ... of a sample until their error is small: 8, 16, ... 128 of them.

    The error is that of the jackknife over eight groups of rounds: the root of 7/8 of the sum of squared distances
    between the scores without each group and the scores of all.
    """
    rounds: list[Round] = []
    for doubling in range(_DOUBLINGS + 1):
        rounds += [draw(number) for number in range(len(rounds), _GROUPS << doubling)]
        scores = combine(rounds)
        left = [
            combine([one for place, one in enumerate(rounds) if place % _GROUPS != group]) for group in range(_GROUPS)
        ]
        spread = torch.stack([(one - scores).double().square().sum() for one in left]).sum() * (_GROUPS - 1) / _GROUPS
        error = spread.sqrt() / scores.double().norm().clamp(min=1e-12)
        if float(error) <= tolerance:
            break
    return Estimate(scores, error)


def clenshaw_curtis(intervals: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The points and weights of the rule on [0, 1], for an even number of intervals; every second one is the half's."""
    angle = np.pi * np.arange(intervals + 1) / intervals
    weights = np.zeros(intervals + 1)
    weights[[0, -1]] = 1 / (intervals**2 - 1)
    inner = np.ones(intervals - 1)
    for k in range(1, intervals // 2):
        inner -= 2 * np.cos(2 * k * angle[1:-1]) / (4 * k**2 - 1)
    inner -= np.cos(intervals * angle[1:-1]) / (intervals**2 - 1)
    weights[1:-1] = 2 * inner / intervals
    return (1 - np.cos(angle)) / 2, weights / 2


def until_integrated(
    values: Callable[[Tensor], tuple[Tensor, Tensor]], like: Tensor, tolerance: float, least: int = 16, most: int = 128
) -> Estimate:
    """(1, units) integrals over [0, 1] of what `values` says at points: (points, units), and the output (points,).

    Intervals are halved until the change of the scores, extrapolated by the slower of its last two falls, and the part
    of the output's difference that they miss, are small; not before `least`, since a model that turns within a tenth of
    the way looks settled from afar. Both ends are points: completeness costs nothing more.
    """
    known: dict[float, Tensor] = {}
    ends: dict[float, Tensor] = {}

    def integral(intervals: int) -> Tensor:
        points, weights = clenshaw_curtis(intervals)
        names = [float(point) for point in points.round(14)]
        if new := [name for name in names if name not in known]:
            found, outputs = values(like.new_tensor(new))
            known.update(zip(new, found, strict=True))
            ends.update(zip(new, outputs, strict=True))
        return like.new_tensor(weights) @ torch.stack([known[name] for name in names])

    intervals, scores = least, integral(least)
    coarser = [integral(least // 8), integral(least // 4), integral(least // 2)]
    first, last, step = (float((b - a).abs().sum()) for a, b in pairwise([*coarser, scores]))
    while True:
        missed = (scores.sum() - (ends[1.0] - ends[0.0])).abs()
        slower = max(step / max(last, 1e-30), last / max(first, 1e-30))
        error = torch.maximum(missed, missed.new_tensor(step * min(1.0, slower)))
        error = (error / scores.abs().sum().clamp(min=1e-12)).double()
        if float(error) <= tolerance or intervals >= most:
            return Estimate(scores[None], error)
        intervals *= 2
        half, scores = scores, integral(intervals)
        first, last, step = last, step, float((scores - half).abs().sum())
