"""Splits for training, development and test, made of what there is: seeded, every class in each, no text in two."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueness.boundary import because, exists
from trueness.engine import disk, write_atomically
from trueness.errors import UserError
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.folder import SPLITS
from trueness.kinds.text.data.vocabulary import Vocabulary

SHARES = (0.7, 0.15, 0.15)


def deal(
    texts: Sequence[Hashable], labels: Sequence[Hashable], shares: Sequence[float] = SHARES, seed: int = 0
) -> list[list[int]]:
    """The numbers of the texts of each part, in order: texts that are the same stay together, classes keep their share.

    A class of one text is in the first part.
    """
    same: dict[Hashable, list[int]] = {}
    for number, text in enumerate(texts):
        same.setdefault(text, []).append(number)
    by_class: dict[Hashable, list[list[int]]] = {}
    for group in same.values():
        by_class.setdefault(labels[group[0]], []).append(group)
    rng = np.random.default_rng([seed, *b"split"])
    found: list[list[int]] = [[] for _ in shares]
    for groups in by_class.values():
        ends = np.cumsum(shares) / sum(shares) * sum(map(len, groups))
        done = 0
        for place in rng.permutation(len(groups)).tolist():
            part = int(np.searchsorted(ends[:-1], done + len(groups[place]) / 2))
            found[part] += groups[place]
            done += len(groups[place])
    return [sorted(part) for part in found]


def with_splits(data: TextDataset, seed: int = 0) -> TextDataset:
    """The same with splits for training, development and test.

    What is missing is set aside from the training split; without one all texts are split anew.
    """
    missing = [split for split in SPLITS if split not in data.splits]
    if not missing:
        return data
    anew = "train" in missing
    pool = list(data.splits.get("train", [one for some in data.splits.values() for one in some]))
    names = SPLITS if anew else ("train", *missing)
    shares = [SHARES[SPLITS.index(name)] for name in names]
    if not anew:
        shares[0] = 1 - sum(shares[1:])
    parts = deal([(one.tokens, one.tokens_b) for one in pool], [one.label for one in pool], shares, seed)
    made = {name: [pool[number] for number in part] for name, part in zip(names, parts, strict=True)}
    for name, examples in made.items():
        if not examples:
            raise UserError(f"{data.name} has too few texts for a split {name}{because(data.notes)}.")
    said = ", ".join(f"{name} {len(some):,}" for name, some in made.items())
    note = f"no split {' and '.join(missing)}: {'all texts' if anew else 'the split train'} split anew ({said})"
    vocabulary = Vocabulary.of(made["train"], min_count=data.preparation.min_count)
    splits = {**({} if anew else data.splits), **made}
    return replace(data, splits=splits, vocabulary=vocabulary, notes=(*data.notes, note))


def write_splits(source: str | Path, folder: str | Path, *, seed: int = 0, **columns: str) -> dict[str, Any]:
    """Write train, dev and test as JSON lines; how many texts each has, and what was guessed or left out."""
    from trueness.kinds.text.data.texts import read_texts

    place = Path(folder)
    if exists(place):
        raise UserError(f"{place} is there already; choose another folder.")
    found = read_texts(source, **columns)
    texts = [text for text in found.texts if text.label is not None]
    if not texts:
        raise UserError(f"{found.name} has no labels to split by; label_column names where they are.")
    parts = deal([(text.text, text.text_b) for text in texts], [text.label for text in texts], seed=seed)
    for name, part in zip(SPLITS, parts, strict=True):
        if not part:
            raise UserError(f"{found.name} has too few texts for a split {name}{because(found.notes)}.")
    with disk(f"the folder {place}", full="free some space", refused="choose another one"):
        place.mkdir(parents=True)
        for name, part in zip(SPLITS, parts, strict=True):
            rows = [{key: value for key, value in vars(texts[number]).items() if value is not None} for number in part]
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            write_atomically(place / f"{name}.jsonl", lines.encode())
    sizes = {name: len(part) for name, part in zip(SPLITS, parts, strict=True)}
    return {"folder": str(place), "splits": sizes, "notes": list(found.notes)}
