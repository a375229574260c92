"""Averages of gradients at several points; at those on the way to an input: integrated gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.text import Output, chosen_class, output_of
from trueness.explainers.tolerance import Count, Estimate, number_of, texts_of, together, until_integrated
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.sequences import taken
from trueness.models.network import TextNetwork, inspecting
from trueness.models.packing import every_text, in_batches

Place = Callable[[Tensor, Tensor, int], Tensor]
"""From the numbers of rows, those of points, and a width: the first embeddings of each of those rows at its point."""
Baseline = Literal["zero", "mask", "pad"]
"""What a text without information is: zero vectors, the mask or the padding token, at every explained position."""


def average_gradient(
    model: TextNetwork,
    batch: Batch,
    target: Target,
    place: Place,
    weights: Tensor,
    max_bytes: int | None = None,
    output: Output = "logit",
) -> Tensor:
    """(batch, tokens, embedding): the gradient of the target's output, summed over points with weights.

    All (row, point) pairs are examples of large batches; `max_bytes` bounds what such a batch takes.
    """
    chosen = chosen_class(model, batch, target)
    total = model.embedding.weight.new_zeros(*batch.tokens.shape, model.embedding.embedding_dim)
    for row, point, found, _ in _gradients(model, batch, chosen, place, len(weights), max_bytes, output):
        # Copies of one text stand together. A product adds them up in the same order on every device.
        if len(batch) == 1:  # Known without waiting for the device.
            total[:, : found.shape[1]] += (weights[point][None] @ found.flatten(1)).view(1, *found.shape[1:])
            continue
        texts, which = torch.unique_consecutive(row, return_inverse=True)
        share = found.new_zeros(len(texts), len(row))
        share[which, torch.arange(len(row), device=row.device)] = weights[point]
        total[texts, : found.shape[1]] += (share @ found.flatten(1)).view(len(texts), *found.shape[1:])
    return total


def _gradients(
    model: TextNetwork,
    batch: Batch,
    chosen: Tensor,
    place: Place,
    points: int,
    max_bytes: int | None,
    output: Output,
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Of some copies at a time: the numbers of their rows and points, their gradients, and the target's outputs."""
    row = every_text(batch).repeat_interleave(points)
    point = torch.arange(points, device=row.device).repeat(len(batch))

    def work(places: Tensor, texts: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        text, at = row[places], point[places]
        given = place(text, at, texts.tokens.shape[1]).detach().requires_grad_()
        said = output_of(model.logits(texts, embeddings=given), chosen[text], output)
        return text, at, torch.autograd.grad(said.sum(), given)[0], said.detach()

    with inspecting(model, gradients=True):
        for _, found in in_batches(model, batch, row, work, max_bytes=max_bytes, gradients=True):
            yield found


def ends(model: TextNetwork, batch: Batch, baseline: Baseline) -> tuple[Tensor, Tensor]:
    """The embeddings, and those of the baseline: begin and end stay as they are."""
    embeddings = model.embed(batch).detach()
    if baseline == "zero":
        empty = torch.zeros_like(embeddings)
    else:
        token = batch.text.mask_token if baseline == "mask" else model.padding
        empty = model.embedding.weight[token].detach()
    return embeddings, torch.where(batch.mask[..., None], empty, embeddings)


@cache
def _points(number: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Gauss and Legendre's points between 0 and 1, and their weights: a millisecond for 50 of them."""
    nodes, weights = np.polynomial.legendre.leggauss(number)
    return (nodes + 1) / 2, weights / 2


@dataclass(frozen=True)
class IntegratedGradients(Explainer):
    """The gradient of the target's output averaged on the straight way from the baseline, times the way: signed.

    The scores of a text sum to the difference of the output between the text and the baseline (`completeness_error`
    says how nearly). Gauss-Legendre points, as Captum; with `n_steps="auto"` as many points (17 to 129) as it takes
    until the estimated error of the scores, over their sum of magnitudes, is at most `tolerance`; it is no bound.
    """

    facts = Facts(needs=("gradients",), machinery=("path", "rescale"))

    n_steps: Count = 50
    baselines: Baseline = "zero"
    output: Output = "logit"
    max_bytes: int | None = None
    tolerance: float = 0.01

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        if self.n_steps == "auto":
            return self._estimate(model, batch, target).scores
        end, start = ends(model, batch, self.baselines)
        share, weight = (end.new_tensor(values) for values in _points(number_of(self.n_steps)))

        def place(row: Tensor, point: Tensor, width: int) -> Tensor:
            return torch.lerp(taken(start, row)[:, :width], taken(end, row)[:, :width], share[point][:, None, None])

        gradient = average_gradient(model, batch, target, place, weight, self.max_bytes, self.output)
        return (gradient * (end - start)).sum(dim=-1) * batch.mask

    def checks(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:
        """The error of completeness; where points are added until it is small, the relative error of the scores."""
        if self.n_steps == "auto":
            return {"relative error": self._estimate(model, batch, target).error}
        return {"completeness error": self.completeness_error(model, batch, target)}

    def _estimate(self, model: TextNetwork, batch: Batch, target: Target) -> Estimate:
        chosen = chosen_class(model, batch, target)
        return together(
            batch, [self._of_one(model, text, chosen[row : row + 1]) for row, text in enumerate(texts_of(batch))]
        )

    def _of_one(self, model: TextNetwork, text: Batch, chosen: Tensor) -> Estimate:
        end, start = ends(model, text, self.baselines)

        def values(shares: Tensor) -> tuple[Tensor, Tensor]:
            def place(_: Tensor, point: Tensor, __: int) -> Tensor:
                return torch.lerp(start, end, shares[point][:, None, None])

            scores, said = end.new_zeros(len(shares), text.tokens.shape[1]), end.new_zeros(len(shares))
            looks = _gradients(model, text, chosen, place, len(shares), self.max_bytes, self.output)
            for _, point, gradient, outputs in looks:
                scores[point] = (gradient * (end - start)).sum(dim=-1) * text.mask
                said[point] = outputs
            return scores, said

        return until_integrated(values, end, self.tolerance)

    def completeness_error(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        """(batch,): by how much the scores miss the difference of the output between text and baseline."""
        scores = self.attribute(model, batch, target)
        chosen = chosen_class(model, batch, target)
        with inspecting(model):
            end, start = (
                output_of(model.logits(batch, embeddings=embeddings), chosen, self.output)
                for embeddings in ends(model, batch, self.baselines)
            )
        return (scores.sum(dim=-1) - (end - start)).abs()


@dataclass(frozen=True)
class IntegratedGradientsMadsen2022(Explainer):
    """|e . mean of s f'(s e)| over s = 1/k ... 1: what the code of Madsen et al. 2022 computes.

    Their gradient is taken at the unscaled embedding, so that each step carries its own scale as an extra factor; the
    scores do not sum to the difference of outputs. The paper explains the gold class.
    """

    facts = Facts(signed=False, needs=("gradients",), machinery=("path", "rescale"))

    n_steps: int = 50
    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        embeddings = model.embed(batch).detach()
        share = torch.arange(1, self.n_steps + 1, device=embeddings.device).to(embeddings.dtype) / self.n_steps

        def place(row: Tensor, point: Tensor, width: int) -> Tensor:
            return share[point][:, None, None] * embeddings[row, :width]

        gradient = average_gradient(model, batch, target, place, share / self.n_steps, self.max_bytes)
        return (gradient * embeddings).sum(dim=-1).abs() * batch.mask


@dataclass(frozen=True)
class DeepLiftCourt2022(Explainer):
    """Gradient of the probability times the way from the padding token: what "DeepLIFT" was in Order in the Court.

    Their model computes its activations where Captum's hooks do not see them, so that no rule but the gradient is left.
    """

    facts = Facts(needs=("gradients",), machinery=("rescale",))

    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        end, start = ends(model, batch, "pad")
        once = end.new_ones(1)

        def there(row: Tensor, _: Tensor, width: int) -> Tensor:
            return end[row, :width]

        gradient = average_gradient(model, batch, target, there, once, self.max_bytes, "probability")
        return (gradient * (end - start)).sum(dim=-1) * batch.mask
