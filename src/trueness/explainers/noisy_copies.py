"""Gradients of noisy copies of a text, averaged: expected gradients (Gradient SHAP), SmoothGrad."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.paths import Baseline, Place, average_gradient, ends
from trueness.explainers.text import Output, chosen_class, generator_of
from trueness.explainers.tolerance import Count, Estimate, number_of, texts_of, together, until_accurate
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.sequences import taken
from trueness.models.network import TextNetwork


@dataclass(frozen=True)
class GradientShap(Explainer):
    """Expected gradients: as integrated gradients, at random points of the way, the input a little noisy: signed.

    With `n_samples="auto"` as many (64 to 1,024) as it takes for a relative error of at most `tolerance`.
    """

    facts = Facts(random=True, needs=("gradients",), machinery=("path",))

    n_samples: Count = 50
    stdevs: float = 0.0
    """Standard deviation of the noise, in that of the text's embeddings."""
    baselines: Baseline = "zero"
    output: Output = "logit"
    seed: int = 0
    max_bytes: int | None = None
    tolerance: float = 0.05

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        if self.n_samples == "auto":
            return _sampled(self, "n_samples", model, batch, target, _mean).scores
        end, start = ends(model, batch, self.baselines)
        drawn = [
            torch.rand(number_of(self.n_samples), generator=generator)
            for _, generator in generator_of(batch, self.seed)
        ]
        share = torch.stack(drawn).to(end)
        noise = _noise(batch, end, self.stdevs, self.seed + 1) if self.stdevs else None

        def place(row: Tensor, point: Tensor, width: int) -> Tensor:
            there, back = end[row, :width], start[row, :width]
            to = there if noise is None else there + noise(row, point, width)
            return back + share[row, point][:, None, None] * (to - back)

        number = number_of(self.n_samples)
        weights = end.new_full((number,), 1 / number)
        gradient = average_gradient(model, batch, target, place, weights, self.max_bytes, self.output)
        return (gradient * (end - start)).sum(dim=-1) * batch.mask

    def checks(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:
        """Where samples are drawn until it is small: the relative error."""
        if self.n_samples != "auto":
            return {}
        return {"relative error": _sampled(self, "n_samples", model, batch, target, _mean).error}


@dataclass(frozen=True)
class SmoothGradient(Explainer):
    """L2 norm of the gradient of the target's logit, averaged over noisy copies of the text: not negative.

    With `nt_samples="auto"` as many (64 to 1,024) as it takes for a relative error of at most `tolerance`.
    """

    facts = Facts(signed=False, random=True, needs=("gradients",), machinery=("gradient",))

    nt_samples: Count = 30
    stdevs: float = 0.15
    """Standard deviation of the noise, in that of the text's embeddings."""
    seed: int = 0
    max_bytes: int | None = None
    tolerance: float = 0.05

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        if self.nt_samples == "auto":
            return _sampled(self, "nt_samples", model, batch, target, _norm_of_mean).scores
        return self.gradient(model, batch, target).square().sum(dim=-1).sqrt() * batch.mask

    def checks(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:
        """Where copies are made until it is small: the relative error."""
        if self.nt_samples != "auto":
            return {}
        return {"relative error": _sampled(self, "nt_samples", model, batch, target, _norm_of_mean).error}

    def gradient(self, model: TextNetwork, batch: Batch, target: Target) -> Tensor:
        """(batch, tokens, embedding): the average."""
        number = number_of(self.nt_samples)
        embeddings = model.embed(batch).detach()
        noise = _noise(batch, embeddings, self.stdevs, self.seed)
        weights = embeddings.new_full((number,), 1 / number)

        def place(row: Tensor, point: Tensor, width: int) -> Tensor:
            return noise(row, point, width).add_(taken(embeddings, row)[:, :width])

        return average_gradient(model, batch, target, place, weights, self.max_bytes)


_EACH_ROUND = 8  # points or copies


def _mean(rounds: list[Tensor]) -> Tensor:
    return torch.stack(rounds).mean(dim=0)


def _norm_of_mean(rounds: list[Tensor]) -> Tensor:
    return _mean(rounds).square().sum(dim=-1).sqrt()


def _sampled(
    explainer: GradientShap | SmoothGradient,
    count: str,
    model: TextNetwork,
    batch: Batch,
    target: Target,
    combine: Callable[[list[Tensor]], Tensor],
) -> Estimate:
    """Rounds of few samples, each from a seed of its own, until their error is small."""
    chosen = chosen_class(model, batch, target).tolist()

    def of_one(text: Batch, number: int) -> Estimate:
        def draw(which: int) -> Tensor:
            changes: dict[str, Any] = {count: _EACH_ROUND, "seed": explainer.seed + 1_000_003 * (which + 1)}
            if isinstance(explainer, SmoothGradient):
                return replace(explainer, **changes).gradient(model, text, number) * text.mask[..., None]
            return replace(explainer, **changes).attribute(model, text, number)

        return until_accurate(draw, combine, explainer.tolerance)

    return together(batch, [of_one(text, number) for text, number in zip(texts_of(batch), chosen, strict=True)])


def _noise(batch: Batch, embeddings: Tensor, noise: float, seed: int) -> Place:
    """Normal noise at explained positions, one draw for some samples of a text; drawn on the device."""
    size, device = embeddings.shape[-1], embeddings.device
    inside = batch.mask[..., None]
    count = (batch.mask.sum(dim=-1) * size).clamp(min=1).to(embeddings.dtype)
    mean = (embeddings * inside).sum(dim=(1, 2)) / count
    variance = ((embeddings - mean[:, None, None]).square() * inside).sum(dim=(1, 2)) / count
    scale = (noise * variance.sqrt())[:, None, None] * inside
    seeds = [(length, generator.initial_seed()) for length, generator in generator_of(batch, seed)]
    generator = torch.Generator(device)

    def at(row: Tensor, point: Tensor, width: int) -> Tensor:
        drawn = embeddings.new_zeros(len(row), width, size)
        samples = zip(row.tolist(), point.tolist(), strict=True)
        runs = groupby(enumerate(samples), lambda one: (one[1][0], one[1][1] // _EACH_ROUND, one[1][1] - one[0]))
        for (text, which, ahead), run in runs:
            places = [place for place, _ in run]
            length, start = seeds[text]
            generator.manual_seed((start + 7_919 * (which + 1)) % 2**63)
            onto = drawn[places[0] : places[-1] + 1]
            if len(places) == _EACH_ROUND and length == width and drawn.dtype == torch.float32:
                onto.normal_(generator=generator)  # the same numbers, without a copy
                continue
            some = torch.randn(_EACH_ROUND, length, size, generator=generator, device=device)
            first = places[0] + ahead - which * _EACH_ROUND
            onto[:, :length] = some[first : first + len(places)]
        return drawn.mul_(taken(scale, row)[:, :width])

    return at
