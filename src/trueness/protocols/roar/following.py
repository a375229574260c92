"""Recursive ROAR in one process: the curves of several explainers, by training again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from torch import Tensor

from trueness.errors import Unsupported, UserError
from trueness.explainers.contract import Explainer, Target
from trueness.progress import told
from trueness.protocols.result import Result
from trueness.protocols.roar.curves import BASELINE, Order
from trueness.protocols.roar.hiding import Amount, hide_more, importance
from trueness.protocols.roar.removal import removal
from trueness.protocols.roar.step import Hiding, Retraining, Trained, everything, nothing, retrain
from trueness.protocols.roar.summary import summarise


def follow(
    how: Retraining,
    explainers: Mapping[str, Explainer],
    seeds: Sequence[int],
    shares: Sequence[float],
    orders: Sequence[Order],
    *,
    dataset: str,
    model: str,
    target: Target,
    signed: bool,
    leak: bool,
) -> Result:
    """The curves of all explainers and of random masks, with scores and guards."""
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    each = 1 / (1 + len(explainers)) / len(seeds)
    for place, seed in enumerate(seeds):
        here = {"dataset": dataset, "model": model, "seed": seed}
        (whole,) = retrain(how, [seed], [nothing], leak=False)
        (blind,) = retrain(how, [seed], [everything], leak=False)
        rows.append({**here, "method": "nothing hidden", "order": "both", "step": 0, **whole.measured})
        rows.append({**here, "method": "all hidden", "order": "both", "step": len(shares) + 1, **blind.measured})
        for number, (method, explainer) in enumerate({BASELINE: how.random(seed), **explainers}.items()):
            if any(row["method"] == method for row in refused):
                continue
            followed: Sequence[Order] = ["plain"] if method == BASELINE else orders
            points = _points(how, whole, seed, explainer, shares, followed, target=target, signed=signed, leak=leak)
            begin = (place + number / (1 + len(explainers))) / len(seeds)
            steps = told(points, f"seed {seed}, {method}", len(shares) * len(followed), begin, begin + each)
            try:
                rows += [
                    {**here, "method": method, "order": order, "step": step, **measured}
                    for order, step, _, measured in steps
                ]
            except Unsupported as error:
                reason = str(error).rstrip(".")
                refused.append({**here, "method": method, "order": "explained", "step": 0, "reason": reason})
    if len(refused) == len(explainers):
        reasons = "; ".join(f"{row['method']}: {row['reason']}" for row in refused)
        raise UserError(f"No explainer could be followed: {reasons}.")
    return summarise(
        pd.DataFrame(rows),
        pd.DataFrame(),
        pd.DataFrame(refused, columns=["dataset", "model", "method", "order", "step", "seed", "reason"]),
        pd.DataFrame(),
        amounts=shares,
        unit="share",
        target=str(target),
        metrics={dataset: "accuracy"},
    )


Masks = Mapping[str, Tensor]
"""What is hidden from each split, or how important its units are."""


def _points(
    how: Retraining,
    whole: Trained,
    seed: int,
    explainer: Explainer,
    shares: Sequence[float],
    orders: Sequence[Order],
    *,
    target: Target,
    signed: bool,
    leak: bool,
) -> Iterator[tuple[Order, int, Masks, dict[str, float]]]:
    """The loop with one explainer."""

    def explain(trained: Trained, hidden: Masks) -> Masks:
        network, asked = trained.model.network, {"target": target, "signed": signed}
        return {
            name: importance(network, explainer, split, hidden[name], **asked)  # type: ignore[arg-type]
            for name, split in trained.splits.items()
        }

    def hide(scores: Masks, hidden: Masks, share: float) -> Masks:
        return {
            name: hide_more(split, scores[name], hidden[name], Amount(share)) for name, split in whole.splits.items()
        }

    def train(hidden: Masks) -> tuple[Trained, dict[str, float]]:
        hiding: Hiding = lambda name, split: hidden[name]  # noqa: E731, ARG005
        (trained,) = retrain(how, [seed], [hiding], leak=leak)
        return trained, trained.measured

    return removal(whole, whole.hidden, shares, orders, explain=explain, hide=hide, train=train)
