"""Other models measured against a base model on the test split: twins, and the same model trained from other seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from trueness.data.batches import EncodedSplit
from trueness.data.examples import TextExample
from trueness.models.classifier import Classifier
from trueness.models.evaluation import evaluate
from trueness.models.twins import Apartness, Reference
from trueness.protocols.attefa.score import constant_change, type_ceiling


class Base:
    """A base model, looked at once on the examples by which others are measured."""

    def __init__(self, model: Classifier, examples: Sequence[TextExample]) -> None:
        self._model = model
        self.split = EncodedSplit(examples, model.coder, model.device)
        self.look = Reference.of(model.network, self.split)

    def ceiling(self) -> float | None:
        """Mean of the largest divergence that any twin can reach; None where the encoder looks at the context."""
        if self._model.network.shape.get("encoder") != "average":
            return None
        found = []
        for rows, batch in self.split.in_order(1 << 14):
            observed = self.look.attention[rows, : batch.tokens.shape[1]]
            found.append(type_ceiling(observed, batch.tokens, batch.mask).cpu().numpy())
        return float(np.concatenate(found).mean())

    def facts(self) -> dict[str, Any]:
        """What is needed to read the scores of its twins."""
        return {
            "performance": performance(evaluate(self._model.network, self.split, len(self._model.classes))),
            "constant": constant_change(self.look.probability.double().cpu().numpy()),
            "ceiling": self.ceiling(),
            "one_class": largest_share(_classes(self.look)),
            "classes": len(self._model.classes),
            "examples": len(self.split),
        }

    def measure(self, others: Sequence[tuple[Mapping[str, Any], Classifier]]) -> tuple[pd.DataFrame, pd.DataFrame]:
        """One row per other model, and one per other model and example; `others` come with what names them."""
        runs, records = [], []
        for labels, other in others:
            look = Reference.of(other.network, self.split)
            apart, predicted = Apartness.between(self.look, look), _classes(look)
            runs.append(
                {
                    **labels,
                    "performance": performance(evaluate(other.network, self.split, len(other.classes))),
                    "change": float(apart.change.mean()),
                    "divergence": float(apart.divergence.mean()),
                    "one_class": largest_share(predicted),
                }
            )
            columns = {
                "instance": np.arange(len(self.split), dtype=np.int32),
                "change": apart.change.astype(np.float32),
                "divergence": apart.divergence.astype(np.float32),
                "predicted": predicted.astype(np.int16),
            }
            records.append(pd.DataFrame({**labels, **columns}))
        return pd.DataFrame(runs), pd.concat(records, ignore_index=True)


def performance(test: Mapping[str, float]) -> float:
    """F1 of class 1 of two classes, as in the papers; macro-F1 of more."""
    return test["f1"] if "f1" in test else test["macro-f1"]


def largest_share(predicted: npt.NDArray[np.int64]) -> float:
    """Share of the class that is predicted most."""
    return float(np.bincount(predicted).max() / len(predicted))


def _classes(look: Reference) -> npt.NDArray[np.int64]:
    return np.asarray(look.probability.argmax(dim=-1).cpu().numpy())
