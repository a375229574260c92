"""The Mock datasets of AtteFa (2022, section 4.1): sentiment words among filler, their number known."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal

from trueness.boundary import is_file, reading
from trueness.errors import UserError, install
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.folder import package_folder

FILLER = "something"
TRAIN, TEST = 8000, 1000
SHORTEST, LONGEST = 50, 100
KINDS: dict[str, int | float] = {
    **{f"mock-{number}": number for number in range(1, 11)},
    **{f"mock-{quarters}q": quarters / 4 for quarters in range(1, 5)},
}
"""Informative tokens per example: a number, or (the q sets) a share of the length."""

Placement = Literal["anywhere", "start", "middle", "end"]
"""Where informative words stand: anywhere, or in the first, middle or last third."""
Strength = Literal["any", "weak", "strong"]
"""How strong the words are: rated at least 1, below 2, or at least 2 points from neutral, on a scale from -4 to 4."""


def mock(
    kind: str,
    *,
    seed: int = 0,
    lexicon: Path | None = None,
    train: int = TRAIN,
    test: int = TEST,
    placement: Placement = "anywhere",
    strength: Strength = "any",
) -> dict[str, list[RawExample]]:
    """Train and test examples of 50 to 100 tokens, half of them positive; informative words agree with the label.

    Informative positions are drawn uniformly, words with replacement; where they stand is the evidence. Words come from
    `lexicon` (a folder with positive-words.txt and negative-words.txt, the Liu lexicon of the paper) or else from the
    VADER lexicon of the package vaderSentiment, which alone tells how strong a word is.
    """
    if lexicon is not None and strength != "any":
        raise UserError("The lexicon folder does not say how strong a word is; leave it out to use VADER's ratings.")
    words = _liu(lexicon) if lexicon is not None else _vader(strength)
    rng = random.Random(f"{kind}-{seed}")
    sizes = {"train": train, "test": test}
    return {split: _draw(rng, KINDS[kind], size, words, placement) for split, size in sizes.items()}


def _draw(
    rng: random.Random, informative: int | float, size: int, words: tuple[list[str], list[str]], placement: Placement
) -> list[RawExample]:
    labels = [index % 2 for index in range(size)]
    rng.shuffle(labels)
    examples = []
    for label in labels:
        length = rng.randint(SHORTEST, LONGEST)
        count = informative if isinstance(informative, int) else round(informative * length)
        tokens = [FILLER] * length
        third = {"anywhere": (0, 3), "start": (0, 1), "middle": (1, 2), "end": (2, 3)}[placement]
        room = range(third[0] * length // 3, third[1] * length // 3)
        if count > len(room):
            raise UserError(f"{count} informative words do not fit into the {placement} third of {length} tokens.")
        positions = sorted(rng.sample(room, count))
        for position in positions:
            tokens[position] = rng.choice(words[label])
        spans = tuple((position, position + 1) for position in positions)
        examples.append(RawExample(" ".join(tokens), label, evidence=spans))
    return examples


def _liu(folder: Path) -> tuple[list[str], list[str]]:
    lists = []
    for name in ("negative-words.txt", "positive-words.txt"):
        path = folder / name
        if not is_file(path):
            raise UserError(f"The lexicon folder {folder} has no {name}.")
        with reading(path):
            lines = path.read_text(encoding="latin-1").splitlines()
        lists.append([line.strip() for line in lines if line.strip() and not line.startswith(";")])
    negative, positive = _disjoint(lists[0], lists[1])
    if not negative or not positive:
        raise UserError(f"The lexicon folder {folder} has no words that are positive or negative only.")
    return negative, positive


def _vader(strength: Strength) -> tuple[list[str], list[str]]:
    """Single alphabetic words of that strength."""
    missing = f"The mock datasets need words: {install('data')}, or give a lexicon folder."
    path = package_folder("vaderSentiment", missing) / "vader_lexicon.txt"
    ratings = [line.split("\t")[:2] for line in path.read_text(encoding="utf-8").splitlines()]
    # Two words are listed twice; the last rating counts.
    words = {word: float(rating) for word, rating in ratings if word.isascii() and word.isalpha()}
    low, high = {"any": (1.0, 9.0), "weak": (1.0, 2.0), "strong": (2.0, 9.0)}[strength]
    return _disjoint(*([word for word, rating in words.items() if low <= sign * rating < high] for sign in (-1, 1)))


def _disjoint(negative: list[str], positive: list[str]) -> tuple[list[str], list[str]]:
    """Both lists, sorted, without the words that are in both and without the filler."""
    shared = (set(negative) & set(positive)) | {FILLER}
    return sorted(set(negative) - shared), sorted(set(positive) - shared)
