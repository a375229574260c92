"""Our values beside the published ones, and the paper's conclusions as checked claims."""

from __future__ import annotations

from typing import Any

from trueness.protocols.result import Result, Score
from trueness.studies import KINDS, Study
from trueness.studies.kinds import PUBLISHED_KEY

FEWEST = 5
MANY = 60


def compare(study: Study, result: Result) -> dict[str, Any]:
    """One row per score, with the published value where there is one, and the claims.

    `agrees` tells whether the published value, or its interval, meets ours; it is None where nothing was published or
    ours rests on fewer than five draws. The published interval is what the authors give (two standard deviations for
    AtteFa), or their two values where they ran their experiment twice; `inside` tells whether our mean lies in it.
    """
    published = KINDS[study.kind].published()
    keys = [tuple(getattr(score, name) for name in PUBLISHED_KEY) for score in result.scores]
    rows = [_row(score, published.get(key, {})) for score, key in zip(result.scores, keys, strict=True)]
    compared = [row for row in rows if row["agrees"] is not None]
    return {
        "study": study.name,
        "agreement": {
            "compared": len(compared),
            "agreeing": sum(row["agrees"] for row in compared),
            "with_spread": sum(row["inside"] is not None for row in compared),
            "inside": sum(row["inside"] is True for row in compared),
        },
        "rows": rows,
        **{name: [one.model_dump() for one in getattr(result, name)] for name in ("claims", "warnings", "abstentions")},
    }


def shown_rows(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The rows to show a person, and how many are left out: of many rows only those that can be compared."""
    published = [row for row in rows if row["agrees"] is not None]
    chosen = published if published and len(rows) > MANY else rows
    return chosen, len(rows) - len(chosen)


def shares(agreement: dict[str, int]) -> list[str]:
    """In words: how many published values ours meet, and how many of ours lie inside the published spread."""
    sentences = []
    if agreement["compared"]:
        sentences.append(
            f"{agreement['agreeing']} of {agreement['compared']} published values, with the spread they were published "
            "with, meet our 95 % interval."
        )
    if agreement["with_spread"]:
        sentences.append(
            f"Of the {agreement['with_spread']} of them that were published with a spread (an interval, two standard "
            f"deviations, or two runs), {agreement['inside']} have our mean inside it."
        )
    return sentences


def _row(score: Score, published: dict[str, Any]) -> dict[str, Any]:
    value, low, high = (_number(published.get(name)) for name in ("published", "published_low", "published_high"))
    again = _number(published.get("second_run"))
    if value is not None and again is not None and low is None:
        low, high = min(value, again), max(value, again)
    few = value is not None and score.n < FEWEST
    thin = f"n = {score.n} is too few to tell whether it agrees" if few else ""
    notes = [text for text in (published.get("note", ""), score.note, thin) if text]
    about, ours = (*PUBLISHED_KEY, "variant"), ("value", "low", "high", "n", "direction", "null", "best")
    return {
        **{name: getattr(score, name) for name in about},
        **{"published": value, "published_low": low, "published_high": high, "second_run": again},
        **{name: getattr(score, name) for name in ours},
        "agrees": None if value is None or few else _meet((value, low, high), (score.value, score.low, score.high)),
        "inside": None if value is None or low is None or high is None else low <= score.value <= high,
        "note": "; ".join(notes),
    }


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _meet(first: tuple[float, float | None, float | None], second: tuple[float, float | None, float | None]) -> bool:
    """Whether two intervals overlap; a value without bounds is a point."""
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    begin = max(a if a_low is None else a_low, b if b_low is None else b_low)
    end = min(a if a_high is None else a_high, b if b_high is None else b_high)
    return begin <= end
