"""Two models of one's own: do they predict the same while attending elsewhere?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from trueness.data.batches import EncodedSplit
from trueness.data.examples import TextExample
from trueness.models.attentive import attentive
from trueness.models.classifier import Classifier
from trueness.models.twins import Apartness, Reference
from trueness.protocols.attefa.cell import WHOLE
from trueness.protocols.attefa.comparisons import Base
from trueness.protocols.attefa.score import attefa, health
from trueness.protocols.attefa.summary import ATTEFA
from trueness.protocols.result import Abstention, Result, ResultWarning
from trueness.protocols.scoring import Cell, Quantity
from trueness.stats import Interval, Reason, Undefined, t_interval
from trueness.stats.divergence import LN2

CHANGE = Quantity("change of prediction (total variation)", null=0.0)
DIVERGENCE = Quantity("divergence of attention (Jensen-Shannon)", null=0.0)


def compare_attention(base: Classifier, other: Classifier, examples: Sequence[TextExample]) -> Result:
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
    predicted = [look.probability.argmax(dim=-1).cpu().numpy() for look in (first.look, second)]
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
        *CHANGE.score(cell, method, t_interval(apart.change), best=facts["constant"]),
        *DIVERGENCE.score(cell, method, t_interval(apart.divergence), best=facts["ceiling"] or LN2),
    ]
    missing = []
    if isinstance(score, Undefined):
        missing.append(Abstention(quantity="AtteFa", where="both models", reason=score.reason.value))
    else:
        nothing = Undefined(Reason.NOT_A_MEAN)
        scores += ATTEFA.score(cell, method, Interval(score, nothing, nothing, len(examples), len(examples), 0.95))
    warnings = health("the other model", apart, predicted[1], ceiling=facts["ceiling"], base_share=facts["one_class"])
    note = "it bounds how freely attention can be moved; it does not measure the faithfulness of the base model"
    warnings.append(ResultWarning(code="another-model", where="AtteFa", message=note))
    return Result(records, tuple(scores), tuple(warnings), tuple(missing))
