"""Take one unit away at a time and read again, together with the whole prompt: what they share is computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.explainers.contract import Facts, Target
from trueness.explainers.leave_one_out import HideOne
from trueness.explainers.outputs import target_class
from trueness.models.network import Network, inspecting
from trueness.models.packing import in_batches


@dataclass(frozen=True)
class LeaveOneOut(HideOne):
    """The target's log-likelihood with a unit minus that without it: positive where it speaks for the target.

    Where answers are compared it is the change of their difference. Probabilities near 1 hardly change; these do.
    """

    facts = Facts(machinery=("masking",))

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        with inspecting(model):
            logits = self.logits(model, batch)
            chosen = target_class(logits[:, -1], batch, target)
            return self.measure(logits[:, -1:] - logits[:, :-1], chosen) * batch.mask

    def logits(self, model: Network, batch: Batch) -> Tensor:
        """(prompts, units + 1, classes): without each unit, then of the whole prompt."""
        mask = batch.mask
        whole = torch.ones_like(mask[:, :1])
        row, unit = torch.cat([mask, whole], dim=1).nonzero(as_tuple=True)
        result = torch.zeros(len(mask), mask.shape[1] + 1, model.classes, dtype=model.dtype, device=mask.device)

        def work(numbers: Tensor, copies: Any) -> Tensor:
            where = torch.nn.functional.one_hot(unit[numbers], mask.shape[1] + 1).bool()
            return model.logits(copies.hide(where[:, : copies.mask.shape[1]]))

        for numbers, found in in_batches(model, batch, row, work, max_bytes=self.max_bytes):
            result[row[numbers], unit[numbers]] = found.to(result)
        return result
