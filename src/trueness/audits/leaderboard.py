"""Many audits at once: which explainers may be shown of how many models, with ties."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trueness.audits.saved import parse_audit
from trueness.audits.verdict import Audit
from trueness.protocols.result import Abstention, Result, ResultWarning, Score
from trueness.stats.ties import LEVEL

if TYPE_CHECKING:
    import pandas as pd


def result_of(audits: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Result:
    """The verdicts of all audits as one result; the audits themselves lie in the table `audits`."""
    import pandas as pd

    found = [Audit(**plain) for _, plain in audits]
    records = pd.DataFrame([{"model": one.model, "dataset": one.data, **row} for one in found for row in one.rows()])
    kept = pd.DataFrame(
        [
            {"model": one.model, "dataset": one.data, "audit": json.dumps(plain)}
            for one, (_, plain) in zip(found, audits, strict=True)
        ]
    )
    return Result(
        records=records.astype(
            {
                "value": float,
                "low": float,
                "high": float,
                "null": float,
                "threshold": float,
                "best": float,
                "p_value": float,
            }
        ),
        scores=tuple(score for one in found for score in scores_of(one)),
        warnings=tuple(
            ResultWarning(code="audit", where=f"{one.data}, {one.model}", message=text)
            for one in found
            for text in one.warnings
        ),
        abstentions=tuple(
            Abstention(
                quantity=judged.explainer,
                where=f"{one.data}, {one.model}",
                reason=f"cannot tell: {judged.settle or judged.decided_by}",
            )
            for one in found
            for judged in one.explainers
            if judged.decision == "cannot tell" and not judged.foil
        ),
        tables={"audits": kept, "leaderboard": leaderboard(found)},
    )


def audits_in(result: Result) -> list[Audit]:
    """The audits that a result holds."""
    return audits_of(result.tables["audits"])


def audits_of(table: pd.DataFrame) -> list[Audit]:
    """The audits in the table of a result; UserError for those of another version."""
    return [
        parse_audit(text, f"The audit of {model}") for model, text in zip(table["model"], table["audit"], strict=True)
    ]


def leaderboard(audits: Sequence[Audit]) -> pd.DataFrame:
    """One row per explainer: of how many models it may be shown, must not be, or cannot be told; best first.

    Two explainers share a rank unless a sign test over the models on which their verdicts differ tells them apart.
    """
    import pandas as pd
    from scipy.stats import binomtest

    worth = {"may be shown": 2, "cannot tell": 1, "must not be shown": 0}
    judged = [{one.explainer: one.decision for one in audit.explainers if not one.foil} for audit in audits]
    names = list(dict.fromkeys(name for one in judged for name in one))
    said: dict[str, list[str | None]] = {name: [one.get(name) for one in judged] for name in names}
    total = {name: sum(worth[decision] for decision in said[name] if decision) for name in names}
    names.sort(key=lambda name: (-total[name], name))
    first, rank, rows = names[0] if names else "", 1, []
    for place, name in enumerate(names, start=1):
        pairs = [(worth[a], worth[b]) for a, b in zip(said[first], said[name], strict=True) if a and b]
        better, worse = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
        if better + worse and binomtest(better, better + worse).pvalue < LEVEL:
            first, rank = name, place
        counts = {decision: said[name].count(decision) for decision in worth}
        rows.append({"rank": rank, "explainer": name, "models": len(audits), **counts})
    return pd.DataFrame(rows) if rows else pd.DataFrame({"explainer": []})


def scores_of(one: Audit) -> list[Score]:
    """Every check that has a number and a threshold."""
    return [
        Score(
            quantity=f"{trial.name}: {check.name}",
            dataset=one.data,
            model=one.model,
            method=judged.explainer,
            variant="corrected",
            target="the predicted class",
            value=check.value,
            low=check.low,
            high=check.high,
            level=check.level,
            n=check.n,
            direction="higher is better",
            null=check.null,
            best=check.best,
            note=f"{check.answer}; threshold {check.threshold:.2f}",
        )
        for judged in one.explainers
        for trial in judged.trials
        for check in trial.checks
        if check.value is not None and check.threshold is not None
    ]
