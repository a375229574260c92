"""The published search for adversarial attention (Jain and Wallace 2019, Algorithm 3): descent from k starts.

It is here to reproduce the paper and as a peer of the exact solution in `adversary`, which it cannot exceed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from trueness.kinds.text.attention.adversary import Adversary
from trueness.kinds.text.attention.view import AttentionView
from trueness.stats.differentiable import jensen_shannon, total_variation


@dataclass(frozen=True)
class Search:
    """How the search is done.

    `form="code"` is what produced the published numbers: the penalty is not divided by k, the change of output is the
    sum of |differences| over the model's outputs (for more than two classes twice the total variation), the diversity
    is the mean over all k x k pairs, and epsilon is 0.01 for every task. `form="text"` is the paper's relaxed objective
    with the sign of its penalty mended.
    """

    form: Literal["code", "text"] = "code"
    candidates: int = 5
    steps: int = 500
    learning_rate: float = 0.01
    penalty: float = 500.0
    epsilon: float = 0.01
    noise: float = 3.0
    """Standard deviation of the first candidates' logits."""


@dataclass(frozen=True)
class Found:
    """What a search leaves: (batch, candidates) divergences and changes of output, and the candidates themselves."""

    divergence: Tensor
    change: Tensor
    attention: Tensor

    def best(self, epsilon: float) -> tuple[Tensor, Tensor]:
        """Per instance the largest divergence within epsilon (0, the observed attention, where none is), and which."""
        value, at = self.divergence.masked_fill(self.change > epsilon, -1.0).max(dim=-1)
        return value.clamp(min=0.0), torch.where(value > 0, at, -1)


def search(view: AttentionView, how: Search, *, seed: int = 0) -> Found:
    """Search adversarial attention for every instance; the noise it starts from is fixed by the seed."""
    rows, width = view.mask.shape
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(rows, how.candidates, width, generator=generator).to(view.mask.device)
    features, observed = view.features.float(), view.attention.float()[:, None]
    target = view.probability.float()[:, None]
    hidden = ~view.mask[:, None]
    logits = (how.noise * noise - view.mask.sum(dim=-1).float().log()[:, None, None]).requires_grad_()
    optimiser = torch.optim.Adam([logits], lr=how.learning_rate, amsgrad=True)
    with torch.enable_grad():
        for _ in range(how.steps):
            attention = torch.softmax(logits.masked_fill(hidden, -torch.inf), dim=-1)
            mixed = torch.einsum("bkt,btf->bkf", attention, features)
            change = total_variation(view.of_features(mixed).float(), target)
            loss = _loss(how, attention, observed, change, view.classes)
            (logits.grad,) = torch.autograd.grad(loss, logits)  # the model's own parameters gather no gradient
            optimiser.step()
    attention = torch.softmax(logits.detach().masked_fill(hidden, -torch.inf), dim=-1).double()
    attention = attention / attention.sum(dim=-1, keepdim=True)
    return Found(
        jensen_shannon(attention, view.attention[:, None]),
        total_variation(view.outputs(attention), view.probability[:, None]),
        attention,
    )


def _loss(how: Search, attention: Tensor, observed: Tensor, change: Tensor, classes: int) -> Tensor:
    """The objective, to be minimised, summed over instances: they share nothing, so each is optimised on its own."""
    k = how.candidates
    apart = jensen_shannon(attention[:, :, None], attention[:, None])
    if how.form == "code":
        # Two classes come from one output there; of more, all differences are summed.
        moved = change if classes == 2 else 2 * change
        diversity, penalty = apart.mean(dim=(1, 2)).sum(), how.penalty
    else:
        moved = change
        diversity, penalty = apart.sum() / 2 / (k * (k - 1)), how.penalty / k
    divergence = jensen_shannon(attention, observed)
    return (penalty * torch.relu(moved - how.epsilon) - divergence).sum() - diversity


def improved(adversary: Adversary, found: Found, epsilon: float) -> Adversary:
    """The adversary, or where it is not exact and the search found a stronger one, that."""
    if adversary.exact:
        return adversary
    value, at = found.best(epsilon)
    better = value > adversary.divergence
    rows = torch.arange(len(at), device=at.device)
    best = at.clamp(min=0)
    none = torch.full_like(adversary.first, -1)
    return replace(
        adversary,
        attention=torch.where(better[:, None], found.attention[rows, best], adversary.attention),
        divergence=torch.where(better, value, adversary.divergence),
        upper=torch.maximum(adversary.upper, value),
        change=torch.where(better, found.change[rows, best], adversary.change),
        first=torch.where(better, none, adversary.first),
        second=torch.where(better, none, adversary.second),
    )
