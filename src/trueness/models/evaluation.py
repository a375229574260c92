"""How well a classifier does on a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from trueness.data.inputs import Split as AnySplit
from trueness.models.network import Network, check_outputs, inspecting
from trueness.stats import Undefined
from trueness.stats.classification import accuracy, macro_f1, roc_auc


@dataclass(frozen=True)
class Evaluation:
    """Measures a network on a split; a stack measures all of its models at once."""

    split: Any
    classes: int

    def __call__(self, network: Network) -> dict[str, float]:
        """See `evaluate`."""
        return evaluate(network, self.split, self.classes)


def predict(network: Network, split: AnySplit) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Logits (examples, classes), all of them finite, and gold labels, in the order of the split."""
    logits = torch.zeros(len(split), network.classes, device=split.device)
    with inspecting(network):
        for rows, batch in split.in_order(tokens_at_once(network, split)):
            logits[torch.from_numpy(rows).to(split.device)] = network(batch).logits.float()
    return check_outputs(network, logits).double().cpu().numpy(), split.labels.cpu().numpy()


def tokens_at_once(network: Any, split: AnySplit) -> int:
    """Units of a batch that is only looked at: about 4 GiB, and no more than keep any device busy."""
    numbers = network.numbers_per_token(int(split.sizes.max(initial=1)))
    return int(min(getattr(network, "units_at_once", 1 << 17), (1 << 30) // numbers))


def evaluate(network: Network, split: AnySplit, classes: int) -> dict[str, float]:
    """Mean cross-entropy, accuracy, macro-F1, and for two classes AUC and F1 of class 1; none where undefined."""
    return measures(*predict(network, split), classes)


def measures(logits: npt.NDArray[np.float64], gold: npt.NDArray[np.int64], classes: int) -> dict[str, float]:
    """The same from logits (examples, classes) and gold labels."""
    predicted = logits.argmax(axis=1)
    shifted = logits - logits.max(axis=1, keepdims=True)
    loss = float((np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(gold)), gold]).mean())
    measured: dict[str, float | Undefined] = {
        "loss": loss,
        "accuracy": accuracy(predicted, gold),
        "macro-f1": macro_f1(predicted, gold, classes),
    }
    if classes == 2:
        measured["auc"] = roc_auc(logits[:, 1] - logits[:, 0], gold == 1)
        hits = int(((predicted == 1) & (gold == 1)).sum())
        total = int((predicted == 1).sum() + (gold == 1).sum())
        measured["f1"] = 2 * hits / total if total else 0.0
    return {name: value for name, value in measured.items() if not isinstance(value, Undefined)}
