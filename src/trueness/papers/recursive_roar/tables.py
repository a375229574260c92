"""Tables of Recursive ROAR (Madsen et al. 2022): faithfulness, the companion, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from trueness.engine import Stored
from trueness.protocols.result import Result, Score
from trueness.report.table import NOTHING, Table, groups, number_within
from trueness.studies.kinds import Published

_UNUSUAL, _MASKS = "unusual texts (masked training)", "mask-only accuracy above chance"
_RECURSIVE, _PLAIN, _MASKED = "faithfulness", "faithfulness (plain ROAR)", "faithfulness (masked training)"
_AS_PUBLISHED = "faithfulness, as published"
_Place = tuple[str, str, str]
_Scores = dict[tuple[str, str, str, str], Score]


def tables(result: Result, published: Published) -> Iterator[Table]:
    """Table 2 beside the published values, the companion, and Table 7 with our seconds."""
    scores = {(score.quantity, score.dataset, score.model, score.method): score for score in result.scores}
    # Also those whose faithfulness cannot be told.
    wanted = (_RECURSIVE, _PLAIN, _MASKED, _UNUSUAL, _MASKS)
    places = list(dict.fromkeys(key[1:] for key in scores if key[0] in wanted and key[-1] != "random"))
    if places:
        yield _table_2(scores, places, published).lean()
    if places and any(quantity == _UNUSUAL for quantity, *_ in scores):
        yield _companion(scores, places).lean()
    costs = result.tables.get("costs")
    if costs is not None and len(costs):
        yield _costs(costs).lean()


def _values(scores: _Scores, place: _Place, *quantities: str) -> Iterator[str]:
    for score in (scores.get((quantity, *place)) for quantity in quantities):
        yield NOTHING if score is None else number_within(score.value, score.low, score.high, ".1%")


def _table_2(scores: _Scores, places: list[_Place], published: Published) -> Table:
    rows = []
    for place in places:
        fact = published.get((_AS_PUBLISHED, *place))
        given = NOTHING
        if fact is not None:
            value, low, high = (float(fact[name]) for name in ("published", "published_low", "published_high"))
            given = number_within(value, low, high, ".1%")
        rows.append((*place, given, *_values(scores, place, _AS_PUBLISHED, _RECURSIVE, _PLAIN)))
    header = ("dataset", "model", "method", "paper", "ours, as published", "ours", "plain ROAR")
    caption = (
        "Area between the curve and that of random masks, as a share of the area from the latter down to where "
        "everything is hidden (equation 3); 0 is chance, below it is worse. As published: clipped to -1 and 1. "
        "Intervals of ours are Student's over seeds; the paper's bootstrap of five is too narrow."
    )
    return Table("table-2", "Table 2: faithfulness", caption, header, tuple(rows))


def _companion(scores: _Scores, places: list[_Place]) -> Table:
    columns = {
        "Recursive ROAR": _RECURSIVE,
        "masked training": _MASKED,
        "comprehensiveness": "comprehensiveness, normalised",
        "sufficiency": "sufficiency, normalised",
        "unusual texts": _UNUSUAL,
        "mask-only above chance": _MASKS,
    }
    rows = tuple((*place, *_values(scores, place, *columns.values())) for place in places)
    caption = (
        "What retraining costs and one model per seed, trained under masks, gives for less. Comprehensiveness and "
        "sufficiency: 0 the worst and 1 the best order of hiding this model's tokens. Unusual: 5 % by chance. "
        "Mask-only: how much better than the largest class a classifier is that sees only which tokens are hidden."
    )
    header = ("dataset", "model", "method", *columns)
    return Table("companion", "The cheap companion, and the guards", caption, header, rows)


def _costs(costs: pd.DataFrame) -> Table:
    before = costs[costs["order"] == "explained"].groupby(["dataset", "model", "method"])["seconds"].sum()
    rows = []
    for (*place, order), some in groups(costs, "dataset", "model", "method", "order"):
        if order == "explained" or place[-1] == "nothing hidden":
            continue  # part of a method; trained before
        seconds, models = float(some["seconds"].sum() + before.get(tuple(place), 0.0)), sum(map(len, some["seeds"]))
        rows.append((*place, order, str(models), f"{seconds / models:.1f}", f"{seconds / 60:.1f}"))
    header = ("dataset", "model", "method", "order", "models", "seconds a model", "minutes in all")
    caption = (
        "Seconds of tasks as this run took them, training and explaining together; methods that were one task share "
        "its training equally, and tasks that shared a device waited for one another. The paper's Table 7, on a V100, "
        "has for one model 2 to 3 minutes (SST) and 5 to 20 (IMDB)."
    )
    return Table("costs", "Table 7: what it cost", caption, header, tuple(rows))


def costs(stored: Stored) -> dict[str, pd.DataFrame]:
    """The seconds of the tasks that a result was made from, as far as they are still there; no part of the result.

    Of a task with several parts each has its own seconds, and an equal share of the others.
    """
    places, keys = stored.meta["parameters"].get("at") or [], stored.meta["inputs"].get("steps") or []
    rows = []
    for place, key in zip(places, keys, strict=True):
        if not stored.store.has(key):
            continue
        meta, part = stored.store.get(key).meta, place.get("part")
        if part is None:  # also before tasks had parts
            seconds = float(meta["seconds"])
        else:
            own = meta.get("parts", {})
            shared = (float(meta["seconds"]) - sum(own.values())) / max(len(own), 1)
            seconds = shared + own[str(part)] if str(part) in own else 0.0  # a part that a model refused took nothing
        rows.append({**place, "seconds": seconds})
    return {"costs": pd.DataFrame(rows)}
