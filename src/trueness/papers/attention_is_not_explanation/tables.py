"""Table 2 of Jain and Wallace 2019."""

from __future__ import annotations

from typing import Any

from trueness.protocols.result import Result
from trueness.report.table import NOTHING, Table
from trueness.studies.kinds import Published

_GROUPS = (
    ("Gradient (BiLSTM)", "bilstm-additive", "attention, gradient@jw2019", "attention, full-gradient"),
    ("Gradient (Average)", "average-additive", "attention, gradient@jw2019", "attention, full-gradient"),
    ("Leave-One-Out (BiLSTM)", "bilstm-additive", "attention, leave-one-out@jw2019", None),
)


_QUANTITIES = ("Kendall tau", "deviation of Kendall tau", "share significant")


def tables(result: Result, published: Published) -> list[Table]:
    """The table, ours beside the published values."""
    ours = {(score.quantity, score.dataset, score.model, score.method): score for score in result.scores}
    header = ["dataset", "class"]
    for title, _, _, corrected in _GROUPS:
        header += [f"{title}: paper", "second run", "ours, as published", *(["ours, corrected"] if corrected else [])]
    rows = []
    for dataset, of in _cells(result):
        row = [dataset, of.removeprefix(", predicted class ") or "overall"]
        for _, model, pair, corrected in _GROUPS:
            facts = [published.get((f"{name}{of}", dataset, model, pair), {}) for name in _QUANTITIES]
            row += [_written([fact.get(which) for fact in facts]) for which in ("published", "second_run")]
            for method in filter(None, (pair, corrected)):
                scores = [ours.get((f"{name}{of}", dataset, model, method)) for name in _QUANTITIES]
                row.append(_written([score and score.value for score in scores]))
        rows.append(tuple(row))
    caption = (
        "Mean ± standard deviation over instances of Kendall's tau with attention, and in brackets the share with "
        "p ≤ 0.05; ours are averages over seeds. As published: the gradient of the probability with attention held "
        "constant. Corrected: it also flows through attention. The second run is what the authors left in "
        "their repository after the paper."
    )
    title = "Table 2: attention against gradients and leave-one-out"
    return [Table("table-2", title, caption, tuple(header), tuple(rows))]


def _cells(result: Result) -> list[tuple[str, str]]:
    """Dataset and class of every row: by predicted class where there are few classes, else overall."""
    found = dict.fromkeys(
        (score.dataset, score.quantity.removeprefix("Kendall tau"))
        for score in result.scores
        if score.quantity.startswith("Kendall tau")
    )
    split = {dataset for dataset, of in found if of}
    return sorted((dataset, of) for dataset, of in found if of or dataset not in split)


def _written(numbers: list[Any]) -> str:
    mean, deviation, share = (None if number in (None, "") else float(number) for number in numbers)
    if mean is None:
        return NOTHING
    text = f"{mean:.2f}"
    text += f" ± {deviation:.2f}" if deviation is not None else ""
    text += f" ({share:.2f})" if share is not None else ""
    return text.replace("-", "−")
