"""Other models measured against a base model: twins, the same model trained from other seeds, or one of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models.attentive import attentive
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.twins import Apartness, Reference
from trueness.models.evaluation import evaluate
from trueness.protocols.attefa.cell import WHOLE
from trueness.protocols.attefa.score import ONE_CLASS, SATURATED, attefa, constant_change, type_ceiling
from trueness.protocols.attefa.summary import ATTEFA
from trueness.protocols.result import Abstention, Result, ResultWarning
from trueness.protocols.scoring import Cell, Quantity
from trueness.stats import Interval, Reason, Undefined, t_interval
from trueness.stats.divergence import LN2

_CHANGE = Quantity("change of prediction (total variation)", null=0.0)
_DIVERGENCE = Quantity("divergence of attention (Jensen-Shannon)", null=0.0)


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


def health(base: Mapping[str, Any], divergence: float, largest: float) -> list[ResultWarning]:
    """Reasons not to read the score of one twin: it has collapsed, or its divergence is as large as can be.

    `base` are the facts of the base model, `largest` is the share of the class that the twin predicts most.
    """
    found = {}
    ceiling, share = base["ceiling"], base["one_class"]
    if largest > ONE_CLASS and share <= ONE_CLASS:
        found["collapsed-twin"] = (
            f"the twin predicts one class for {largest:.0%} of the examples (the base model: {share:.0%}): it has "
            "collapsed, and its score says nothing about attention"
        )
    most = LN2 if ceiling is None else ceiling
    if most > 0 and divergence > SATURATED * most:
        found["divergence-saturated"] = (
            f"the divergence is {divergence:.3f} of at most {most:.3f}: the score is the change of prediction rescaled"
        )
    if ceiling is not None and ceiling < SATURATED * LN2:
        found["unreachable-ceiling"] = (
            f"no twin can diverge by more than {ceiling:.3f}, less than the ln 2 by which the score divides"
        )
    return [ResultWarning(code=code, where="the other model", message=message) for code, message in found.items()]


def attefa_of(base: Classifier, other: Classifier, examples: Sequence[TextExample]) -> Result:
    """How far `other` is apart from `base` on examples, and the AtteFa score of the base model that this shows.

    One record per example. The score is what one other model shows: an adversarially trained one may show less.
    """
    if base.classes != other.classes:
        raise ValueError(f"the models have different classes: {base.classes} and {other.classes}")
    attentive(base.network)
    first = Base(base, examples)
    second = Reference.of(attentive(other.network), EncodedSplit(examples, other.coder, other.device))
    apart = Apartness.between(
        first.look, Reference(second.probability.to(base.device), second.attention.to(base.device))
    )
    facts = first.facts()
    predicted = [_classes(look) for look in (first.look, second)]
    change, divergence = float(apart.change.mean()), float(apart.divergence.mean())
    records = pd.DataFrame(
        {
            "instance": np.arange(len(examples)),
            "change": apart.change,
            "divergence": apart.divergence,
            "base": [base.classes[number] for number in predicted[0]],
            "other": [base.classes[number] for number in predicted[1]],
        }
    )
    score = attefa(change, divergence)
    cell, method = Cell(f"{len(examples)} examples", "base model", target=WHOLE), "the other model"
    scores = [
        *_CHANGE.score(cell, method, t_interval(apart.change), best=facts["constant"]),
        *_DIVERGENCE.score(cell, method, t_interval(apart.divergence), best=facts["ceiling"] or LN2),
    ]
    missing = []
    if isinstance(score, Undefined):
        missing.append(Abstention(quantity="AtteFa", where="both models", reason=score.reason.value))
    else:
        nothing = Undefined(Reason.NOT_A_MEAN)
        scores += ATTEFA.score(cell, method, Interval(score, nothing, nothing, len(examples), len(examples), 0.95))
    warnings = health(facts, divergence, largest_share(predicted[1]))
    note = "it bounds how freely attention can be moved; it does not measure the faithfulness of the base model"
    warnings.append(ResultWarning(code="another-model", where="AtteFa", message=note))
    return Result(records, tuple(scores), tuple(warnings), tuple(missing))
