"""Is what a report shows what the store holds, and does it come out again?"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from trueness import studies
from trueness.api.studies import DEFAULT_STORE
from trueness.boundary import parse_json, read_ordinary, reading, short
from trueness.engine import DamagedObjectError, Store, Task, walk
from trueness.errors import UserError
from trueness.plugins import told_by
from trueness.studies import KINDS
from trueness.studies.schema import RECORDED

_LARGEST = 256 << 20
_WIDTH = 8
"""Of a number in a report: five names, its value and its bounds."""
_CELLS = re.compile(rb'<script type="application/json" id="trueness-cells">(.*?)</script>', re.DOTALL)
_KEY = re.compile(r"[0-9a-f]{40}")
Outcome = Literal["matches", "differs", "cannot tell"]


@dataclass(frozen=True)
class Looked:
    """One thing that was compared."""

    what: str
    outcome: Outcome
    why: str = ""


@dataclass(frozen=True)
class Verification:
    """What became of all comparisons: it differs if one does; cannot tell if one could not be made."""

    report: str
    result: str
    looked: tuple[Looked, ...]

    @property
    def outcome(self) -> Outcome:
        """Of all."""
        every = {one.outcome for one in self.looked}
        return "differs" if "differs" in every else "cannot tell" if "cannot tell" in every or not every else "matches"

    def to_json(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {**asdict(self), "outcome": self.outcome}


def verify(
    report: str | Path, *, store: str | Path = DEFAULT_STORE, cells: Sequence[str] = (), deep: int = 0
) -> Verification:
    """Compare a report with the store it was made from, and compute its scores anew from what they rest on.

    `cells` are parts of names of quantities, datasets, models or methods: only those numbers are compared. `deep` tasks
    further up, drawn at random, are computed again too, and their payloads compared byte by byte.
    """
    path, place = Path(report), Store.open(store)
    told = _cells_of(path)
    key = str(told["result"])
    try:
        meta = place.verify(key)
    except DamagedObjectError as error:
        why = str(error) if place.has(key) else "the store does not hold it; is it another store?"
        return Verification(str(path), key, (Looked(f"result {key}", "cannot tell", why),))
    stored = {file: recorded["digest"] for file, recorded in meta["payloads"].items()}
    same = not told["digests"] or told["digests"] == stored  # pages of audits tell numbers alone
    looked = [Looked("the stored result", "matches" if same else "differs", "" if same else "its digests are others")]
    looked.append(_compare_scores(told["scores"], _scores(place, key), cells, "as the store has them"))
    looked += _recomputed(place, key, told["scores"], cells, deep)
    return Verification(str(path), key, tuple(looked))


def _cells_of(path: Path) -> dict[str, Any]:
    with reading(path):
        found = _CELLS.search(read_ordinary(path, _LARGEST))
    try:
        told = parse_json(found[1]) if found else None
    except ValueError:
        told = None
    if (
        not isinstance(told, dict)
        or not {"result", "digests", "scores"} <= told.keys()
        or not isinstance(told["scores"], list)
        or not all(isinstance(one, list) and len(one) == _WIDTH for one in told["scores"])
        or not _KEY.fullmatch(str(told["result"]))
    ):
        raise UserError(f"{short(path)} holds no cells to verify; name a report that this version of trueness wrote.")
    return told


def _scores(place: Store, key: str) -> dict[tuple[str, ...], list[Any]]:
    held = place.read(key, "result") if place.get(key).holds("result") else {}
    with reading(f"The result {key}", "is not as this version of trueness writes it"):
        return _by_name(held["scores"])


def _by_name(scores: Sequence[dict[str, Any]]) -> dict[tuple[str, ...], list[Any]]:
    names, numbers = ("quantity", "dataset", "model", "method", "variant"), ("value", "low", "high")
    return {tuple(str(one[name]) for name in names): [one[name] for name in numbers] for one in scores}


def _compare_scores(
    shown: Sequence[Any], held: dict[tuple[str, ...], list[Any]], cells: Sequence[str], how: str
) -> Looked:
    wanted = [one for one in shown if all(any(cell in str(name) for name in one[:5]) for cell in cells)]
    if not wanted:
        return Looked(f"numbers {how}", "cannot tell", "the report shows no such cell")
    apart = [one for one in wanted if held.get(tuple(map(str, one[:5]))) != one[5:]]
    if apart:
        first = apart[0]
        there = held.get(tuple(map(str, first[:5])))
        why = f"{', '.join(map(str, first[:4]))}: the report shows {first[5]}, and here is {there and there[0]}"
        return Looked(f"{len(wanted)} numbers {how}", "differs", why)
    return Looked(f"{len(wanted)} numbers {how}", "matches")


def _recomputed(place: Store, key: str, shown: Sequence[Any], cells: Sequence[str], deep: int) -> list[Looked]:
    record = next((one for one in reversed(place.runs()) if one["result"] == key), None)
    if record is None:
        return [Looked("computed again", "cannot tell", "the store does not say which study gave this result")]
    plain = {name: value for name, value in record["study"].items() if name != "left_out"}
    try:
        with told_by(place.path):
            target = studies.plan(KINDS[str(plain["kind"])].schema.model_validate(plain, context=RECORDED))
    except (UserError, ValidationError, KeyError, OSError) as error:
        said = error.errors()[0]["msg"].removeprefix("Value error, ") if isinstance(error, ValidationError) else error
        first = short(str(said).splitlines()[0].rstrip("."))
        why = f"its model or data are not here ({first}); paths are those of the folder in which it was made"
        return [Looked("computed again", "cannot tell", why)]
    if target.key != key:
        why = "this version of trueness, or changed data, would compute something else"
        return [Looked("computed again", "cannot tell", why)]
    tasks = walk([target])
    chosen = [one for one in tasks if one.type.light]
    heavy = [one for one in tasks if not one.type.light]
    chosen += random.Random(key).sample(heavy, min(deep, len(heavy)))
    return [_again(place, one, shown if one is target else None, cells) for one in chosen]


def _again(place: Store, task: Task, shown: Sequence[Any] | None, cells: Sequence[str]) -> Looked:
    what = f"{task.type.name} {task.key[:10]} computed again"
    try:
        meta = place.verify(task.key)
    except DamagedObjectError as error:
        return Looked(what, "cannot tell", str(error))
    inputs = {
        name: place.get(keys) if isinstance(keys, str) else [place.get(one) for one in keys]
        for name, keys in task.input_keys.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        other = Store.open(Path(folder) / "store", create=True)
        other.commit(task.key, task.type.function(inputs, **task.parameters), {})
        found = other.meta(task.key)["payloads"]
        if shown is not None:
            compared = _compare_scores(shown, _scores(other, task.key), cells, "computed again")
            if compared.outcome != "matches":
                return compared
    apart = [file for file in meta["payloads"] if meta["payloads"][file] != found.get(file)]
    if apart:
        return Looked(what, "differs", f"{', '.join(apart)} came out otherwise; on another device or version it may")
    return Looked(what, "matches")
