"""The Mock datasets of AtteFa (2022, section 4.1): sentiment words among filler, their number known."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

from trueness.data.examples import RawExample
from trueness.errors import UserError

FILLER = "something"
TRAIN, TEST = 8000, 1000
SHORTEST, LONGEST = 50, 100
KINDS: dict[str, int | float] = {
    **{f"mock-{number}": number for number in range(1, 11)},
    **{f"mock-{quarters}q": quarters / 4 for quarters in range(1, 5)},
}
"""Informative tokens per example: a number, or (the q sets) a share of the length."""


def mock(
    kind: str, *, seed: int = 0, lexicon: Path | None = None, train: int = TRAIN, test: int = TEST
) -> dict[str, list[RawExample]]:
    """Train and test examples of 50 to 100 tokens, half of them positive; informative words agree with the label.

    Informative positions are drawn uniformly, words with replacement; where they stand is the evidence. Words come from
    `lexicon` (a folder with positive-words.txt and negative-words.txt, the Liu lexicon of the paper) or else from the
    VADER lexicon of the package vaderSentiment.
    """
    words = _liu(lexicon) if lexicon is not None else _vader()
    rng = random.Random(f"{kind}-{seed}")
    return {split: _draw(rng, KINDS[kind], size, words) for split, size in (("train", train), ("test", test))}


def _draw(
    rng: random.Random, informative: int | float, size: int, words: tuple[list[str], list[str]]
) -> list[RawExample]:
    labels = [index % 2 for index in range(size)]
    rng.shuffle(labels)
    examples = []
    for label in labels:
        length = rng.randint(SHORTEST, LONGEST)
        count = informative if isinstance(informative, int) else round(informative * length)
        tokens = [FILLER] * length
        positions = sorted(rng.sample(range(length), count))
        for position in positions:
            tokens[position] = rng.choice(words[label])
        spans = tuple((position, position + 1) for position in positions)
        examples.append(RawExample(" ".join(tokens), label, evidence=spans))
    return examples


def _liu(folder: Path) -> tuple[list[str], list[str]]:
    lists = []
    for name in ("negative-words.txt", "positive-words.txt"):
        path = folder / name
        if not path.is_file():
            raise UserError(f"The lexicon folder {folder} has no {name}.")
        lines = path.read_text(encoding="latin-1").splitlines()
        lists.append([line.strip() for line in lines if line.strip() and not line.startswith(";")])
    return _disjoint(lists[0], lists[1])


def _vader() -> tuple[list[str], list[str]]:
    """Single alphabetic words rated at least one point from neutral (on a scale from -4 to 4)."""
    found = importlib.util.find_spec("vaderSentiment")
    if found is None or not found.submodule_search_locations:
        raise UserError("The mock datasets need words: pip install 'trueness[data]', or give a lexicon folder.")
    path = Path(found.submodule_search_locations[0]) / "vader_lexicon.txt"
    ratings = [line.split("\t")[:2] for line in path.read_text(encoding="utf-8").splitlines()]
    words = [(word, float(rating)) for word, rating in ratings if word.isascii() and word.isalpha()]
    return _disjoint([w for w, r in words if r <= -1], [w for w, r in words if r >= 1])


def _disjoint(negative: list[str], positive: list[str]) -> tuple[list[str], list[str]]:
    """Both lists, sorted, without the words that are in both and without the filler."""
    shared = (set(negative) & set(positive)) | {FILLER}
    return sorted(set(negative) - shared), sorted(set(positive) - shared)
