"""Hide one unit at a time and look again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.outputs import target_class
from trueness.models.network import Network, inspecting
from trueness.models.packing import in_batches, logits_of


@dataclass(frozen=True)
class HideOne(Explainer):
    """The target's probability with a unit minus that with it hidden: positive where it speaks for the target."""

    facts = Facts(machinery=("masking",))

    max_bytes: int | None = field(default=None, kw_only=True)
    """Bound of what a batch of copies, each without one unit, takes."""

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        with inspecting(model):
            logits = self.logits(model, batch)
            said = torch.softmax(logits, dim=-1)
            chosen = target_class(logits[:, -1], batch, target)
            return self.measure(said[:, -1:] - said[:, :-1], chosen) * batch.mask

    def measure(self, change: Tensor, chosen: Tensor) -> Tensor:
        """(examples, units) from the change of every class's probability (examples, units, classes)."""
        return change.gather(2, chosen[:, None, None].expand(-1, change.shape[1], 1))[..., 0]

    def logits(self, model: Network, batch: Batch) -> Tensor:
        """(examples, units + 1, classes): without each unit, then of the whole example."""
        mask = batch.mask
        row, unit = mask.nonzero(as_tuple=True)
        result = torch.zeros(len(mask), mask.shape[1] + 1, model.classes, dtype=model.dtype, device=mask.device)
        result[:, -1] = logits_of(model, batch, self.max_bytes)

        def work(numbers: Tensor, copies: Any) -> Tensor:
            return model.logits(self.without(copies, unit[numbers]))

        for numbers, found in in_batches(model, batch, row, work, max_bytes=self.max_bytes):
            result[row[numbers], unit[numbers]] = found.to(result)
        return result

    def without(self, batch: Any, unit: Tensor) -> Any:
        """Each example without the unit of that number."""
        return batch.hide(torch.nn.functional.one_hot(unit, batch.mask.shape[1]).bool())
