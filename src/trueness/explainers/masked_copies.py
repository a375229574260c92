"""Explanations from masked copies of an example: LIME, Kernel SHAP, occlusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.errors import UserError
from trueness.explainers.between_copies import (
    CHOICES,
    ROWS,
    filled_lime,
    filled_shapley,
    refuse_without_room,
    room_for,
    spread_out,
)
from trueness.explainers.contract import Facts
from trueness.explainers.masking import MOST, ROUND, MaskingExplainer
from trueness.explainers.tolerance import Count, number_of

_NARROW = 0.15
"""Of LIME's widths: with less the copies of a short text that lack a token weigh nothing beside the whole one."""


@dataclass(frozen=True)
class Lime(MaskingExplainer):
    """A ridge regression of the target's output on which groups are kept, nearby copies counting more: signed.

    Groups are a text's tokens or an image's superpixels, of which each pixel has the score. Masks keep each group with
    probability one half; the weight of a copy is exp(-d^2 / (2 width^2)) with d the cosine distance to the whole
    example (Ribeiro et al. 2016). With `n_samples="auto"` as many copies as it takes for a relative
    error of at most `tolerance`, against what infinitely many would give.
    """

    facts = Facts(random=True, machinery=("masking",))
    ends = False
    enough = "more copies than an example has groups"

    n_samples: Count = 1000
    width: float = 0.25
    ridge: float = 1.0
    complements: bool = False
    """Whether each mask comes with its complement: the limit is the same, and less is left to chance."""
    filled: bool = False
    """Whether a Gaussian process says what the model would say to the masks that were not drawn, of at most 2,048
    copies (not "auto") and with a width of at least 0.15; there is no ridge then. The limit is the same; mostly fewer
    copies give the same error."""

    @property
    def auto(self) -> bool:
        return self.n_samples == "auto"

    def few(self, count: int) -> Lime:  # noqa: ARG002
        # Among many copies the ridge does not count any more.
        return replace(self, n_samples=ROUND, complements=True, filled=False, ridge=1e-6)

    def needed(self, count: int) -> int:
        return count + 1  # and the intercept

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Each group kept or not, by a fair coin."""
        number = number_of(self.n_samples)
        drawn = max(1, number // 2) if self.complements else number
        if self.filled:
            if self.width < _NARROW:
                raise UserError(
                    f"filled=true takes a width of at least {_NARROW}, not {self.width}: with less, few masks count."
                )
            refuse_without_room(2 * drawn if self.complements else drawn, count, self.max_bytes, each=1)
            half = spread_out(torch.rand(CHOICES, count, generator=generator) < 0.5 for _ in range(drawn))
        else:
            half = torch.rand(drawn, count, generator=generator) < 0.5
        return torch.cat([half, ~half]) if self.complements else half

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:  # noqa: ARG002
        """Ridge regression with a free intercept."""
        if self.filled:
            return self._filled(keep, said, counts)
        weight = self._nearness(keep.sum(dim=-1) / counts.clamp(min=1)[:, None])
        total = weight.sum(dim=-1, keepdim=True)
        # Centred by the weighted means, the intercept drops out.
        centred = keep - (weight[..., None] * keep).sum(dim=1, keepdim=True) / total[..., None]
        values = said - (weight * said).sum(dim=-1, keepdim=True) / total
        gram = centred.transpose(1, 2) @ (weight[..., None] * centred)
        gram = gram + self.ridge * torch.eye(keep.shape[-1], dtype=keep.dtype, device=keep.device)
        right = (centred * (weight * values)[..., None]).sum(dim=1)
        scores: Tensor = torch.linalg.solve(gram, right)
        return scores

    def _nearness(self, share: Tensor) -> Tensor:
        """The weight of copies, by their share of tokens kept."""
        return torch.exp(-((1 - share.sqrt()) ** 2) / (2 * self.width**2))

    def _filled(self, keep: Tensor, said: Tensor, counts: Tensor) -> Tensor:
        scores = torch.zeros_like(keep[:, 0])
        for row, count in enumerate(counts.int().tolist()):
            if count:
                nearness = self._nearness(torch.arange(count + 1).to(keep) / count)
                scores[row, :count] = filled_lime(keep[row, :, :count], said[row], nearness)
        return scores


@dataclass(frozen=True)
class KernelShap(MaskingExplainer):
    """Shapley values of the target's output, groups outside a coalition being masked: signed (Lundberg and Lee 2017).

    Groups are a text's tokens or an image's superpixels, whose pixels share their value. The values sum to the
    difference between the whole and the wholly masked example. With at most `n_samples` coalitions all are
    taken, and the values are exact; otherwise coalitions are drawn, every size as often, each with its complement, and
    weighted by the Shapley kernel (Musco and Witter 2024). With fewer than about three for each group the values are
    mostly noise. With `n_samples="auto"` as many as it takes for a relative error of at most `tolerance`, `filled` in.
    """

    facts = Facts(random=True, machinery=("masking",))
    shared = True
    enough = "twice as many copies as an example has groups"

    n_samples: Count = 1000
    filled: bool = False
    """Whether a Gaussian process says what the model would say to the coalitions that were not drawn, of at most 4,096
    copies. The values have the same limit; mostly fewer copies give the same error."""

    @property
    def auto(self) -> bool:
        return self.n_samples == "auto"

    def few(self, count: int) -> KernelShap | None:
        return (
            None
            if 2**count - 2 <= MOST
            else replace(self, n_samples=ROUND, filled=room_for(ROWS, count, self.max_bytes))
        )

    def _exact(self, count: int) -> bool:
        return count < 62 and 2**count - 2 <= number_of(self.n_samples)

    def needed(self, count: int) -> int:
        return 0 if self._exact(count) else 2 * count  # a complement says nothing new

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """All coalitions but the empty and the whole one, or pairs of complements side by side, every size as often."""
        if count <= 1:
            return torch.zeros(0, count, dtype=torch.bool)
        if self._exact(count):
            numbers = torch.arange(1, 2**count - 1)
            return (numbers[:, None] >> torch.arange(count)) & 1 == 1
        pairs = max(1, number_of(self.n_samples) // 2)
        if self.filled:
            refuse_without_room(pairs, count, self.max_bytes, each=2)
            # Sizes are spread out, too.
            step = (torch.arange(pairs) + torch.rand((), generator=generator)) * (count - 1) / pairs
            sizes = 1 + step.int().clamp(max=count - 2)[torch.randperm(pairs, generator=generator)]
            half = spread_out(_ranks(CHOICES, count, generator) < size for size in sizes)
        else:
            sizes = torch.randint(1, count, (pairs,), generator=generator)
            half = _ranks(pairs, count, generator) < sizes[:, None]
        return torch.stack([half, ~half], dim=1).flatten(0, 1)

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:
        """Least squares under the constraint that the values sum to the difference of the ends."""
        features = keep.shape[-1]
        size = keep.sum(dim=-1)
        exact = torch.tensor([self._exact(int(count)) for count in counts], device=said.device)
        # Among all coalitions each counts by the kernel; drawn, all coalitions of a size together count by it.
        number = counts[:, None]
        together = 1 / (size * (number - size)).clamp(min=1)
        choose = torch.exp(
            torch.lgamma(number + 1) - torch.lgamma(size + 1) - torch.lgamma((number - size).clamp(min=0) + 1)
        )
        # Behind all coalitions of a short text stand masks that keep all: they do not count.
        padding = torch.arange(keep.shape[1], device=said.device) >= (2.0**number - 2)
        weight = torch.where(exact[:, None], torch.where(padding, 0.0, together / choose), together)
        inside = torch.arange(features, device=said.device) < number
        gram = keep.transpose(1, 2) @ (weight[..., None] * keep)
        gram = gram + torch.diag_embed(torch.where(inside, 1e-10, 1.0).to(gram))
        right = (keep * (weight * (said - empty[:, None]))[..., None]).sum(dim=1)
        ones = inside.to(gram)
        solved = torch.linalg.solve(gram, torch.stack([right, ones], dim=-1))
        surplus = (solved[..., 0] * ones).sum(dim=-1) - (whole - empty)
        spread = solved[..., 1] / (solved[..., 1] * ones).sum(dim=-1, keepdim=True)
        scores: Tensor = (solved[..., 0] - spread * surplus[:, None]) * ones
        for row in (~exact).nonzero()[:, 0].tolist() if self.filled else ():
            some = slice(int(counts[row]))
            scores[row, some] = filled_shapley(keep[row, :, some], said[row], whole[row], empty[row])
        return scores


def _ranks(number: int, count: int, generator: torch.Generator) -> Tensor:
    """(number, count) orders of the groups, drawn."""
    return torch.rand(number, count, generator=generator).argsort(dim=-1).argsort(dim=-1)


@dataclass(frozen=True)
class Occlusion(MaskingExplainer):
    """Change of the target's output when neighbours are hidden, averaged over the windows that hold a unit: signed.

    Windows are spans of so many tokens or features, or squares of pixels, which move by half of their side. A window of
    one unit is leave-one-out by hiding; an example shorter than the window is hidden whole.
    """

    facts = Facts(machinery=("masking",))

    sliding_window_shapes: float = 3
    """Units along each side of a window; below 1 a share of the example, of an image of its shorter side."""

    def groups(self, batch: Batch) -> Tensor:
        return batch.windows(self.sliding_window_shapes)[0]

    def masks(self, batch: Batch, counts: Sequence[int]) -> Sequence[Tensor]:  # noqa: ARG002  # the batch knows them
        """All windows."""
        return batch.windows(self.sliding_window_shapes)[1]

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:  # noqa: ARG002
        """The mean change over the windows of each group."""
        hidden = 1 - keep
        change = (whole[:, None] - said)[..., None]
        return (hidden * change).sum(dim=1) / hidden.sum(dim=1).clamp(min=1)
