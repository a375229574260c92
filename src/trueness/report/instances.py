"""Instances with what the methods say of them, as the instance browser takes them: one compact JSON for all pages.

A score travels as one letter: its share of the method's strongest score of that text, in steps of 5 %. 10,000 texts of
20 words with six methods are 3 MB. The exact numbers stay in the store.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.boundary import printable
from trueness.errors import UserError
from trueness.kinds import every_kind
from trueness.plugins import told_by
from trueness.protocols.ground_truth.summary import PLANTED
from trueness.protocols.result import Result
from trueness.protocols.similarity import ROUNDING, is_flat, largest_of
from trueness.stats.undefined import Floats

if TYPE_CHECKING:
    import pandas as pd

STEPS = 20
"""Levels on either side of 0."""
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcde"
"""Level -20 to 20; the middle one is 0."""
NOTHING = "."
"""In place of a letter: no number."""
_ALPHABET = np.frombuffer((LETTERS + NOTHING).encode(), dtype=np.uint8)
LARGEST = 20 << 20
"""Bytes of all instances of a page; what is more is left out, and the page says so."""
_PLACE = ("dataset", "model", "variant", "seed")
_MEASURES = ("divergence", "change")
"""Numbers of an instance that it can be sorted by, where a study has them."""
MARKS = (PLANTED, "rationale", "human")
"""Rows that are no explanation by scores: they mark words."""


Scores = Sequence[float] | Floats


@dataclass(frozen=True)
class Instance:
    """One text or image, what the model made of it, and what every method says of it."""

    place: Mapping[str, str]
    number: int
    words: Sequence[str]
    """Of an image: empty."""
    scores: Mapping[str, Scores]
    predicted: str
    gold: str | None = None
    probability: float | None = None
    other: str = ""
    """The second text of a pair."""
    measures: Mapping[str, float] = field(default_factory=dict)
    image: str = ""
    """A PNG in base 64."""
    grid: tuple[int, int] = (0, 0)
    """Of an image: rows and columns of its scores."""


@dataclass(frozen=True)
class Instances:
    """All of a study, and which methods give signs."""

    all: Sequence[Instance]
    signed: frozenset[str] = frozenset()

    @property
    def methods(self) -> list[str]:
        """In order of appearance."""
        return list(dict.fromkeys(name for one in self.all for name in one.scores))

    def __len__(self) -> int:
        return len(self.all)


def instances_of(result: Result) -> Instances:
    """The instances that a result keeps with their words: attention and its adversary, or strips of many methods."""
    found: list[Instance] = []
    signed: set[str] = set()
    examples = result.tables.get("examples")
    if examples is not None and {"words", "attention", "adversarial"} <= set(examples):
        found += [_attention(row) for row in examples.to_dict(orient="records")]
    strips = result.tables.get("strips")
    if strips is not None and len(strips):
        told, declared = _strips(strips)
        found += told
        signed |= declared
    return Instances(found, frozenset(signed))


def _attention(row: Mapping[Any, Any]) -> Instance:
    return Instance(
        {name: str(row[name]) for name in _PLACE if name in row},
        int(row["instance"]),
        list(row["words"]),
        {name: list(row[name]) for name in ("attention", "adversarial")},
        str(row["predicted"]),
        str(row["gold"]),
        float(row["probability"]),
        str(row["other"] or ""),
        {name: float(row[name]) for name in _MEASURES if name in row},
    )


def _strips(table: pd.DataFrame) -> tuple[list[Instance], set[str]]:
    """One instance per place and number; a row of the table is one method's scores of it."""
    place = [name for name in _PLACE if name in table]
    optional = [name for name in ("probability", "other", "image", "rows", "columns") if name in table]
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    signed: set[str] = set()
    unknown: set[str] = set()
    for row in table.to_dict(orient="records"):
        method, scores = str(row["method"]), np.asarray(row["scores"], dtype=np.float64)
        key = (*(row[name] for name in place), row["instance"])
        one = found.setdefault(
            key,
            {
                "place": {name: str(row[name]) for name in place},
                "number": int(row["instance"]),
                "words": list(row["words"]) if row["words"] is not None else [],
                "scores": {},
                "predicted": str(row["predicted"]),
                "gold": None if row["gold"] is None else str(row["gold"]),
                "probability": float(row["probability"]) if "probability" in optional else None,
                "other": str(row["other"] or "") if "other" in optional else "",
                "image": str(row["image"] or "") if "image" in optional else "",
                "grid": (int(row["rows"]), int(row["columns"])) if "rows" in optional else (0, 0),
            },
        )
        one["scores"][method] = scores
        if method not in signed and method not in unknown:
            (signed if _is_signed(method, row.get("signed"), table) else unknown).add(method)
    return [Instance(**one) for one in found.values()], signed


def _is_signed(method: str, told: Any, table: pd.DataFrame) -> bool:
    """As the row or the explainer declares it; of a method that this process does not know, whether any is below 0."""
    if isinstance(told, bool) or type(told).__name__ == "bool_":
        return bool(told)
    if method in MARKS:
        return True
    for kind in every_kind():
        with contextlib.suppress(UserError), told_by("The result"):
            return kind.explainers[method].facts.signed
    return any(min(scores, default=0) < 0 for scores in table.loc[table["method"] == method, "scores"])


def levels(scores: Scores, *, signed: bool) -> tuple[str, float]:
    """A letter for each score, and the strongest magnitude; without signs what is below 0 counts as 0."""
    (found,) = _all_levels([scores], [signed], [0.0])
    return found


def _all_levels(scores: Sequence[Scores], signed: Sequence[bool], scales: Sequence[float]) -> list[tuple[str, float]]:
    """The same of several methods at once, all of the same words; what is rounding beside their scales is 0."""
    table = np.array(scores, dtype=np.float64)
    known = np.isfinite(table)
    least = np.where(signed, -np.inf, 0.0)[:, None]
    table = np.where(known, np.maximum(table, least), 0.0)
    strongest = np.abs(table).max(axis=1, initial=0.0)
    strongest = np.where(strongest > ROUNDING * np.array(scales), strongest, 0.0)
    places = STEPS + np.rint(STEPS * (table / np.where(strongest > 0, strongest, 1.0)[:, None])).astype(np.int64)
    letters = _ALPHABET[np.where(known, places, len(LETTERS))]
    return [(letters[row].tobytes().decode(), float(f"{most:.3g}")) for row, most in enumerate(strongest.tolist())]


def _alike(scores: Mapping[str, Scores], pairs: Sequence[tuple[str, str]], scales: Mapping[str, float]) -> str:
    """A letter for each pair of methods: the correlation of their magnitudes in one text, as an audit measures it."""
    words = len(next(iter(scores.values()), ()))
    names = [name for name, some in scores.items() if len(some) == words]
    if words < 2 or len(names) < 2:
        return NOTHING * len(pairs)
    table = np.abs(np.array([scores[name] for name in names], dtype=np.float64))
    known = np.logical_and.reduce(np.isfinite(table), axis=1)
    table = np.where(known[:, None], table, 0.0)
    largest = table.max(axis=1)
    table = table - table.mean(axis=1, keepdims=True)
    spread = np.sqrt((table**2).sum(axis=1))
    flat = is_flat(spread, largest, np.array([scales[name] for name in names]))
    unit = table / np.where(flat, 1.0, spread)[:, None]
    found = np.where(flat[:, None] | flat, np.where(flat[:, None] & flat, 1.0, 0.0), np.clip(unit @ unit.T, -1, 1))
    letters = (STEPS + np.rint(STEPS * found)).astype(np.int64).tolist()
    at = {name: place for place, name in enumerate(names) if known[place]}
    return "".join(LETTERS[letters[at[a]][at[b]]] if a in at and b in at else NOTHING for a, b in pairs)


def encode(instances: Instances, *, largest: int = LARGEST) -> dict[str, Any]:
    """What the pages' script reads; all text as it may be shown, whatever the data hold."""
    methods = instances.methods
    places = list(dict.fromkeys(tuple(one.place.items()) for one in instances.all))
    pairs = list(itertools.combinations([name for name in methods if name not in MARKS], 2))
    measures = [name for name in _MEASURES if any(name in one.measures for one in instances.all)]
    scales = dict.fromkeys(methods, 0.0)
    for one in instances.all:
        for name, scores in one.scores.items():
            scales[name] = max(scales[name], largest_of(np.asarray(scores, dtype=np.float64)))
    rows: list[list[Any]] = []
    size = 0
    for one in instances.all:
        row = _row(one, scales, instances.signed, pairs, measures, places)
        size += len(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
        if size > largest:
            break
        rows.append(row)
    return {
        "methods": [_shown(name) for name in methods],
        "signed": [name in instances.signed for name in methods],
        "marks": [name in MARKS for name in methods],
        "places": [{name: _shown(value) for name, value in place} for place in places],
        "pairs": [[methods.index(a), methods.index(b)] for a, b in pairs],
        "measures": measures,
        "total": len(instances),
        "rows": rows,
    }


def _row(
    one: Instance,
    scales: Mapping[str, float],
    signed: Iterable[str],
    pairs: Sequence[tuple[str, str]],
    measures: Sequence[str],
    places: Sequence[tuple[tuple[str, str], ...]],
) -> list[Any]:
    by_length: dict[int, list[str]] = {}
    for name, scores in one.scores.items():
        by_length.setdefault(len(scores), []).append(name)
    told: dict[str, tuple[str, float]] = {}
    for some in by_length.values():
        shown = [one.scores[name] for name in some], [name in signed for name in some], [scales[name] for name in some]
        told |= dict(zip(some, _all_levels(*shown), strict=True))
    numbers = [one.measures.get(name) for name in measures]
    return [
        places.index(tuple(one.place.items())),
        one.number,
        "\n".join(_shown(word) or "\N{OPEN BOX}" for word in one.words),
        _shown(one.predicted),
        None if one.gold is None else _shown(one.gold),
        None if one.probability is None or not math.isfinite(one.probability) else round(one.probability, 4),
        _shown(one.other),
        [list(told[name]) if name in told else None for name in scales],
        _alike(one.scores, pairs, scales),
        [None if value is None or not math.isfinite(value) else float(f"{value:.4g}") for value in numbers],
        [one.image, *one.grid] if one.image else None,
    ]


def _shown(text: str) -> str:
    """The same as a line of a page: signs in place of control characters, changes of direction and half characters."""
    return printable(text).replace("\n", " ").replace("\t", " ")
