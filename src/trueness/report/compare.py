"""Our values beside the published ones, and the paper's conclusions as checked claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueness.protocols.result import Result, Score
from trueness.stats import Undefined, equivalence, kendall
from trueness.studies import KINDS, Study
from trueness.studies.kinds import PUBLISHED_KEY, Margin, Published

SCHEMA = 2
"""The form of what `compare` gives."""
MANY = 60
OUTCOMES = ("agrees", "differs", "cannot tell")


def compare(study: Study, result: Result) -> dict[str, Any]:
    """One row per score, with the published value where there is one, how far they agree, and the claims.

    `outcome` is by equivalence: *agrees* if the interval of the difference lies within the margin, *differs* if it lies
    outside, else *cannot tell*. The margin is how far the paper's own runs lie apart (`margins.csv` beside its
    `published.csv`). Every published cell is counted once, with the score that is computed as published if there is
    one; where the authors only left a second run, that is the published value. Rows that do not count have no outcome.
    """
    kind = KINDS[study.kind]
    rows = compared_rows(result.scores, kind.published(), kind.margins())
    return {
        "schema": SCHEMA,
        "study": study.name,
        "agreement": summary(rows, kind.published(), kind.margins()),
        "rows": rows,
        **{name: [one.model_dump() for one in getattr(result, name)] for name in ("claims", "warnings", "abstentions")},
    }


def compared_rows(scores: Sequence[Score], published: Published, margins: Sequence[Margin]) -> list[dict[str, Any]]:
    """One row per score."""
    counted: dict[tuple[str, ...], Score] = {}
    for score in scores:
        best = counted.setdefault(_key(score), score)
        if best.variant != "as-published" == score.variant:
            counted[_key(score)] = score
    return [
        _row(score, published.get(_key(score), {}), margins, counts=counted[_key(score)] is score) for score in scores
    ]


def summary(rows: Sequence[dict[str, Any]], published: Published, margins: Sequence[Margin]) -> dict[str, Any]:
    """How many published cells agree, differ and cannot be told, in all and by kind of quantity."""
    counted = [row for row in rows if row["outcome"] is not None]
    known = {tuple(row[name] for name in PUBLISHED_KEY) for row in rows}
    missing = sum(key not in known and _margin(fact, margins) is not None for key, fact in published.items())
    groups = dict.fromkeys(margin.group for margin in margins)
    parts = [(name, [row for row in counted if row["group"] == name]) for name in groups]
    return {
        "compared": len(counted),
        **{outcome: sum(row["outcome"] == outcome for row in counted) for outcome in OUTCOMES},
        "not measured": missing,
        "quantities": [_of_group(name, some, margins) for name, some in parts if some],
    }


def _of_group(name: str, rows: Sequence[dict[str, Any]], margins: Sequence[Margin]) -> dict[str, Any]:
    ours, theirs = (np.array([row[column] for row in rows], dtype=float) for column in ("value", "compared_with"))
    tau = kendall(ours[None], theirs[None]).statistic[0] if len(rows) > 2 else Undefined
    margin = next(margin for margin in margins if margin.group == name)
    return {
        "group": name,
        "margin": margin.margin,
        "from": margin.source,
        "compared": len(rows),
        **{outcome: sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES},
        "mean absolute error": float(np.abs(ours - theirs).mean()),
        "rank correlation": float(tau) if isinstance(tau, float) else None,
    }


def shown_rows(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The rows to show a person, and how many are left out: of many rows only those that are compared."""
    counted = [row for row in rows if row["outcome"] is not None]
    chosen = counted if counted and len(rows) > MANY else rows
    return chosen, len(rows) - len(chosen)


def sentences(agreement: Mapping[str, Any]) -> Iterator[str]:
    """In words: how many published values agree, differ and cannot be told, and how far ours lie from them."""
    if agreement["compared"]:
        missing = agreement["not measured"]
        yield (
            f"Of {agreement['compared']} published values {agreement['agrees']} agree with ours, "
            f"{agreement['differs']} differ, and of {agreement['cannot tell']} it cannot be told"
            + (f"; {missing} more were not measured here." if missing else ".")
        )
    for part in agreement["quantities"]:
        tau = part["rank correlation"]
        yield (
            f"{part['group']}: {part['agrees']} agree, {part['differs']} differ, {part['cannot tell']} cannot be told "
            f"(margin {part['margin']:.3g}); mean absolute error {part['mean absolute error']:.3g}"
            + (f", rank correlation {tau:.2f}." if tau is not None else ".")
        )


def _key(score: Score) -> tuple[str, ...]:
    return tuple(getattr(score, name) for name in PUBLISHED_KEY)


def _margin(fact: Mapping[str, Any], margins: Sequence[Margin]) -> Margin | None:
    """That of a published value; None where it has none, or is the same cell of the paper as another one."""
    if fact.get("same_cell_as"):
        return None
    return next(
        (one for one in margins if one.quantity == fact["quantity"] and one.method in ("", fact["method"])), None
    )


def _row(score: Score, fact: Mapping[str, Any], margins: Sequence[Margin], *, counts: bool) -> dict[str, Any]:
    value, low, high, again = (
        _number(fact.get(name)) for name in ("published", "published_low", "published_high", "second_run")
    )
    reference = again if value is None else value
    margin = _margin(fact, margins) if counts and reference is not None else None
    ends = (score.low, score.high)
    if ends == (None, None) and "the same value every time" in score.note:
        ends = (score.value, score.value)
    notes = (fact.get("note", ""), "their second run only" if value is None and again else "", score.note)
    about, ours = (*PUBLISHED_KEY, "variant"), ("value", "low", "high", "n", "direction", "null", "best")
    return {
        **{name: getattr(score, name) for name in about},
        **{"published": value, "published_low": low, "published_high": high, "second_run": again},
        **{name: getattr(score, name) for name in ours},
        "compared_with": reference,
        "margin": None if margin is None else margin.margin,
        "group": None if margin is None else margin.group,
        "outcome": None if margin is None or reference is None else equivalence(*ends, reference, margin.margin),
        "note": "; ".join(text for text in notes if text),
    }


def _number(text: str | None) -> float | None:
    return float(text) if text else None
