"""LIME and occlusion whose groups are units, and ContextCite's sparse regression."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.explainers import masked_copies
from trueness.explainers.contract import Facts
from trueness.explainers.masking import MaskingExplainer
from trueness.explainers.outputs import Output

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lime(masked_copies.Lime):
    """The same whose score is that of a whole unit, however many tokens it has."""

    shared = True


@dataclass(frozen=True)
class Occlusion(masked_copies.Occlusion):
    """The same whose score is that of a whole unit, however many tokens it has."""

    shared = True


@dataclass(frozen=True)
class ContextCite(MaskingExplainer):
    """ContextCite (Cohen-Wang et al. 2024): a sparse regression on random ablations, signed.

    Each unit is kept with probability one half. A lasso says how much each one that is kept adds to the target's
    log-likelihood. Its penalty `alpha` holds for outputs and units that are standardised, so that it has no unit.
    """

    facts = Facts(random=True, machinery=("masking",))
    ends = False
    shared = True
    enough = "more ablations than a few"

    n_samples: int = 64
    alpha: float = 0.01
    output: Output = "logit"

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Each unit kept or not, by a fair coin."""
        return torch.rand(self.n_samples, count, generator=generator) < 0.5

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:  # noqa: ARG002
        """(prompts, units) the lasso's coefficients."""
        scores = np.zeros((len(keep), keep.shape[-1]))
        masks, outputs = keep.double().cpu().numpy(), said.double().cpu().numpy()
        for row, count in enumerate(counts.int().tolist()):
            if count:
                scores[row, :count] = sparse(masks[row, :, :count], outputs[row], self.alpha)
        return torch.from_numpy(scores).to(said)


def sparse(keep: Doubles, said: Doubles, alpha: float) -> Doubles:
    """(units,) coefficients of a lasso of outputs (ablations,) on what is kept (ablations, units), standardised."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    spread, scale = keep.std(axis=0), float(said.std())
    if scale < 1e-12:
        return np.zeros(keep.shape[1])
    used = spread > 0
    columns = (keep[:, used] - keep[:, used].mean(axis=0)) / spread[used]
    found = np.zeros(keep.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = Lasso(alpha=alpha, max_iter=5000).fit(columns, (said - said.mean()) / scale)
    found[used] = fitted.coef_ * scale / spread[used]
    return found
