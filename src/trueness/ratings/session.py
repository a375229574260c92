"""A rating that goes on: its questions in a file, answers in another that only grows, raters as opaque numbers."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import random
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trueness.boundary import first_line, parse_json, printable, read_ordinary, short
from trueness.engine import StoreError, disk, write_atomically
from trueness.errors import UserError
from trueness.ratings import Mode
from trueness.ratings.design import Design, Item, make_design
from trueness.report.instances import Instances

_LARGEST = 256 << 20
"""Bytes of a design, and of all answers."""
RATER = 16
"""Letters of a rater's number."""


class AnswerError(Exception):
    """An answer that cannot be taken; says why."""


@dataclass(frozen=True)
class Answer:
    """What one rater said of one item."""

    rater: str
    item: int
    answer: Any
    """Of a pair the method that was chosen, or None for neither; else a class, or places of words."""


class Session:
    """Open with `open_session`. Safe for several threads."""

    def __init__(self, folder: Path, design: Design) -> None:
        self.folder, self.design = folder, design
        self._lock = threading.Lock()
        self._answers = read_answers(folder, design)

    @property
    def answers(self) -> Sequence[Answer]:
        """All so far."""
        return tuple(self._answers)

    def next(self, rater: str) -> dict[str, Any]:
        """The rater's next question as their page gets it, or that all are answered."""
        order = self._order(rater)
        with self._lock:
            done = {one.item for one in self._answers if one.rater == rater}
        left = [number for number in order if number not in done]
        told: dict[str, Any] = {
            "mode": self.design.mode,
            "total": len(order),
            "done": len(order) - len(left),
            "item": None,
        }
        if left:
            item = self.design.items[left[0]]
            shown = item.marks[::-1] if self._swapped(rater, left[0]) else item.marks
            told["item"] = {
                "id": self._name(rater, left[0]),
                "words": [printable(word).replace("\n", " ") for word in item.words],
                "marks": shown,
                # In a forward simulation the model's answer is what is asked for.
                "predicted": "" if self.design.mode == "simulation" else printable(item.predicted),
                "classes": [printable(name) for name in self.design.classes],
            }
        return told

    def answer(self, rater: str, name: Any, given: Any) -> None:
        """Take an answer; AnswerError where there is no such question, or it was answered before."""
        number = next((one for one in range(len(self.design.items)) if self._name(rater, one) == name), None)
        if number is None:
            raise AnswerError("There is no such question; reload the page.")
        item = self.design.items[number]
        meant = self._meant(item, given, swapped=self._swapped(rater, number))
        line = {"rater": rater, "item": number, "answer": meant, "minute": int(time.time()) // 60}
        with self._lock:
            if any(one.rater == rater and one.item == number for one in self._answers):
                raise AnswerError("This question was answered before; reload the page.")
            _append(self.folder / "answers.jsonl", json.dumps(line))
            self._answers.append(Answer(rater, number, meant))

    def _meant(self, item: Item, given: Any, *, swapped: bool) -> Any:
        """An answer of a page in words of the design."""
        if self.design.mode == "pairwise" and given in ("left", "right", "neither"):
            if given == "neither":
                return None
            return item.shown[(given == "right") != swapped]
        if self.design.mode == "simulation" and isinstance(given, int) and 0 <= given < len(self.design.classes):
            return self.design.classes[given]
        if self.design.mode == "highlight" and isinstance(given, list) and 0 < len(given) <= len(item.words):
            places = range(len(item.words))
            if all(isinstance(one, int) and not isinstance(one, bool) and one in places for one in given):
                return sorted(set(given))
        raise AnswerError("This is no answer to the question; reload the page.")

    def _order(self, rater: str) -> list[int]:
        """First every item once, then the repeated ones: an order of the rater's own."""
        draw = random.Random(self._digest(rater, "order"))
        first, again = (
            [n for n, one in enumerate(self.design.items) if one.repeated is asked] for asked in (False, True)
        )
        draw.shuffle(first)
        draw.shuffle(again)
        return first + again

    def _swapped(self, rater: str, number: int) -> bool:
        """Whether sides are exchanged: for half of the raters and items; a repeated item has the other side."""
        item = self.design.items[number]
        original = next(
            n for n, one in enumerate(self.design.items) if one.text == item.text and one.shown == item.shown
        )
        return (int(self._digest(rater, f"side{original}")[:2], 16) % 2 == 1) != item.repeated

    def _name(self, rater: str, number: int) -> str:
        return self._digest(rater, f"item{number}")[:24]

    def _digest(self, rater: str, what: str) -> str:
        return hmac.new(self.design.secret.encode(), f"{rater}/{what}".encode(), hashlib.sha256).hexdigest()


def new_rater() -> str:
    """A number that says nothing of anybody."""
    return secrets.token_hex(RATER // 2)


def is_rater(text: str) -> bool:
    """Whether text is a number of a rater."""
    return len(text) == RATER and not set(text) - set("0123456789abcdef")


def folder_of(store: Path, result: str, mode: Mode, seed: int) -> Path:
    """Where a rating is kept."""
    return store / "ratings" / f"{mode}-{result[:12]}-{seed}"


def open_session(
    store: Path,
    instances: Instances,
    *,
    result: str,
    mode: Mode,
    items: int,
    seed: int,
    methods: Sequence[str] = (),
    begin: bool = True,
) -> Session:
    """The rating of these settings; one that was begun goes on as it was designed.

    Without `begin` it must have been begun, and nothing is written.
    """
    folder = folder_of(store, result, mode, seed)
    path = folder / "design.json"
    if not path.exists():
        if not begin:
            raise UserError(
                f"No {mode} rating of {result[:10]} with seed {seed} was begun; leave out --analyse to begin."
            )
        made = make_design(
            instances, mode=mode, result=result, items=items, seed=seed, secret=secrets.token_hex(16), methods=methods
        )
        with disk(f"the rating {folder}", full="free some space", refused="choose a store that can be written"):
            folder.mkdir(parents=True, exist_ok=True)
            content = json.dumps(made.model_dump(), ensure_ascii=False).encode("utf-8", "replace")
            write_atomically(path, content)
    return Session(folder, read_design(path))


def read_design(path: Path) -> Design:
    """UserError for what is not one."""
    try:
        return Design.model_validate_json(read_ordinary(path, _LARGEST, links=False))
    except (OSError, ValidationError) as error:
        raise UserError(f"{short(path)} is not the design of a rating; begin one with `trueness rate`.") from error


def read_answers(folder: Path, design: Design) -> list[Answer]:
    """All whole lines; the first answer of a rater to an item counts."""
    found: dict[tuple[str, int], Answer] = {}
    try:
        content = read_ordinary(folder / "answers.jsonl", _LARGEST, links=False)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"{folder / 'answers.jsonl'} cannot be read ({first_line(error)}); move it away.") from error
    for line in content.split(b"\n"):
        with contextlib.suppress(ValueError, KeyError, TypeError):  # cut short by a power failure
            plain = parse_json(line)
            if 0 <= plain["item"] < len(design.items) and is_rater(plain["rater"]):
                one = Answer(plain["rater"], plain["item"], plain["answer"])
                found.setdefault((one.rater, one.item), one)
    return list(found.values())


def _append(path: Path, line: str) -> None:
    """One line, on the disk when this returns; after a line that was cut short it begins anew."""
    with disk(f"the answers {path}", full="free some space", refused="choose a store that can be written"):
        kept = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | kept, 0o644)
        try:
            content = f"\n{line}\n".encode()
            if os.write(handle, content) != len(content):
                raise StoreError(f"The disk that holds {path} is full; free some space.")
            os.fsync(handle)
        finally:
            os.close(handle)
