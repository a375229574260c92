"""The first three bAbI tasks (Weston et al. 2016): our own simulator, and the reader of the original files.

People move between places, pick things up and put them down. A question asks where a person is (task 1), where a thing
is (task 2), or where a thing was before it came to a place (task 3). The supporting sentences are the evidence.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from trueness.boundary import reading
from trueness.data.lines import read_lines
from trueness.errors import UserError
from trueness.kinds.text.data.examples import RawExample

PEOPLE = ("Daniel", "John", "Mary", "Sandra")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
THINGS = ("apple", "football", "milk")
_MOVE = ("moved to", "went to", "journeyed to", "travelled to", "went back to")
_TAKE = ("got", "picked up", "took", "grabbed")
_DROP = ("dropped", "discarded", "put down", "left")
_QUESTIONS = 5
# How often each kind of action is chosen among those possible, and how often "there" ends a sentence: fitted to the
# original training files, task by task (see tests/data/test_babi.py for what is compared).
_WEIGHTS = {1: (1.0, 0.0, 0.0), 2: (0.47, 0.3, 0.23), 3: (0.5, 0.28, 0.22)}
# Task 3 asks while the last sentence about the thing is fresh, seldom while it is carried, mostly of its latest
# journey.
_FRESH, _WHILE_CARRIED, _LATEST = 5, 0.12, 0.35
_THERE = {1: (0.0, 0.0), 2: (1.0, 0.2), 3: (0.19, 0.22)}


@dataclass
class _World:
    """Where everybody and everything is, and which sentence says so."""

    task: int
    rng: random.Random
    place: dict[str, str] = field(default_factory=dict)
    arrival: dict[str, int] = field(default_factory=dict)
    holder: dict[str, str] = field(default_factory=dict)
    lies: dict[str, str] = field(default_factory=dict)
    handled: dict[str, int] = field(default_factory=dict)
    carried: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """Per thing, the places it was carried to since it was last taken, and the sentences that say so."""
    reached: dict[str, int] = field(default_factory=dict)
    """Per thing ever taken, the sentence that says how it came to be where it is."""
    sentences: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lies = {thing: self.rng.choice(PLACES) for thing in THINGS}

    def act(self) -> None:
        """One more sentence: the kind of action is drawn first, then who does it."""
        takes = [
            (person, thing)
            for person, here in self.place.items()
            for thing in THINGS
            if thing not in self.holder and self.lies[thing] == here
        ]
        drops = [(person, thing) for thing, person in self.holder.items()]
        possible = (True, bool(takes), bool(drops))
        weights = [weight if able else 0.0 for weight, able in zip(_WEIGHTS[self.task], possible, strict=True)]
        kind = self.rng.choices(range(3), weights)[0]
        if kind == 0:
            self._move(self.rng.choice(PEOPLE))
        elif kind == 1:
            self._take(*self.rng.choice(takes))
        else:
            self._drop(*self.rng.choice(drops))

    def _move(self, person: str) -> None:
        target = self.rng.choice([place for place in PLACES if place != self.place.get(person)])
        self.place[person], self.arrival[person] = target, len(self.sentences)
        for thing, holder in self.holder.items():
            if holder == person:
                self.carried[thing].append((target, len(self.sentences)))
                self.reached[thing] = len(self.sentences)
        self.sentences.append(f"{person} {self.rng.choice(_MOVE)} the {target}.")

    def _take(self, person: str, thing: str) -> None:
        self.holder[thing], self.handled[thing] = person, len(self.sentences)
        self.carried[thing], self.reached[thing] = [], self.arrival[person]
        self._say(person, _TAKE, thing, _THERE[self.task][0])

    def _drop(self, person: str, thing: str) -> None:
        del self.holder[thing]
        self.lies[thing], self.handled[thing] = self.place[person], len(self.sentences)
        self._say(person, _DROP, thing, _THERE[self.task][1])

    def _say(self, person: str, verbs: tuple[str, ...], thing: str, there: float) -> None:
        end = " there." if self.rng.random() < there else "."
        self.sentences.append(f"{person} {self.rng.choice(verbs)} the {thing}{end}")

    def ask(self) -> tuple[str, str, tuple[int, ...]] | None:
        """A question with its answer and supporting sentences, if the thing drawn has a story long enough."""
        if self.task == 1:
            person = self.rng.choice(sorted(self.place))
            return f"Where is {person}?", self.place[person], (self.arrival[person],)
        if self.task == 2:
            thing = self.rng.choice(THINGS)
            if thing not in self.handled:
                return None
            place = self.place[self.holder[thing]] if thing in self.holder else self.lies[thing]
            return f"Where is the {thing}?", place, (self.handled[thing], self.reached[thing])
        travelled = [thing for thing in self.handled if len(self.carried[thing]) > 1]
        if not travelled:
            return None
        thing = max(travelled, key=self.handled.__getitem__)
        held = thing in self.holder
        if self.rng.random() > _WHILE_CARRIED if held else len(self.sentences) - self.handled[thing] > _FRESH:
            return None
        journey = self.carried[thing]
        last = len(journey) - 1
        at = last if self.rng.random() < _LATEST else self.rng.randint(1, last)
        (before, left), (place, came) = journey[at - 1], journey[at]
        return f"Where was the {thing} before the {place}?", before, (self.handled[thing], came, left)


def simulate_babi(task: int, stories: int, seed: int) -> Iterator[RawExample]:
    """Five questions of each of `stories` stories; every question comes with all sentences before it."""
    rng = random.Random(f"babi-{task}-{seed}")
    for _ in range(stories):
        world = _World(task, rng)
        asked = 0
        while asked < _QUESTIONS:
            world.act()
            world.act()
            found = world.ask()
            if found is not None:
                asked += 1
                question, answer, support = found
                yield _example(world.sentences, question, answer, support)


def read_babi(path: Path) -> Iterator[RawExample]:
    """The questions of an original bAbI file, each with the sentences before it."""
    sentences: dict[int, str] = {}
    for number, line in read_lines(path):
        if line is None:
            raise UserError(f"{path}, line {number} is not UTF-8.")
        match = re.match(r"(\d+) (.*?)\s*$", line)
        if not match:
            raise UserError(f"{path}, line {number} does not begin with a sentence number: {line.strip()[:40]!r}.")
        with reading(f"{path}, line {number}"):
            position, text = int(match[1]), match[2]
        if position == 1:
            sentences = {}
        if "\t" not in text:
            sentences[position] = text
            continue
        parts = text.split("\t")
        if len(parts) != 3 or not sentences:
            raise UserError(f"{path}, line {number} is not a question, its answer and its supporting sentences.")
        order = {position: index for index, position in enumerate(sentences)}
        with reading(f"{path}, line {number}", "names a sentence that is not there"):
            support = tuple(sorted(order[int(item)] for item in parts[2].split()))
        yield _example(list(sentences.values()), parts[0].strip(), parts[1], support)


def _example(sentences: list[str], question: str, answer: str, support: tuple[int, ...]) -> RawExample:
    """Sentences joined by " . " without a last full stop or question mark, as Jain and Wallace have them."""
    words = [sentence.rstrip(".").split() for sentence in sentences]
    tokens: list[str] = []
    spans = []
    for index, sentence in enumerate(words):
        if index:
            tokens.append(".")
        if index in support:
            spans.append((len(tokens), len(tokens) + len(sentence)))
        tokens += sentence
    return RawExample(" ".join(tokens), answer, question.rstrip("?"), tuple(spans))
