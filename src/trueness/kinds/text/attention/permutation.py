"""Permuting attention (Jain and Wallace 2019, Algorithm 2): by sampling, and in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trueness.kinds.text.attention.view import AttentionView
from trueness.stats.differentiable import total_variation

_BISECTIONS = 20  # halvings of [0, 1]: to a millionth, far below the error of the normal approximation
_POSITION_BITS = 8
_HIDDEN = (1 << 32 - _POSITION_BITS) - 1  # sorts after every random number


def permuted(attention: Tensor, mask: Tensor, number: int, generator: torch.Generator) -> Tensor:
    """(batch, number, tokens): the weights of each instance in random orders; positions outside the mask stay 0."""
    order = _random_orders(mask, number, generator)
    # The weights are dealt out along a list of the mask's positions in random order.
    packed = attention.gather(1, mask.to(torch.int8).argsort(dim=-1, descending=True, stable=True))
    dealt = attention.new_zeros(order.shape)
    return dealt.scatter_(2, order, packed[:, None].expand(-1, number, -1)) * mask[:, None]


def _random_orders(mask: Tensor, number: int, generator: torch.Generator) -> Tensor:
    """(batch, number, tokens): the positions of the mask in random order, then the others."""
    rows, width = mask.shape
    shape = (rows, number, width)
    if mask.device.type == "cpu" and width <= 1 << _POSITION_BITS:
        # A random number and the position in one integer: NumPy sorts these several times as fast as it finds an order.
        keys = torch.randint(0, _HIDDEN, shape, generator=generator, dtype=torch.int64)
        keys = (keys.masked_fill_(~mask[:, None], _HIDDEN) << _POSITION_BITS) | torch.arange(width)
        ordered = np.sort(keys.numpy().astype(np.uint32), axis=-1)
        return torch.from_numpy((ordered & ((1 << _POSITION_BITS) - 1)).astype(np.int64))
    drawn = torch.rand(shape, generator=generator, device=generator.device).to(mask.device)
    return drawn.masked_fill_(~mask[:, None], 2.0).argsort(dim=-1)


def sampled_median(view: AttentionView, number: int = 100, *, seed: int = 0, max_bytes: int = 256 << 20) -> Tensor:
    """(batch,) median total variation of the output over random permutations of the attention: [0, 1].

    Near 0: the output does not depend on which token has which weight. The encoder is not run again, and with a linear
    head a permutation costs one number per token and class.
    """
    rows, width = view.mask.shape
    # On a GPU the seed fixes the draw there; a CPU's differs.
    generator = torch.Generator(view.mask.device).manual_seed(seed)
    step = max(1, max_bytes // (number * width * 40))
    medians = []
    for begin in range(0, rows, step):
        part = slice(begin, begin + step)
        weights = permuted(view.attention[part].float(), view.mask[part], number, generator)
        mixed = torch.einsum("bkt,btf->bkf", weights, view.features[part].float())
        change = total_variation(view.of_features(mixed, part), view.probability[part][:, None])
        # The mean of the two middle values, as NumPy has it; torch's median takes the lower one.
        medians.append(change.quantile(0.5, dim=-1))
    return torch.cat(medians)


@dataclass(frozen=True)
class PermutedLogit:
    """Mean and standard deviation of the log-odds of class 1 over all permutations of the attention: no samples."""

    mean: Tensor
    deviation: Tensor
    observed: Tensor

    def median_change(self) -> Tensor:
        """(batch,) median of |change of probability| if the permuted log-odds are normal, by bisection."""
        p = torch.sigmoid(self.observed)
        spread = self.deviation.clamp(min=torch.finfo(p.dtype).tiny)
        sides = torch.tensor([[-1.0], [1.0]], dtype=p.dtype, device=p.device)
        change, step = torch.zeros_like(p), 1.0
        for _ in range(_BISECTIONS):
            step /= 2
            limits = torch.logit((p + sides * (change + step)).clamp(0, 1))
            below, above = torch.special.ndtr((limits - self.mean) / spread)
            change = torch.where(above - below < 0.5, change + step, change)
        constant = (torch.sigmoid(self.mean) - p).abs()
        return torch.where(self.deviation > 0, change + step / 2, constant)


def permuted_logit(view: AttentionView) -> PermutedLogit:
    """The permuted log-odds in closed form (Hoeffding 1951), for two classes and a linear head.

    With z the log-odds of each of T tokens alone: E = mean(z), Var = sum (alpha - 1/T)^2 sum (z - mean z)^2 / (T - 1).
    """
    if not view.exact:
        raise ValueError("the closed form needs two classes and a linear head")
    scores = view.log_odds(*(torch.full_like(view.probability[:, 0], number, dtype=torch.int64) for number in (1, 0)))
    size = view.mask.sum(dim=-1)
    mean = (scores * view.mask).sum(dim=-1) / size
    uneven = ((view.attention - 1 / size[:, None]) ** 2 * view.mask).sum(dim=-1)
    spread = ((scores - mean[:, None]) ** 2 * view.mask).sum(dim=-1) / (size - 1).clamp(min=1)
    return PermutedLogit(mean, (uneven * spread).sqrt(), (view.attention * scores).sum(dim=-1))
