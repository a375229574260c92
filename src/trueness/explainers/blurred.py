"""A foil: another explainer's magnitudes spread over neighbouring tokens, so that they point less exactly."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.data.batches import Batch
from trueness.explainers.contract import TEXT_EXPLAINERS, Explainer, Facts, Target
from trueness.models.network import TextNetwork

_KERNEL = (1.0, 4.0, 6.0, 4.0, 1.0)


@dataclass(frozen=True)
class Blurred(Explainer):
    """Weighted means (1, 4, 6, 4, 1) of the magnitudes of a token and its neighbours, as far as there are any."""

    facts = Facts(signed=False)

    sharp: Explainer

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        """(batch, tokens)."""
        size = self.sharp.attribute(model, batch, target).abs()
        kernel = torch.tensor([[_KERNEL]], dtype=size.dtype, device=size.device)
        both = torch.stack([size * batch.mask, batch.mask.to(size.dtype)])[:, :, None]  # the sums, and their weights
        sums, weights = (torch.nn.functional.conv1d(one, kernel, padding=len(_KERNEL) // 2)[:, 0] for one in both)
        return torch.where(batch.mask, sums / weights.clamp(min=1e-9), 0.0)


TEXT_EXPLAINERS.add_family(
    r"blurred\[(.+)\]",
    lambda name: Blurred(TEXT_EXPLAINERS[name]),
    Blurred,
    lambda one: f"blurred[{TEXT_EXPLAINERS.name_of(one.sharp)}]",
)
