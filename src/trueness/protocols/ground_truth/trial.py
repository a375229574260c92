"""One model on planted data: did it have to use the evidence, and which explanations find it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from trueness.data.inputs import Split
from trueness.explainers.contract import Explainer
from trueness.models.network import Network, check_outputs, inspecting
from trueness.protocols.agreement.explaining import Explained, explain_all
from trueness.protocols.ground_truth.summary import LEVEL
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


def needed(network: Network, split: Split, bound: float) -> dict[str, Any]:
    """`usage` of a model on a whole split."""
    right = predictions(network, split) == split.labels.cpu().numpy()
    return usage(int(right.sum()), len(split), bound)


def detect(
    network: Network, split: Split, methods: Mapping[str, Explainer], evidence: Bools, decoys: Bools | None = None
) -> tuple[pd.DataFrame, Explained]:
    """What every method says of the examples, and how well that finds the evidence (examples, units) and the decoys.

    Methods that the model cannot support are left out, and named among what is explained.
    """
    found = explain_all(network, split, methods, refuse=False)
    gold = split.labels.cpu().numpy()
    decoys = np.zeros_like(evidence) if decoys is None else decoys
    return measured(found, evidence, decoys, predictions(network, split), gold), found


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
    """One row per explainer and example: how well its scores find the evidence (examples, units), and the decoys."""
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
