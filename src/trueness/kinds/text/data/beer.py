"""Beer reviews as Lei et al. (2016) have them, for those who have the files: their owner withdrew the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from trueness.data.lines import read_lines
from trueness.errors import UserError
from trueness.kinds.text.data.examples import RawExample

GOOD, BAD = 0.9, 0.3
"""Looks (the first aspect) from here on, and down to here, as Zhou et al. 2022; those between are left out."""
SIZES = {"train": 5000, "dev": 500, "test": 500}
"""Of each class."""


def read_beer(folder: Path) -> dict[str, list[RawExample]]:
    """The splits of Zhou et al. 2022, as many of each class as they took: good (1) and bad (0) looks.

    A line is five scores from 0 to 1 separated by spaces, a tab, and the tokens.
    """
    files = sorted(folder.glob("reviews.aspect0.train.txt*"))
    if not files:
        raise UserError(f"{folder} has no file reviews.aspect0.train.txt or reviews.aspect0.train.txt.gz.")
    by_label: dict[int, list[RawExample]] = {0: [], 1: []}
    for number, line in read_lines(files[0]):
        scores, _, text = (line or "").partition("\t")
        try:
            look = float(scores.split()[0])
        except (ValueError, IndexError):
            text = ""
        if not text.strip():
            raise UserError(f"{files[0]}, line {number}: expected scores, a tab, and a review.")
        if look >= GOOD or look <= BAD:
            label = int(look >= GOOD)
            by_label[label].append(RawExample(text.strip(), label))
    found: dict[str, list[RawExample]] = {}
    begin = 0
    for split, size in SIZES.items():
        parts = [some[begin : begin + size] for some in by_label.values()]
        found[split] = [example for part in parts for example in part]
        begin += size
        if not all(parts):
            raise UserError(f"{files[0]} has too few good and bad reviews for a split {split}.")
    return found


def as_many_as_beer(splits: Mapping[str, Sequence[RawExample]]) -> dict[str, list[RawExample]]:
    """The first examples of each class, as many as those of the beer reviews: another corpus in their place."""
    found: dict[str, list[RawExample]] = {}
    for split, examples in splits.items():
        left = Counter({label: SIZES.get(split, 0) for label in {example.label for example in examples}})
        found[split] = []
        for example in examples:
            if left[example.label]:
                left[example.label] -= 1
                found[split].append(example)
    return found
