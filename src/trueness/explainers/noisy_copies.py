"""Gradients of noisy copies of an example, averaged: expected gradients (Gradient SHAP), SmoothGrad."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.data.units import taken
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.gradients import ends
from trueness.explainers.outputs import Output, chosen_class
from trueness.explainers.paths import Points, Reading, average_gradient
from trueness.explainers.tolerance import Count, Estimate, number_of, together, until_accurate
from trueness.models.network import Network


@dataclass(frozen=True)
class GradientShap(Explainer):
    """Expected gradients: as integrated gradients, at random points of the way, the input a little noisy: signed.

    With baselines "others" each way starts from another example, drawn at random. With `n_samples="auto"` as many (64
    to 1,024) as it takes for a relative error of at most `tolerance`.
    """

    facts = Facts(random=True, needs=("gradients",), machinery=("path",))

    n_samples: Count = 50
    noise: float = 0.0
    """Standard deviation of the noise, in the unit of the model: that of a text's embeddings, the range of an image."""
    baselines: str = "zero"
    output: Output = "logit"
    seed: int = 0
    max_bytes: int | None = None
    tolerance: float = 0.05

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        if self.n_samples == "auto":
            return _sampled(self, model, batch, target, _mean).scores
        number, others = number_of(self.n_samples), self.baselines == "others"
        end, start = ends(model, batch, "zero" if others else self.baselines)
        noise = noise_at(model, batch, end, self.noise, self.seed + 1) if self.noise else None
        drawn = [torch.rand(2 if others else 1, number, generator=one) for one in batch.generators(self.seed)]
        share = torch.stack([one[-1] for one in drawn]).to(end)
        begin: Callable[[Tensor, Tensor], Tensor] = lambda row, _: start[row]  # noqa: E731
        if others:
            starts = model.others(batch)
            chosen = (torch.stack([one[0] for one in drawn]) * len(starts)).long().to(end.device)
            begin = lambda row, point: starts[chosen[row, point]]  # noqa: E731

        def along(row: Tensor, point: Tensor, width: int) -> Tensor:
            there, back = end[row, :width], begin(row, point)[:, :width]
            to = there if noise is None else there + noise(row, point, width)
            return back + share[row, point][:, None, None] * (to - back)

        def times_way(gradient: Tensor, row: Tensor, point: Tensor) -> Tensor:
            return gradient * (end[row] - begin(row, point))[:, : gradient.shape[1]]

        weights = end.new_full((number,), 1 / number)
        looks: dict[str, Any] = {"max_bytes": self.max_bytes, "output": self.output}
        looks |= {"read": times_way} if others else {}
        gradient = average_gradient(model, batch, target, along, weights, end, **looks)
        return model.to_units((gradient if others else gradient * (end - start)).sum(dim=-1), batch)

    def checks(self, model: Network, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:
        """Where samples are drawn until it is small: the relative error."""
        if self.n_samples != "auto":
            return {}
        return {"relative error": _sampled(self, model, batch, target, _mean).error}


@dataclass(frozen=True)
class SmoothGradient(Explainer):
    """The size of the gradient of the target's logit, averaged over noisy copies: not negative.

    With `n_samples="auto"` as many (64 to 1,024) as it takes for a relative error of at most `tolerance`.
    """

    facts = Facts(signed=False, random=True, needs=("gradients",), machinery=("gradient",))

    n_samples: Count = 30
    noise: float = 0.15
    """Standard deviation of the noise, in the unit of the model: that of a text's embeddings, the range of an image."""
    seed: int = 0
    max_bytes: int | None = None
    tolerance: float = 0.05

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        if self.n_samples == "auto":
            return _sampled(self, model, batch, target, self._combined(model)).scores
        return model.to_units(model.size_of(self.gradient(model, batch, target)), batch)

    def checks(self, model: Network, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:
        """Where copies are made until it is small: the relative error."""
        if self.n_samples != "auto":
            return {}
        return {"relative error": _sampled(self, model, batch, target, self._combined(model)).error}

    @property
    def read(self) -> Reading | None:
        """What of each copy's gradient is averaged; None: the gradient itself."""
        return None

    def gradient(self, model: Network, batch: Batch, target: Target) -> Tensor:
        """(examples, units, size): the average."""
        number = number_of(self.n_samples)
        values = model.values(batch).detach()
        noise = noise_at(model, batch, values, self.noise, self.seed)
        weights = values.new_full((number,), 1 / number)

        def around(row: Tensor, point: Tensor, width: int) -> Tensor:
            return noise(row, point, width).add_(taken(values, row)[:, :width])

        return average_gradient(model, batch, target, around, weights, values, max_bytes=self.max_bytes, read=self.read)

    @staticmethod
    def _combined(model: Network) -> Callable[[list[Tensor]], Tensor]:
        return lambda rounds: model.size_of(_mean(rounds))


_EACH_ROUND = 8  # points or copies


def _mean(rounds: list[Tensor]) -> Tensor:
    return torch.stack(rounds).mean(dim=0)


def _sampled(
    explainer: GradientShap | SmoothGradient,
    model: Network,
    batch: Batch,
    target: Target,
    combine: Callable[[list[Tensor]], Tensor],
) -> Estimate:
    """Rounds of few samples, each from a seed of its own, until their error is small."""
    chosen = chosen_class(model, batch, target).tolist()

    def of_one(one: Batch, number: int) -> Estimate:
        def draw(which: int) -> Tensor:
            round_ = replace(explainer, n_samples=_EACH_ROUND, seed=explainer.seed + 1_000_003 * (which + 1))
            if isinstance(round_, SmoothGradient):
                return round_.gradient(model, one, number) * one.finest().mask[..., None]
            return round_.attribute(model, one, number)

        found = until_accurate(draw, combine, explainer.tolerance)
        return (
            found if isinstance(explainer, GradientShap) else Estimate(model.to_units(found.scores, one), found.error)
        )

    return together(batch, [of_one(one, number) for one, number in zip(batch.alone(), chosen, strict=True)])


def noise_at(model: Network, batch: Batch, values: Tensor, noise: float, seed: int) -> Points:
    """Normal noise at explained units, one draw for some samples of an example; drawn on the device."""
    size, device = values.shape[-1], values.device
    scale = (noise * model.spread(values, batch))[:, None, None] * batch.finest().mask[..., None]
    lengths = batch.lengths.tolist()
    seeds = [generator.initial_seed() for generator in batch.generators(seed)]
    generator = torch.Generator(device)

    def at(row: Tensor, point: Tensor, width: int) -> Tensor:
        drawn = values.new_zeros(len(row), width, size)
        samples = zip(row.tolist(), point.tolist(), strict=True)
        runs = groupby(enumerate(samples), lambda one: (one[1][0], one[1][1] // _EACH_ROUND, one[1][1] - one[0]))
        for (example, which, ahead), run in runs:
            numbers = [number for number, _ in run]
            length = lengths[example]
            generator.manual_seed((seeds[example] + 7_919 * (which + 1)) % 2**63)
            onto = drawn[numbers[0] : numbers[-1] + 1]
            if len(numbers) == _EACH_ROUND and length == width and drawn.dtype == torch.float32:
                onto.normal_(generator=generator)  # the same numbers, without a copy
                continue
            some = torch.randn(_EACH_ROUND, length, size, generator=generator, device=device)
            first = numbers[0] + ahead - which * _EACH_ROUND
            onto[:, :length] = some[first : first + len(numbers)]
        return drawn.mul_(taken(scale, row)[:, :width])

    return at
