"""One model of planted texts: did it have to use the evidence, and which explanations find it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from trueness.data.dataset import drawn
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.evidence import marks_of
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.classifier import Classifier
from trueness.protocols.ground_truth.summary import PLANTED
from trueness.protocols.ground_truth.trial import detect, needed, predictions


def trial(
    model: Classifier,
    test: Sequence[TextExample],
    explainers: Sequence[str],
    *,
    bound: float,
    instances: int,
    shown: int = 0,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """One row per explainer and instance, and what is known of the model: its usage of the evidence, and refusals.

    Usage is tested on the whole test split; some instances, drawn evenly from its classes, are explained, and the first
    few of them are `shown`: kept with their words.
    """
    facts = {**needed(model.network, model.coded(test), bound), "refused": {}}
    if not facts["proven"]:
        return pd.DataFrame(), facts
    rows = drawn([example.label for example in test], instances)
    examples = [test[row] for row in rows]
    split, methods = model.coded(examples), {name: TEXT_EXPLAINERS[name] for name in explainers}
    width = int(split.sizes.max())
    evidence, decoys = (marks_of(model.coder, examples, which, width) for which in ("evidence", "decoys"))
    records, found = detect(model.network, split, methods, evidence, decoys)
    facts["refused"] = found.refused
    predicted = predictions(model.network, model.coded(examples[:shown])).tolist() if shown else []
    facts["shown"] = [
        {
            "instance": row,
            "words": model.words_of(examples[row]),
            "predicted": int(said),
            "gold": examples[row].label,
            "rows": {
                PLANTED: (evidence[row] * 1.0 - decoys[row])[found.mask[row]].tolist(),
                **{name: scores[row][found.mask[row]].tolist() for name, scores in found.scores.items()},
            },
        }
        for row, said in enumerate(predicted)
    ]
    return records, facts
