"""Averages of gradients at several points; at those on the way to an input: integrated gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.data.units import taken
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.gradients import ends
from trueness.explainers.outputs import Output, chosen_class, output_of
from trueness.explainers.tolerance import Count, Estimate, number_of, together, until_integrated
from trueness.models.network import Network, inspecting
from trueness.models.packing import every_example, in_batches

Points = Callable[[Tensor, Tensor, int], Tensor]
"""From the numbers of rows, those of points, and a width: the first values of each of those rows at its point."""
Reading = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From gradients, the numbers of their rows and those of their points: what of them is averaged."""


def average_gradient(
    model: Network,
    batch: Batch,
    target: Target,
    points: Points,
    weights: Tensor,
    like: Tensor,
    *,
    max_bytes: int | None = None,
    output: Output = "logit",
    read: Reading | None = None,
) -> Tensor:
    """The gradient of the target's output, summed over points with weights: as `like`, (examples, units, size).

    All (row, point) pairs are examples of large batches; `max_bytes` bounds what such a batch takes. `read` says what
    of the gradients at some points is summed.
    """
    chosen = chosen_class(model, batch, target)
    total = torch.zeros_like(like)
    for row, point, found, _ in _gradients(model, batch, chosen, points, len(weights), max_bytes, output):
        gradient = found if read is None else read(found, row, point)
        # Copies of one example stand together. A product adds them up in the same order on every device.
        if len(batch) == 1:  # Known without waiting for the device.
            total[:, : found.shape[1]] += (weights[point][None] @ gradient.flatten(1)).view(1, *found.shape[1:])
            continue
        examples, which = torch.unique_consecutive(row, return_inverse=True)
        share = found.new_zeros(len(examples), len(row))
        share[which, torch.arange(len(row), device=row.device)] = weights[point]
        total[examples, : found.shape[1]] += (share @ gradient.flatten(1)).view(len(examples), *found.shape[1:])
    return total


def _gradients(
    model: Network,
    batch: Batch,
    chosen: Tensor,
    points: Points,
    count: int,
    max_bytes: int | None,
    output: Output,
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Of some copies at a time: the numbers of their rows and points, their gradients, and the target's outputs."""
    row = every_example(batch).repeat_interleave(count)
    point = torch.arange(count, device=row.device).repeat(len(batch))

    def work(numbers: Tensor, examples: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        example, at = row[numbers], point[numbers]
        given = points(example, at, examples.width).detach().requires_grad_()
        said = output_of(model.logits(examples, values=given), chosen[example], output)
        return example, at, torch.autograd.grad(said.sum(), given)[0], said.detach()

    with inspecting(model, gradients=True):
        for _, found in in_batches(model, batch, row, work, max_bytes=max_bytes, gradients=True):
            yield found


@cache
def _points(number: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Gauss and Legendre's points between 0 and 1, and their weights: a millisecond for 50 of them."""
    nodes, weights = np.polynomial.legendre.leggauss(number)
    return (nodes + 1) / 2, weights / 2


@dataclass(frozen=True)
class IntegratedGradients(Explainer):
    """The gradient of the target's output averaged on the straight way from the baseline, times the way: signed.

    The scores of an example sum to the difference of the output between it and the baseline (`completeness_error` says
    how nearly). Gauss-Legendre points, as Captum; with `n_steps="auto"` as many points (17 to 129) as it takes
    until the estimated error of the scores, over their sum of magnitudes, is at most `tolerance`; it is no bound.
    """

    facts = Facts(needs=("gradients",), machinery=("path", "rescale"))

    n_steps: Count = 50
    baselines: str = "zero"
    """What an example without information is; which there are depends on the model."""
    output: Output = "logit"
    max_bytes: int | None = None
    tolerance: float = 0.01

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        if self.n_steps == "auto":
            return self._estimate(model, batch, target).scores
        end, start = ends(model, batch, self.baselines)
        share, weight = (end.new_tensor(values) for values in _points(number_of(self.n_steps)))

        def along(row: Tensor, point: Tensor, width: int) -> Tensor:
            return torch.lerp(taken(start, row)[:, :width], taken(end, row)[:, :width], share[point][:, None, None])

        gradient = average_gradient(
            model, batch, target, along, weight, end, max_bytes=self.max_bytes, output=self.output
        )
        return model.to_units((gradient * (end - start)).sum(dim=-1), batch)

    def checks(self, model: Network, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:
        """The error of completeness; where points are added until it is small, the relative error of the scores."""
        if self.n_steps == "auto":
            return {"relative error": self._estimate(model, batch, target).error}
        return {"completeness error": self.completeness_error(model, batch, target)}

    def _estimate(self, model: Network, batch: Batch, target: Target) -> Estimate:
        chosen = chosen_class(model, batch, target)
        found = [self._of_one(model, one, chosen[row : row + 1]) for row, one in enumerate(batch.alone())]
        return together(batch, found)

    def _of_one(self, model: Network, one: Batch, chosen: Tensor) -> Estimate:
        end, start = ends(model, one, self.baselines)

        def values(shares: Tensor) -> tuple[Tensor, Tensor]:
            def along(_: Tensor, point: Tensor, __: int) -> Tensor:
                return torch.lerp(start, end, shares[point][:, None, None])

            scores, said = end.new_zeros(len(shares), one.mask.shape[1]), end.new_zeros(len(shares))
            looks = _gradients(model, one, chosen, along, len(shares), self.max_bytes, self.output)
            for _, point, gradient, outputs in looks:
                scores[point] = model.to_units((gradient * (end - start)).sum(dim=-1), one)
                said[point] = outputs
            return scores, said

        return until_integrated(values, end, self.tolerance)

    def completeness_error(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        """(examples,): by how much the scores miss the difference of the output between example and baseline."""
        scores = self.attribute(model, batch, target)
        chosen = chosen_class(model, batch, target)
        with inspecting(model):
            end, start = (
                output_of(model.logits(batch, values=values), chosen, self.output)
                for values in ends(model, batch, self.baselines)
            )
        return (scores.sum(dim=-1) - (end - start)).abs()
