"""Adversarial attention where no exact solution is known: corners and an ascent, every answer made feasible."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trueness.kinds.text.attention.adversary import Adversary, vertex_adversary
from trueness.kinds.text.attention.corners import corners
from trueness.kinds.text.attention.view import AttentionView
from trueness.stats.differentiable import jensen_shannon, total_variation

STARTS, STEPS = 24, 200
_DRAWS = 128
_KEPT = 12  # of the best candidates something begins at
_AGAIN = 4  # rounds of walks from where others have ended
_AT_A_TIME = 64
_SHORT_OF = 0.0, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7  # of the way to a candidate
_ROUGH, _FINE = 3, 30  # halvings after these: for all candidates, and for the best of them
_RATE = 0.2
_PENALTY = 1.0, 100.0  # at first and at last: a large one from the start keeps the climb where it begins
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class _Found:
    attention: Tensor
    divergence: Tensor


def best_adversary(view: AttentionView, epsilon: float, begin: Tensor | None = None, *, seed: int = 0) -> Adversary:
    """The strongest adversary where it is known exactly, else the best one found; `begin` is one within less."""
    return ascended(view, vertex_adversary(view, epsilon), epsilon, begin, seed=seed)


def ascended(
    view: AttentionView, adversary: Adversary, epsilon: float, begin: Tensor | None = None, *, seed: int = 0
) -> Adversary:
    """The adversary, or a feasible attention that diverges more; exact ones stay as they are.

    Walks over corners begin at single tokens, and at the best of many random mixtures. Where the head is not linear,
    Adam also climbs the divergence under a penalty that grows, from the adversary, from `begin`, from those mixtures,
    from the best corners, and from tokens that have little attention; walks begin where it ends. Whatever is found is
    moved towards the observed attention until it is feasible: by convexity the divergence only falls on the way, and
    the observed attention itself is feasible. It is a local search: a stronger adversary may exist, up to `upper`.
    """
    if adversary.exact or epsilon == 0 or view.mask.shape[1] < 2:
        return adversary
    generator = torch.Generator().manual_seed(seed)
    drawn = _best(view, _drawn(view, generator), epsilon)
    given = torch.stack([adversary.attention, view.attention if begin is None else begin], dim=1)
    given = torch.cat([given, drawn], dim=1)
    candidates = [given, corners(view, epsilon), corners(view, epsilon, given, rounds=_AGAIN)]
    if not view.linear:
        begins = torch.cat([given, _best(view, candidates[1], epsilon)], dim=1)
        logits = torch.cat([_little_attention(view, generator), (begins + 1e-3).log()], dim=1)
        climbed = _climb(view, logits, epsilon)
        sparse = climbed.masked_fill(climbed < _NEGLIGIBLE, 0.0)
        total = sparse.sum(dim=-1, keepdim=True)
        sparse = torch.where(total > 0, sparse / total, climbed)
        candidates += [climbed, sparse, corners(view, epsilon, _best(view, sparse, epsilon), rounds=_AGAIN)]
    found = _feasible(view, _best(view, torch.cat(candidates, dim=1), epsilon), epsilon)
    value, at = found.divergence.max(dim=-1)
    better = value > adversary.divergence
    best = found.attention[torch.arange(len(at), device=at.device), at]
    attention = torch.where(better[:, None], best, adversary.attention)
    none = torch.full_like(adversary.first, -1)
    divergence = torch.where(better, value, adversary.divergence)
    return replace(
        adversary,
        attention=attention,
        divergence=divergence,
        upper=torch.maximum(adversary.upper, divergence),
        change=total_variation(view.outputs(attention[:, None])[:, 0], view.probability),
        first=torch.where(better, none, adversary.first),
        second=torch.where(better, none, adversary.second),
    )


def _best(view: AttentionView, candidates: Tensor, epsilon: float) -> Tensor:
    """Those of the candidates that diverge most once they are made feasible, nearly."""
    parts = torch.split(candidates, _AT_A_TIME, dim=1)
    rough = torch.cat([_feasible(view, some, epsilon, _ROUGH).divergence for some in parts], dim=1)
    best = rough.topk(min(_KEPT, rough.shape[1]), dim=-1).indices
    return candidates.gather(1, best[..., None].expand(-1, -1, candidates.shape[2]))


def _drawn(view: AttentionView, generator: torch.Generator) -> Tensor:
    """(batch, many, tokens) random mixtures, of few tokens each."""
    rows, width = view.mask.shape
    weights = torch.rand(rows, _DRAWS, width, generator=generator).to(view.attention) ** 8 + 1e-12
    weights = weights * view.mask[:, None]
    return weights / weights.sum(dim=-1, keepdim=True)


def _little_attention(view: AttentionView, generator: torch.Generator) -> Tensor:
    """(batch, starts, tokens) logits."""
    rows, width = view.mask.shape
    noise = torch.randn(rows, STARTS, width, generator=generator).to(view.attention)
    spread = torch.linspace(0.0, 3.0, STARTS, device=noise.device, dtype=noise.dtype)[:, None]
    return -(view.attention + 1e-3).log()[:, None] + spread * noise


def _climb(view: AttentionView, logits: Tensor, epsilon: float) -> Tensor:
    """(batch, starts, tokens) attention."""
    hidden = ~view.mask[:, None]
    features, observed = view.features.float(), view.attention.float()[:, None]
    target = view.probability.float()[:, None]
    logits = logits.float().requires_grad_()
    optimiser = torch.optim.Adam([logits], lr=_RATE)
    first, last = _PENALTY
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS, _RATE / 20)
    with torch.enable_grad():
        for step in range(STEPS):
            attention = torch.softmax(logits.masked_fill(hidden, -torch.inf), dim=-1)
            change = total_variation(
                view.of_features(torch.einsum("bkt,btf->bkf", attention, features)).float(), target
            )
            penalty = first * (last / first) ** (step / STEPS)
            loss = (penalty * torch.relu(change - epsilon) - jensen_shannon(attention, observed)).sum()
            (logits.grad,) = torch.autograd.grad(loss, logits)
            optimiser.step()
            schedule.step()
    attention = torch.softmax(logits.detach().masked_fill(hidden, -torch.inf), dim=-1).double()
    return attention / attention.sum(dim=-1, keepdim=True)


def _feasible(view: AttentionView, candidates: Tensor, epsilon: float, halvings: int = _FINE) -> _Found:
    """Each candidate as far from the observed attention as the change of output allows, on the line between them.

    What lies between may be allowed less than what lies beyond: the farthest of some places that is allowed counts.
    """
    observed = view.attention[:, None]
    away = candidates - observed
    target = view.probability[:, None]

    def inside(share: Tensor) -> Tensor:
        return total_variation(view.outputs(observed + share[..., None] * away), target) <= epsilon

    low, high = torch.zeros_like(candidates[..., 0]), torch.ones_like(candidates[..., 0])
    for less in _SHORT_OF:
        share = torch.full_like(low, 1 - less)
        there = inside(share) & (low == 0)
        low = torch.where(there, share, low)
        high = torch.where(low == 0, share, high)
    for _ in range(halvings):
        middle = (low + high) / 2
        there = inside(middle)
        low, high = torch.where(there, middle, low), torch.where(there, high, middle)
    attention = observed + low[..., None] * away
    divergence = jensen_shannon(attention, observed)
    return _Found(attention, torch.where(inside(low), divergence, 0.0))
