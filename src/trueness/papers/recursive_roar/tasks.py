"""The summary of Recursive ROAR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trueness.engine import Stored, task
from trueness.studies.retraining import Target, Unit


@task("roar/summary", version=10, light=True)
def summary(
    inputs: Mapping[str, list[Stored]],
    *,
    at: Sequence[Mapping[str, Any]],
    amounts: Sequence[float],
    unit: Unit,
    target: Target,
    trained_before: Sequence[str] = (),
) -> dict[str, Any]:
    """Curves, faithfulness, guards and checked claims of the whole study."""
    import pandas as pd

    from trueness.papers.recursive_roar.claims import claims
    from trueness.protocols.roar.curves import cells_of
    from trueness.protocols.roar.summary import summarise, with_performance

    points, sparsity, refused, bounded = [], [], [], []
    metrics: dict[str, str] = {}
    for place, stored in zip(at, inputs["steps"], strict=True):
        where = {name: place[name] for name in ("dataset", "model", "method", "order", "step")}
        if stored.holds("test"):
            measured = stored.read("test")
        else:
            facts = stored.read("facts")
            if place["part"] is not None:
                facts = facts["jobs"][place["part"]]
            if "refused" in facts:
                refused.append({**where, "reason": facts["refused"]})
                continue
            measured = facts.get("test", {})
            metrics |= {place["dataset"]: facts["metric"]} if "metric" in facts else {}
            curves = facts.get("sparsity", {})
            sparsity += [{**where, "seed": int(seed), "curve": curve} for seed, curve in curves.items()]
            for one in facts.get("companion", []):
                here = {**where, "method": one["method"], "seed": one["seed"]}
                if "refused" in one:
                    continue  # known from the other orders
                steps = enumerate(zip(one["test"], [None, *one["unusual"], None], strict=True))
                points += [{**here, "step": step, **test, "unusual": share} for step, (test, share) in steps]
                bounded += [{**here, "text": text, "pair": pair} for text, pair in enumerate(one["bounded"])]
        points += [{**where, "seed": seed, **measured[str(seed)]} for seed in place["seeds"] if str(seed) in measured]
    table = pd.DataFrame(points)
    result = summarise(
        table,
        pd.DataFrame(sparsity),
        pd.DataFrame(refused, columns=["dataset", "model", "method", "order", "step", "reason"]),
        pd.DataFrame(bounded),
        amounts=amounts,
        unit=unit,
        target=target,
        metrics=metrics,
        trained_before=trained_before,
    )
    cells = list(cells_of(with_performance(table, metrics), amounts, unit, metrics))
    return replace(result, claims=tuple(claims(cells, result.tables["sparsity"], unit))).payloads()
