"""The attention that differs most from the observed one while the output changes by at most epsilon: solved exactly.

Jain and Wallace 2019, equation 1 with k = 1: maximise JSD(alpha, observed) over distributions alpha subject to
TVD(output(alpha), output(observed)) <= epsilon. The divergence is convex, so its maximum over a polytope is at a
vertex. For two classes and a head that is linear in the attended state the feasible set is the simplex cut by a slab in
one number per token, the log-odds z: every vertex puts all weight on one token, or mixes two tokens so that z . alpha
touches the border of the slab.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.kinds.text.attention.view import AttentionView
from trueness.stats.differentiable import total_variation
from trueness.stats.divergence import LN2

_ROUNDING = 1e-9  # a mixture on the border must count as inside
_ROWS = 32  # tokens compared with all others at a time
_LOGITS = 16  # mixtures of a pair of tokens are tried at so many log-odds of the weights, 0 and 1 besides
_PARTNERS = 8  # tokens of least attention that are paired with all others there


@dataclass(frozen=True)
class Vertices:
    """Per instance the best vertex: weight on `first`, the rest on `second`; one token where both are the same."""

    divergence: Tensor
    first: Tensor
    second: Tensor
    weight: Tensor

    @classmethod
    def joined(cls, parts: Sequence[Vertices]) -> Vertices:
        """The vertices of several batches, one after another."""
        return cls(*(torch.cat([getattr(part, name) for part in parts]) for name in cls.__annotations__))

    def attention(self, width: int) -> Tensor:
        """(batch, tokens) weights."""
        weights = self.weight.new_zeros(len(self.weight), width)
        weights.scatter_add_(1, self.first[:, None], self.weight[:, None])
        weights.scatter_add_(1, self.second[:, None], 1 - self.weight[:, None])
        return weights


@dataclass(frozen=True)
class Adversary:
    """An adversarial attention: the strongest there is where `exact`, else the best found; none exceeds `upper`."""

    attention: Tensor
    """(batch, tokens)"""
    divergence: Tensor
    """Jensen-Shannon divergence from the observed attention: [0, ln 2]."""
    upper: Tensor
    """No feasible attention diverges more; equals `divergence` where `exact`."""
    change: Tensor
    """Total variation between the outputs, at most epsilon."""
    alone: Tensor
    """How many tokens alone give the same output: all attention on one of them changes it by at most epsilon."""
    deciding: Tensor
    """How many tokens could carry the decision alone: all attention on one of them leads to the same class."""
    first: Tensor
    second: Tensor
    weight: Tensor
    """The certificate: `weight` on the token `first`, the rest on `second`; -1 where it is not of that form."""
    exact: bool


def vertex_adversary(view: AttentionView, epsilon: float, *, max_bytes: int = 256 << 20) -> Adversary:
    """The adversarial attention of every instance that puts all weight on one token or two.

    For two classes and a linear head none is stronger. Otherwise it is the best feasible one found among single tokens
    and pairs, which `ascent` improves, with an upper bound: for linear heads the least of the exact solutions under the
    constraint on two classes only, else what would be possible without any constraint.
    """
    order = view.probability.argsort(dim=-1, descending=True)
    if view.exact:
        vertices = _within_odds(view, order[:, 0], order[:, 1], epsilon, max_bytes)
        upper = vertices.divergence
    else:
        vertices = _best_mixture(view, epsilon, max_bytes)
        upper = single_divergence(view.attention.masked_fill(~view.mask, 1.0).amin(dim=-1))
        if view.linear:
            for other in range(1, view.classes):
                pair = _within_odds(view, order[:, 0], order[:, other], epsilon, max_bytes)
                upper = torch.minimum(upper, pair.divergence)
    attention = vertices.attention(view.mask.shape[1])
    # Where nothing else was found the observed attention itself is feasible, and does not diverge.
    nothing = vertices.divergence < -_ROUNDING
    attention = torch.where(nothing[:, None], view.attention, attention)
    single = view.of_features(view.features.double())  # the output with all attention on one token
    alone = total_variation(single, view.probability[:, None]) <= epsilon + _ROUNDING
    deciding = single.argmax(dim=-1) == view.probability.argmax(dim=-1)[:, None]
    unfound = torch.full_like(vertices.first, -1)
    return Adversary(
        attention=attention,
        divergence=vertices.divergence.clamp(min=0.0),
        upper=torch.maximum(upper, vertices.divergence).clamp(min=0.0),
        change=total_variation(view.outputs(attention[:, None])[:, 0], view.probability),
        alone=(alone & view.mask).sum(dim=-1),
        deciding=(deciding & view.mask).sum(dim=-1),
        first=torch.where(nothing, unfound, vertices.first),
        second=torch.where(nothing, unfound, vertices.second),
        weight=vertices.weight,
        exact=view.exact,
    )


def slab(probability: Tensor, other: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """The log-odds of two classes that a total variation of at most epsilon allows; infinite where nothing limits them.

    For two classes this is the constraint itself; for more it is necessary, not sufficient.
    """

    def log_odds(above: Tensor, below: Tensor) -> Tensor:
        return above.clamp(min=0.0).log() - below.clamp(min=0.0).log()

    low = log_odds(probability - epsilon, other + epsilon)
    high = log_odds(probability + epsilon, other - epsilon)
    return low, high


def _within_odds(view: AttentionView, first: Tensor, second: Tensor, epsilon: float, max_bytes: int) -> Vertices:
    rows = torch.arange(len(first), device=first.device)
    p, q = view.probability[rows, first], view.probability[rows, second]
    low, high = slab(p, q, epsilon)
    scores = view.log_odds(first, second)
    if epsilon == 0:  # the logarithms of softmax outputs are less precise than the mixture itself
        low = high = (view.attention * scores).sum(dim=-1)
    return strongest_in_slab(scores, low, high, view.attention, view.mask, max_bytes=max_bytes)


def single_divergence(observed: Tensor) -> Tensor:
    """Divergence of all attention on one token from a distribution that gives it `observed`; falls as that grows."""
    return (2 * LN2 + torch.xlogy(observed, observed) - torch.xlogy(1 + observed, 1 + observed)) / 2


def pair_divergence(weight: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Divergence of (weight, 1 - weight) on two tokens from a distribution that gives them `first` and `second`.

    With f(x) = x ln x: ln 2 + (f(w) + f(1-w) + f(a) + f(b) - f(w+a) - f(1-w+b)) / 2; no other token enters.
    """

    def f(x: Tensor) -> Tensor:
        return torch.xlogy(x, x)

    rest = 1 - weight
    return LN2 + (f(weight) + f(rest) + (f(first) + f(second)) - f(weight + first) - f(rest + second)) / 2


def strongest_in_slab(
    scores: Tensor, low: Tensor, high: Tensor, attention: Tensor, mask: Tensor, *, max_bytes: int = 256 << 20
) -> Vertices:
    """The distribution that diverges most from `attention` among those with low <= scores . alpha <= high.

    Every vertex is tried, but in the order of the attention its lesser token has: by convexity a pair diverges at most
    as much as its lesser token alone would, so that most pairs need not be looked at. `max_bytes` bounds the memory.
    """
    rows, width = scores.shape
    at_a_time = max(1, max_bytes // (max(width, 1) * min(_ROWS, max(width, 1)) * 8 * 8))
    parts = [
        _in_slab(*(values[begin : begin + at_a_time] for values in (scores, low, high, attention, mask)))
        for begin in range(0, rows, at_a_time)
    ]
    return Vertices.joined(parts)


def _in_slab(scores: Tensor, low: Tensor, high: Tensor, attention: Tensor, mask: Tensor) -> Vertices:
    hidden = attention.masked_fill(~mask, torch.inf)
    ascending, order = hidden.sort(dim=-1, stable=True)
    # One token: of those inside the slab the one with the least attention.
    slack = _ROUNDING * (1 + scores.abs())
    inside = mask & (scores >= low[:, None] - slack) & (scores <= high[:, None] + slack)
    alone, first = hidden.masked_fill(~inside, torch.inf).min(dim=-1)
    best = torch.where(alone.isfinite(), single_divergence(alone.clamp(max=1.0)), -1.0)
    second, weight = first.clone(), torch.ones_like(best)
    # Two tokens on either side of a border.
    for begin in range(0, scores.shape[1], _ROWS):
        reachable = torch.where(ascending[:, begin].isfinite(), single_divergence(ascending[:, begin].clamp(max=1)), -1)
        going = (reachable > best).nonzero()[:, 0]
        if not len(going):
            break
        picked = order[going, begin : begin + _ROWS]
        usable = mask[going].gather(1, picked)[:, :, None] & mask[going][:, None]
        for border in (low[going], high[going]):
            value, one, two, share = _best_pair(scores[going], attention[going], usable, picked, border)
            better = value > best[going]
            where = going[better]
            best[where], first[where], second[where], weight[where] = (
                found[better] for found in (value, one, two, share)
            )
    return Vertices(best, first, second, weight)


def _best_pair(
    scores: Tensor, attention: Tensor, usable: Tensor, picked: Tensor, border: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best mixture on one border of a picked token with any other: divergence, both tokens, the first's weight."""
    far = scores - border[:, None]
    one, two = far.gather(1, picked)[:, :, None], far[:, None]
    across = usable & (one * two < 0)
    weight = torch.where(across, two / torch.where(across, two - one, 1.0), 1.0)
    value = pair_divergence(weight, attention.gather(1, picked)[:, :, None], attention[:, None])
    best, at = value.masked_fill(~across, -1.0).flatten(1).max(dim=-1)
    rows, width = torch.arange(len(at), device=at.device), scores.shape[1]
    row, column = at // width, at % width
    return best, picked[rows, row], column, weight[rows, row, column]


def _best_mixture(view: AttentionView, epsilon: float, max_bytes: int) -> Vertices:
    """The best feasible single token or mixture of two that a grid of weights finds; for any head."""
    size = view.features.shape[-1]
    rows, width = view.mask.shape
    partners = min(_PARTNERS, width)
    each = partners * width * (2 * _LOGITS + 3) * (2 * size + 4 * view.classes) * 8
    step = max(1, max_bytes // each)
    parts = [_mixtures(view, slice(begin, begin + step), partners, epsilon) for begin in range(0, rows, step)]
    return Vertices.joined(parts)


def _mixtures(view: AttentionView, part: slice, partners: int, epsilon: float) -> Vertices:
    attention, mask, features = view.attention[part], view.mask[part], view.features[part]
    rows, width, size = features.shape
    order = attention.masked_fill(~mask, torch.inf).argsort(dim=-1)[:, :partners]
    # Dense near 0 and 1, where the most divergent mixtures lie.
    between = torch.linspace(-8, 8, 2 * _LOGITS + 1, dtype=features.dtype, device=features.device).sigmoid()
    weights = torch.cat([between.new_zeros(1), between, between.new_ones(1)])
    picked = features.gather(1, order[..., None].expand(-1, -1, size))
    mixed = (
        weights[:, None] * picked[:, :, None, None, :] + (1 - weights)[:, None] * features[:, None, :, None, :]
    ).reshape(rows, -1, size)
    change = total_variation(view.of_features(mixed, part), view.probability[part][:, None])
    shape = (rows, partners, width, len(weights))
    feasible = (change <= epsilon).reshape(shape)
    # A partner that is no token, or the token itself, can only be used as a single token.
    usable = mask[:, None, :, None] & mask.gather(1, order)[:, :, None, None]
    same = (order[:, :, None] == torch.arange(width, device=order.device))[..., None]
    ends = (weights == 0) | (weights == 1)
    value = pair_divergence(weights.double(), attention.gather(1, order)[:, :, None, None], attention[:, None, :, None])
    value = value.masked_fill(~(feasible & usable & (~same | ends)), -1.0)
    best, at = value.flatten(1).max(dim=-1)
    number = len(weights)
    row, column, weight = at // (width * number), at // number % width, weights.double()[at % number]
    first = order.gather(1, row[:, None])[:, 0]
    # All weight on one of the two is that token alone.
    alone = torch.where(weight == 1, first, column)
    single = (weight == 0) | (weight == 1)
    one, two = (torch.where(single, alone, token) for token in (first, column))
    return Vertices(best, one, two, torch.where(single, 1.0, weight))
