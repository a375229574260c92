"""What is compared with explanations: chance, and explanations whose scores are spread over neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.models.network import Network

_KERNEL = (1.0, 4.0, 6.0, 4.0, 1.0)


@dataclass(frozen=True)
class Random(Explainer):
    """Uniform scores in [-1, 1], from a seed and the example: what knows nothing of the model.

    An example gets the same scores in any batch, so that masks made from them are nested and comparisons are paired.
    """

    facts = Facts(random=True)

    seed: int = 0

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        width = batch.mask.shape[1]
        rows = [torch.rand(width, generator=generator) * 2 - 1 for generator in batch.generators(self.seed)]
        return torch.stack(rows).to(batch.labels.device) * batch.mask


@dataclass(frozen=True)
class Blurred(Explainer):
    """Weighted means (1, 4, 6, 4, 1) of the magnitudes of a unit and its neighbours, as far as there are any.

    A foil: it points less exactly than the explainer it is made from. Pixels have neighbours in their row and column.
    """

    facts = Facts(signed=False)

    sharp: Explainer

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        if not batch.grid:
            raise Unsupported("blurred needs units with neighbours; these have none.")
        size = self.sharp.attribute(model, batch, target).abs()
        sums, weights = size * batch.mask, batch.mask.to(size.dtype)
        for axis in range(len(batch.grid)):
            sums, weights = (_along(one, batch.grid, axis) for one in (sums, weights))
        return torch.where(batch.mask, sums / weights.clamp(min=1e-9), 0.0)


def _along(values: Tensor, grid: tuple[int, ...], axis: int) -> Tensor:
    """(examples, units) sums of neighbours along one axis of their grid, weighted by the kernel."""
    lines, reach = values.view(len(values), *grid).movedim(axis + 1, -1), len(_KERNEL) // 2
    padded = torch.nn.functional.pad(lines, (reach, reach))
    # A convolution of so few numbers takes a library milliseconds to choose how, for every shape anew.
    parts = [weight * padded[..., place : place + grid[axis]] for place, weight in enumerate(_KERNEL)]
    return sum(parts[1:], parts[0]).movedim(-1, axis + 1).flatten(1)
