"""One model on planted data: did it have to use the evidence, and which explanations find it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from trueness.data.dataset import drawn
from trueness.data.inputs import Split
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.coding import Coder
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.classifier import Classifier
from trueness.models.network import Network, check_outputs, inspecting
from trueness.protocols.agreement.explaining import Explained, explain_all
from trueness.protocols.ground_truth.summary import LEVEL, PLANTED
from trueness.stats import attribution_share, detection_auc, mean_rank, precision_at
from trueness.stats.undefined import Bools


def usage(right: int, n: int, bound: float) -> dict[str, Any]:
    """The test of section 4 whether a model had to use the evidence: is it `proven`?

    `bound` is the accuracy that a model blind to the evidence has at best, in expectation; `p_value` that of so high an
    accuracy without the evidence (exact binomial); at least `least_share` of the examples were decided by it.
    """
    from scipy.stats import binomtest

    accuracy = right / n
    p_value = float(binomtest(right, n, bound, alternative="greater").pvalue) if bound < 1 else 1.0
    least = max(0.0, (accuracy - bound) / (1 - bound)) if bound < 1 else 0.0
    known = {"accuracy": accuracy, "bound": bound, "n": n, "p_value": p_value, "least_share": least}
    return {**known, "proven": p_value < LEVEL}


def marks_of(coder: Coder, examples: Sequence[TextExample], which: str, width: int) -> Bools:
    """(examples, width) marks of words as marks of a model's tokens; a marked word marks all of its parts."""
    found = np.zeros((len(examples), width), dtype=bool)
    for row, example in enumerate(examples):
        marks = getattr(example, which)
        if marks is None:
            continue
        words = coder.code(example).words
        places = [-1, *range(len(marks))] if words is None else words
        for place, word in enumerate(places):
            found[row, place] = word >= 0 and marks[word]
    return found


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
    network, coder = model.network, model.coder
    predicted = predictions(network, EncodedSplit(test, coder, model.device))
    gold = np.array([example.label for example in test])
    facts = {**usage(int((predicted == gold).sum()), len(test), bound), "refused": {}}
    if not facts["proven"]:
        return pd.DataFrame(), facts
    chosen = drawn(gold.tolist(), instances)
    examples, predicted, gold = [test[row] for row in chosen], predicted[chosen], gold[chosen]
    methods = {name: TEXT_EXPLAINERS[name] for name in explainers}
    found = explain_all(network, EncodedSplit(examples, coder, model.device), methods, refuse=False)
    facts["refused"] = found.refused
    evidence, decoys = (marks_of(coder, examples, which, found.mask.shape[1]) for which in ("evidence", "decoys"))
    facts["shown"] = [
        {
            "instance": row,
            "words": model.words_of(examples[row]),
            "predicted": int(predicted[row]),
            "gold": int(gold[row]),
            "rows": {
                PLANTED: (evidence[row] * 1.0 - decoys[row])[found.mask[row]].tolist(),
                **{name: scores[row][found.mask[row]].tolist() for name, scores in found.scores.items()},
            },
        }
        for row in range(min(shown, len(examples)))
    ]
    return measured(found, evidence, decoys, predicted, gold), facts


def predictions(network: Network, split: Split) -> npt.NDArray[np.intp]:
    """(examples,) the classes that a network gives."""
    predicted = np.zeros(len(split), dtype=np.intp)
    with inspecting(network):
        for rows, batch in split.in_order():
            predicted[rows] = check_outputs(network, network(batch).logits).argmax(dim=-1).cpu().numpy()
    return predicted


def measured(
    found: Explained,
    evidence: Bools,
    decoys: Bools,
    predicted: npt.NDArray[np.intp],
    gold: npt.NDArray[np.intp],
) -> pd.DataFrame:
    """One row per explainer and example: how well its scores find the evidence (examples, places), and the decoys."""
    sizes = found.mask.sum(axis=1)
    frames = []
    for name, scores in found.scores.items():
        measures = {
            "attribution share": attribution_share(scores, evidence, found.mask),
            "AUROC": detection_auc(scores, evidence, found.mask),
            "precision": precision_at(scores, evidence, found.mask),
            "top token": precision_at(scores, evidence, found.mask, k=1),
            "mean rank": mean_rank(scores, evidence, found.mask),
            "decoy share": attribution_share(scores, decoys, found.mask),
        }
        columns = {key: values.values.filled(np.nan) for key, values in measures.items()}
        if name == "rationale":
            marked = (evidence & found.mask).sum(axis=1)
            columns["selected"] = (scores > 0).sum(axis=1) / np.maximum(sizes, 1)
            columns["recall"] = ((scores > 0) & evidence).sum(axis=1) / np.where(marked > 0, marked, np.nan)
        about = {
            "instance": np.arange(len(gold)),
            "method": name,
            "label": gold,
            "right": predicted == gold,
            "words": sizes,
            "evidence size": (evidence & found.mask).sum(axis=1) / np.maximum(sizes, 1),
            "decoy size": (decoys & found.mask).sum(axis=1) / np.maximum(sizes, 1),
        }
        frames.append(pd.DataFrame({**about, **columns}))
    return pd.concat(frames, ignore_index=True)
