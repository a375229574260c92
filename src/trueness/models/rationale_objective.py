"""What rationale models minimise: the error of the classifier, and a rate of selection that is off its target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from torch import Tensor, nn

from trueness.data.batches import Batch
from trueness.models.cuda_graphs import Together
from trueness.models.network import Prediction

Method = Literal["reinforce", "hardkuma"]


class RationaleObjective(Together):
    """Cross-entropy, and `weight` times the distance of the rate of selection from its target.

    The rate is that of a whole batch (Zhou et al. 2022); with `by_text` it is what the code behind their numbers has:
    of each text (reinforce), or the mean over texts (hardkuma). REINFORCE learns the selector by the cost of its draw
    times the gradient of the draw's log-probability; what the rest of the batch costs is taken off, but for `by_text`.
    """

    def __init__(self, method: Method, target: float, weight: float = 1.0, *, by_text: bool = False) -> None:
        self.method, self.target, self.weight, self.by_text = method, target, weight, by_text
        self._targets: Tensor | None = None

    def __call__(self, prediction: Prediction, batch: Batch, index: Tensor) -> Tensor:  # noqa: ARG002  # the contract
        """One loss per example."""
        logits, chosen, states = prediction.logits[None], prediction.attention[None], prediction.states[None]
        one = Prediction(logits, chosen, states, tuple(part[None] for part in prediction.more))
        return self._losses(one, batch.labels[None], batch.mask[None], self.target)[0]

    def alike(self, other: RationaleObjective) -> bool:
        """Targets may differ."""
        return (other.method, other.weight, other.by_text) == (self.method, self.weight, self.by_text)

    def together(self, others: Sequence[Any], prediction: Prediction, batch: Batch, index: Tensor) -> Tensor:  # noqa: ARG002
        """(models, batch)."""
        if self._targets is None:  # not while a step is recorded: that would be a copy from the host
            self._targets = prediction.logits.new_tensor([[other.target] for other in others])
        return self._losses(prediction, batch.labels, batch.mask, self._targets)

    def _losses(self, prediction: Prediction, labels: Tensor, mask: Tensor, target: Tensor | float) -> Tensor:
        """(models, batch): all tensors have the models as their first dimension."""
        rate, log_chance = prediction.more
        error = nn.functional.cross_entropy(
            prediction.logits.flatten(0, 1), labels.flatten(), reduction="none"
        ).view_as(labels)
        drawn = self.method == "reinforce"
        amount, sizes = (prediction.attention if drawn else rate).sum(dim=-1), mask.sum(dim=-1).clamp(min=1)
        if self.by_text:
            shares = amount / sizes
            apart = ((shares if drawn else shares.mean(dim=-1, keepdim=True)) - target).abs()
        else:
            apart = (amount.sum(dim=-1, keepdim=True) / sizes.sum(dim=-1, keepdim=True) - target).abs()
        penalty = (self.weight * apart).expand_as(error)
        if not drawn:
            return error + penalty
        if self.by_text:
            return error + (error + penalty).detach() * log_chance
        # The penalty depends on the draws of all texts; what the others have by themselves is a text's baseline.
        count = error.shape[-1]
        others = self.weight * (_without(amount) / _without(sizes).clamp(min=1) - target).abs()
        costs = error - _without(error) / max(count - 1, 1) + count * (penalty - others)
        return error + costs.detach() * log_chance


def _without(values: Tensor) -> Tensor:
    """(models, batch): the sum of all others in the batch."""
    return values.sum(dim=-1, keepdim=True) - values
