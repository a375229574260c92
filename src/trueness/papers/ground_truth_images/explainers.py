"""Explainers as the code of Zhou et al. (2022) computes them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trueness.explainers.contract import Facts
from trueness.explainers.masked_copies import Lime
from trueness.explainers.noisy_copies import SmoothGradient
from trueness.explainers.paths import Reading
from trueness.explainers.tolerance import Count


@dataclass(frozen=True)
class SmoothGradientZhou2022(SmoothGradient):
    """The sizes of the gradients of noisy copies, averaged: noise adds up instead of cancelling out."""

    n_samples: Count = 50

    @property
    def read(self) -> Reading:
        """The magnitudes of each copy's gradient."""
        return lambda gradient, _, __: gradient.abs()


@dataclass(frozen=True)
class LimeZhou2022(Lime):
    """LIME with 200 copies and black superpixels, without sign."""

    facts = Facts(signed=False, random=True, machinery=("masking",))

    n_samples: Count = 200
    hiding: str = "black"

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:
        return super().solve(keep, said, whole, empty, counts).abs()
