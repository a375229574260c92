"""Our values beside the published ones, and the paper's conclusions as checked claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueness.protocols.result import Result, Score
from trueness.stats import Undefined, equivalence, kendall
from trueness.studies import KINDS, Study
from trueness.studies.kinds import PUBLISHED_KEY, Margin, Published

SCHEMA = 3
"""The form of what `compare` gives."""
MANY = 60
FEWEST = 5
"""Of fewer cells no rank correlation is given."""
OUTCOMES = ("agrees", "differs", "cannot tell")


def compare(study: Study, result: Result) -> dict[str, Any]:
    """One row per score, with the published value where there is one, how far they agree, and the claims.

    `outcome` is by equivalence: *agrees* if the interval of the difference lies within the margin, *differs* if it lies
    outside, else *cannot tell*. The margin is how far the paper's own runs lie apart (`margins.csv` beside its
    `published.csv`). Every published cell is counted once, with the score that is computed as published if there is
    one; where the authors only left a second run, that is the published value. Rows that do not count have no outcome.
    Where another model or corpus stands in for the paper's (`stand_in`), cells are counted apart: whether they agree
    says nothing of the paper's own.
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
    return judged([_row(score, published) for score in scores], published, margins)


def judged(
    rows: Sequence[dict[str, Any]], published: Published, margins: Sequence[Margin], factor: float = 1.0
) -> list[dict[str, Any]]:
    """The same rows with the outcomes that follow from such margins, each times a factor."""
    counted: dict[tuple[Any, ...], int] = {}
    for place, row in enumerate(rows):
        best = counted.setdefault(_key(row), place)
        if rows[best]["variant"] != "as-published" == row["variant"]:
            counted[_key(row)] = place
    return [
        {**row, **_judgement(row, published.get(_key(row), {}), margins, factor, counts=counted[_key(row)] == place)}
        for place, row in enumerate(rows)
    ]


def summary(rows: Sequence[dict[str, Any]], published: Published, margins: Sequence[Margin]) -> dict[str, Any]:
    """How many published cells agree, differ and cannot be told, in all and by kind of quantity."""
    counted = [row for row in rows if row["outcome"] is not None]
    known = {_key(row) for row in rows}
    missing = sum(key not in known and _margin(fact, margins) is not None for key, fact in published.items())
    groups = dict.fromkeys(margin.group for margin in margins)
    names = dict.fromkeys(
        (row["group"], row["stand_in"]) for group in groups for row in counted if row["group"] == group
    )
    return {
        **_counts([row for row in counted if not row["stand_in"]]),
        "stand-ins": _counts([row for row in counted if row["stand_in"]]),
        "not measured": missing,
        "quantities": [
            _of_group([row for row in counted if (row["group"], row["stand_in"]) == name], margins) for name in names
        ],
    }


def _counts(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {"compared": len(rows), **{outcome: sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES}}


def _of_group(rows: Sequence[dict[str, Any]], margins: Sequence[Margin]) -> dict[str, Any]:
    ours, theirs = (np.array([row[column] for row in rows], dtype=float) for column in ("value", "compared_with"))
    tau = kendall(ours[None], theirs[None]).statistic[0] if len(rows) >= FEWEST else Undefined
    margin = next(margin for margin in margins if margin.group == rows[0]["group"])
    return {
        "group": margin.group,
        "stand-in": rows[0]["stand_in"],
        "margin": margin.margin,
        "from": margin.source,
        **_counts(rows),
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
    missing = agreement["not measured"]
    rest = f"; {missing} more were not measured here." if missing else "."
    if agreement["compared"]:
        yield f"Of {agreement['compared']} published values {_told(agreement)}{rest}"
    apart = agreement["stand-ins"]
    if apart["compared"]:
        what = ", ".join(dict.fromkeys(part["stand-in"] for part in agreement["quantities"] if part["stand-in"]))
        more = " more" if agreement["compared"] else ""
        yield (
            f"For {apart['compared']}{more} something else stands in ({what}): they show whether a finding carries "
            f"over, and are not judged{'.' if agreement['compared'] else rest}"
        )
    for part in agreement["quantities"]:
        tau = part["rank correlation"]
        judged = (
            f"{part['agrees']} agree, {part['differs']} differ, {part['cannot tell']} cannot be told "
            f"(margin {part['margin']:.3g}); "
        )
        yield (
            f"{part['group']}{_of_stand_in(part)}: {'' if part['stand-in'] else judged}"
            f"mean absolute error {part['mean absolute error']:.3g}"
            + (f", rank correlation {tau:.2f}." if tau is not None else ".")
        )


def _told(counts: Mapping[str, Any]) -> str:
    unclear = f"of {counts['cannot tell']} it cannot be told"
    return f"{counts['agrees']} agree with ours, {counts['differs']} differ, and {unclear}"


def _of_stand_in(part: Mapping[str, Any]) -> str:
    return f" ({part['stand-in']})" if part["stand-in"] else ""


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in PUBLISHED_KEY)


def _margin(fact: Mapping[str, Any], margins: Sequence[Margin]) -> Margin | None:
    """That of a published value; None where it has none, or is the same cell of the paper as another one."""
    if fact.get("same_cell_as"):
        return None
    return next((one for one in margins if one.is_for(fact)), None)


def beside(row: Mapping[str, Any], published: Published) -> dict[str, Any]:
    """A row of ours with what was published of it; its note becomes that of both."""
    fact, found = published.get(_key(row), {}), numbers(row, published)
    only = found["published"] is None and found["second_run"]
    notes = (fact.get("note", ""), "their second run only" if only else "", row["note"])
    return {**row, **found, "note": "; ".join(text for text in notes if text)}


def numbers(row: Mapping[str, Any], published: Published) -> dict[str, float | None]:
    """What was published of a row, and which of it the row is compared with."""
    fact = published.get(_key(row), {})
    found = {name: _number(fact.get(name)) for name in ("published", "published_low", "published_high", "second_run")}
    return {**found, "compared_with": found["second_run"] if found["published"] is None else found["published"]}


def _row(score: Score, published: Published) -> dict[str, Any]:
    about, theirs = (*PUBLISHED_KEY, "variant"), ("published", "published_low", "published_high", "second_run")
    ours = ("value", "low", "high", "n", "direction", "null", "best")
    row = {
        **{name: getattr(score, name) for name in about},
        **dict.fromkeys(theirs),
        **{name: getattr(score, name) for name in ours},
        **dict.fromkeys(("compared_with", "margin", "group", "outcome")),
        "note": score.note,
        "stand_in": "",
    }
    return beside(row, published)


def _judgement(
    row: Mapping[str, Any], fact: Mapping[str, Any], margins: Sequence[Margin], factor: float, *, counts: bool
) -> dict[str, Any]:
    reference, ends = row["compared_with"], (row["low"], row["high"])
    margin = _margin(fact, margins) if counts and reference is not None else None
    about = {"stand_in": fact.get("stand_in") or ""}
    if margin is None:
        return {**about, "margin": None, "group": None, "outcome": None}
    if "the same value every time" in row["note"]:
        ends = (row["value"], row["value"])
    outcome = equivalence(*ends, reference, factor * margin.margin)
    return {**about, "margin": margin.margin, "group": margin.group, "outcome": outcome}


def _number(text: str | None) -> float | None:
    return float(text) if text else None
