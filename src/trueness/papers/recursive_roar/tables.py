"""Tables of Recursive ROAR (Madsen et al. 2022): faithfulness, the companion, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trueness.engine import Stored
from trueness.protocols.result import Result, Score
from trueness.report.table import NOTHING, Table
from trueness.studies.kinds import Published

if TYPE_CHECKING:
    import pandas as pd

_UNUSUAL, _MASKS = "unusual texts (masked training)", "mask-only accuracy above chance"


def tables(result: Result, published: Published) -> list[Table]:
    """Table 2 beside the published values, the companion, and Table 7 with our seconds."""
    return [table.lean() for table in (*_table_2(result, published), *_companion(result), *_costs(result))]


def _value(score: Score | None) -> str:
    if score is None:
        return NOTHING
    if score.low is None or score.high is None:
        return f"{score.value:.1%}"
    return f"{score.value:.1%} ({score.low:.1%} to {score.high:.1%})"


def _scores(result: Result) -> dict[tuple[str, str, str, str], Score]:
    return {(score.quantity, score.dataset, score.model, score.method): score for score in result.scores}


def _places(result: Result) -> list[tuple[str, str, str]]:
    """Also those whose faithfulness cannot be told."""
    wanted = ("faithfulness", "faithfulness (plain ROAR)", "faithfulness (masked training)", _UNUSUAL, _MASKS)
    return list(
        dict.fromkeys(
            (one.dataset, one.model, one.method)
            for one in result.scores
            if one.quantity in wanted and one.method != "random"
        )
    )


def _table_2(result: Result, published: Published) -> Iterator[Table]:
    scores = _scores(result)
    rows = []
    for place in _places(result):
        fact = published.get(("faithfulness, as published", *place))
        given = (
            NOTHING
            if fact is None
            else "{:.1%} ({:.1%} to {:.1%})".format(
                *(float(fact[name]) for name in ("published", "published_low", "published_high"))
            )
        )
        shown = [
            _value(scores.get((quantity, *place)))
            for quantity in ("faithfulness, as published", "faithfulness", "faithfulness (plain ROAR)")
        ]
        rows.append((*place, given, *shown))
    header = ("dataset", "model", "method", "paper", "ours, as published", "ours", "plain ROAR")
    caption = (
        "Area between the curve and that of random masks, as a share of the area from the latter down to where "
        "everything is hidden (equation 3); 0 is chance, below it is worse. As published: clipped to -1 and 1, "
        "bootstrap interval. Ours: not clipped, Student's over seeds."
    )
    if rows:
        yield Table("table-2", "Table 2: faithfulness", caption, header, tuple(rows))


def _companion(result: Result) -> Iterator[Table]:
    scores = _scores(result)
    rows = []
    for place in _places(result):
        shown = [
            _value(scores.get((quantity, *place)))
            for quantity in (
                "faithfulness",
                "faithfulness (masked training)",
                "comprehensiveness, normalised",
                "sufficiency, normalised",
                _UNUSUAL,
                _MASKS,
            )
        ]
        rows.append((*place, *shown))
    header = (
        *("dataset", "model", "method", "Recursive ROAR", "masked training", "comprehensiveness", "sufficiency"),
        *("unusual texts", "mask-only above chance"),
    )
    caption = (
        "What retraining costs and one model per seed, trained under masks, gives for less. Comprehensiveness and "
        "sufficiency: 0 the worst and 1 the best order of hiding this model's tokens. Unusual: 5 % by chance. "
        "Mask-only: how much better than the largest class a classifier is that sees only which tokens are hidden."
    )
    if rows and any(score.quantity == _UNUSUAL for score in result.scores):
        yield Table("companion", "The cheap companion, and the guards", caption, header, tuple(rows))


def _costs(result: Result) -> Iterator[Table]:
    costs = result.tables.get("costs")
    if costs is None or not len(costs):
        return
    rows = []
    for (dataset, model, method, order), some in costs.groupby(["dataset", "model", "method", "order"], sort=False):
        if order == "explained" or method == "nothing hidden":
            continue  # part of a method; trained before
        before = costs[
            (costs["dataset"] == dataset)
            & (costs["model"] == model)
            & (costs["method"] == method)
            & (costs["order"] == "explained")
        ]["seconds"].sum()
        seconds, models = float(some["seconds"].sum() + before), sum(map(len, some["seeds"]))
        each = f"{seconds / models:.1f}"
        rows.append((str(dataset), str(model), str(method), str(order), str(models), each, f"{seconds / 60:.1f}"))
    header = ("dataset", "model", "method", "order", "models", "seconds a model", "minutes in all")
    caption = (
        "Seconds of tasks as this run took them, training and explaining together; methods that were one task share "
        "its training equally, and tasks that shared a device waited for one another. The paper's Table 7, on a V100, "
        "has for one model 2 to 3 minutes (SST) and 5 to 20 (IMDB)."
    )
    yield Table("costs", "Table 7: what it cost", caption, header, tuple(rows))


def costs(stored: Stored) -> dict[str, pd.DataFrame]:
    """The seconds of the tasks that a result was made from, as far as they are still there; no part of the result.

    Of a task with several parts each has its own seconds, and an equal share of the others.
    """
    import pandas as pd

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
