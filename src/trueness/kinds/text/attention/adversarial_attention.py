"""Adversarial attention of texts of one's own, as a result: the strongest where it is known, else the best found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from trueness.kinds.text.attention.ascent import best_adversary
from trueness.kinds.text.attention.search import Search, improved, search
from trueness.kinds.text.attention.summary import SATURATED
from trueness.kinds.text.attention.view import AttentionView
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models.attentive import attentive
from trueness.kinds.text.models.classifier import Classifier
from trueness.models.network import inspecting
from trueness.protocols.result import Abstention, Result, ResultWarning
from trueness.protocols.scoring import Cell, Quantity
from trueness.stats import t_interval

QUANTITIES = {
    "divergence": Quantity("largest divergence within epsilon", "lower is better", best=0.0),
    "deciding": Quantity("words that could carry the decision alone"),
    "alone": Quantity("words that alone give the same output"),
}


def adversarial_attention(model: Classifier, examples: Sequence[TextExample], epsilon: float = 0.01) -> Result:
    """For each example the attention that differs most while the output changes by at most epsilon.

    One record per example, with both attentions over its words and a certificate: all weight on one word, or on two.
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon must lie between 0 and 1, not {epsilon}")
    records = _records(model, examples, epsilon)
    exact = bool(records["exact"].all())
    method = "exact" if exact else "best found"
    cell = Cell(f"{len(records)} examples", "the model")
    scores = [
        score
        for column, quantity in QUANTITIES.items()
        for score in quantity.score(cell, method, t_interval(records[column]))
    ]
    where = f"epsilon {epsilon:g}"
    saturated = float((records["divergence"] > SATURATED).mean()) if len(records) else 0.0
    warnings = []
    if saturated > 0.5:
        message = f"the divergence exceeds {SATURATED} (of at most {np.log(2):.3f}) in {saturated:.0%} of the examples"
        warnings.append(ResultWarning(code="divergence-saturated", where=where, message=message))
    gap = float((records["upper"] - records["divergence"]).mean()) if len(records) else 0.0
    reason = (
        "known exactly for two classes and a linear head only; the best found and `upper` are an interval, "
        f"{gap:.3f} wide in the mean"
    )
    missing = [] if exact else [Abstention(quantity="strongest adversary", where=where, reason=reason)]
    return Result(records, tuple(scores), tuple(warnings), tuple(missing))


def _records(model: Classifier, examples: Sequence[TextExample], epsilon: float) -> pd.DataFrame:
    network, batch = attentive(model.network), model.batch(examples)
    with inspecting(network):
        view = AttentionView(network, batch)
        found = best_adversary(view, epsilon)
        if not found.exact:
            found = improved(found, search(view, Search("text", epsilon=epsilon)), epsilon)
        after = view.outputs(found.attention[:, None])[:, 0]
    rows = []
    for row, example in enumerate(examples):
        inside = slice(1, len(example.tokens) + 1)  # after the begin marker
        predicted = int(view.probability[row].argmax())
        known_words = zip(example.tokens, model.known(example), strict=True)
        first, second = (max(int(position[row]) - 1, -1) for position in (found.first, found.second))
        rows.append(
            {
                "words": list(example.tokens),
                "other": " ".join(example.tokens_b or ()),
                "attention": view.attention[row, inside].tolist(),
                "adversarial": found.attention[row, inside].tolist(),
                "predicted": model.classes[predicted],
                "probability": float(view.probability[row, predicted]),
                "probability_after": float(after[row, predicted]),
                "change": float(found.change[row]),
                "divergence": float(found.divergence[row]),
                "upper": float(found.upper[row]),
                "exact": found.exact,
                "deciding": int(found.deciding[row]),
                "alone": int(found.alone[row]),
                "first": example.tokens[first] if first >= 0 else None,
                "second": example.tokens[second] if second >= 0 else None,
                "first_position": first,
                "second_position": second,
                "weight": float(found.weight[row]),
                "unknown": [word for word, known in known_words if not known],
                "note": model.unusual(example),
            }
        )
    return pd.DataFrame(rows)
