"""A look at a dataset of any kind before any work starts: sizes, classes, duplicates, and what leaks between splits."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from trueness.data.dataset import Dataset


def check_splits(data: Dataset[Any]) -> dict[str, Any]:
    """What is in a dataset that could be read; see `docs/data.md` for the fields."""
    numbered = {split: list(enumerate(some.keys(), start=1)) for split, some in data.splits.items()}
    splits = {
        split: {
            "rows": len(some),
            "classes": counts([data.classes[label] for label in some.labels.tolist() if label >= 0]),
            "duplicates": len(some) - len({key for _, key in numbered[split]}),
        }
        for split, some in data.splits.items()
    }
    return {
        "dataset": data.name,
        "usable": True,
        "splits": splits,
        "notes": list(data.notes),
        "leakage": leakage(numbered),
    }


def counts(labels: Sequence[Any]) -> dict[str, int]:
    """How often each label occurs."""
    return {str(label): count for label, count in sorted(Counter(labels).items(), key=lambda item: str(item[0]))}


def leakage(splits: Mapping[str, Sequence[tuple[int, Hashable]]]) -> list[dict[str, Any]]:
    """Rows of a later split that are also in an earlier one, from numbers of rows and what the same rows share."""
    known = {split: {key for _, key in rows} for split, rows in splits.items()}
    found = []
    for first, second in itertools.combinations(splits, 2):
        shared = [number for number, key in splits[second] if key in known[first]]
        if shared:
            found.append({"from": first, "into": second, "rows": len(shared), "first_rows": shared[:5]})
    return found
