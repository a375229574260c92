"""A look at a dataset before any work starts: sizes, classes, lengths, duplicates, leakage, bad rows."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from trueness.data.check import counts, leakage
from trueness.data.columns import Columns
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.datasets import TEXT_DATASETS, load_text, refuse_columns
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.files import Numbered, read_file, tidied
from trueness.kinds.text.data.folder import find_splits


def check_texts(source: str, *, root: str | Path | None = None, columns: Columns | None = None) -> dict[str, Any]:
    """What is in the dataset of that name, file or folder; see `docs/data.md` for the fields.

    The columns of files are guessed unless they are said.
    """
    if source in TEXT_DATASETS:
        refuse_columns(source, columns)
        return _check_prepared(load_text(source, root=root))
    return _check_text(source, find_splits(Path(source)), columns)


def _check_prepared(dataset: TextDataset) -> dict[str, Any]:
    rows: dict[str, Numbered] = {split: [] for split in dataset.splits}
    for split, part in dataset.splits.items():
        for number, one in enumerate(part, start=1):
            other = None if one.tokens_b is None else " ".join(one.tokens_b)
            rows[split].append((number, RawExample(" ".join(one.tokens), dataset.classes[one.label], other)))
    return {
        "dataset": dataset.name,
        "usable": True,
        "splits": {split: _describe(part) for split, part in rows.items()},
        "vocabulary": len(dataset.vocabulary),
        "notes": list(dataset.notes),
        "leakage": _leakage(rows),
    }


def _check_text(source: str, files: dict[str, Path], columns: Columns | None) -> dict[str, Any]:
    rows: dict[str, Numbered] = {}
    bad: list[dict[str, Any]] = []
    splits = {}
    notes: dict[str, None] = {}
    asked = columns or Columns()
    for split, file in files.items():
        rows[split], told = read_file(
            file, asked, lambda file, row, problem: bad.append({"file": file.name, "row": row, "problem": problem})
        )
        notes |= dict.fromkeys(told)
        splits[split] = {"file": file.name, **_describe(rows[split])}
    raw, spellings = tidied({split: [row for _, row in part] for split, part in rows.items()}, drops=asked.drops)
    notes |= dict.fromkeys(spellings)
    labels = {split: {str(row.label) for row in part} for split, part in raw.items()}
    train = labels.pop("train", set())
    unseen = {split: sorted(found - train) for split, found in labels.items() if train and found - train}
    empty = [split for split, part in raw.items() if not part]
    return {
        "dataset": source,
        "usable": not bad and not empty and not unseen,
        "splits": splits,
        "notes": list(notes),
        "empty_splits": empty,
        "classes_not_in_train": unseen,
        "leakage": _leakage(rows),
        "bad_rows": bad,
    }


def _describe(rows: Numbered) -> dict[str, Any]:
    lengths = [len(row.text.split()) for _, row in rows]
    labels: dict[tuple[str, str | None], set[Any]] = {}
    for _, row in rows:
        labels.setdefault((row.text, row.text_b), set()).add(row.label)
    return {
        "rows": len(rows),
        "pairs": sum(row.text_b is not None for _, row in rows),
        "classes": counts([row.label for _, row in rows]),
        "words": {"fewest": min(lengths), "median": statistics.median(lengths), "most": max(lengths)} if rows else None,
        "duplicates": len(rows) - len(labels),
        "multiline": [number for number, row in rows if "\n" in row.text],
        "contradictory": sum(len(found) > 1 for found in labels.values()),
    }


def _leakage(rows: dict[str, Numbered]) -> list[dict[str, Any]]:
    """Rows of a later split whose text is also in an earlier one."""
    return leakage({split: [(number, (row.text, row.text_b)) for number, row in part] for split, part in rows.items()})
