"""A look at a dataset before any work starts: sizes, classes, lengths, duplicates, leakage, bad rows."""

from __future__ import annotations

import statistics
from collections import Counter
from pathlib import Path
from typing import Any

from trueness.boundary import exists
from trueness.data.dataset import TextDataset
from trueness.data.folder import BadRow, Row, find_splits, read_rows
from trueness.data.text_datasets import TEXT_DATASETS, load_text
from trueness.data.vectors import VECTOR_DATASETS, VectorDataset
from trueness.errors import UserError
from trueness.registry import nearest


def check_dataset(source: str, *, root: str | Path | None = None) -> dict[str, Any]:
    """What is in the dataset of that name, file or folder; see `docs/data.md` for the fields."""
    if source in VECTOR_DATASETS:
        return _check_vectors(source)
    if source in TEXT_DATASETS:
        return _check_prepared(load_text(source, root=root))
    path = Path(source)
    if not exists(path):
        known = [*VECTOR_DATASETS, *TEXT_DATASETS]
        raise UserError(f"There is no dataset, file or folder {source!r}; {nearest(source, known)}")
    return _check_text(source, find_splits(path))


def _check_vectors(name: str) -> dict[str, Any]:
    dataset: VectorDataset = VECTOR_DATASETS[name](0)
    splits = {
        split: {"rows": len(part), "classes": _counts(part.labels.tolist()), "features": dataset.width}
        for split, part in (("train", dataset.train), ("test", dataset.test))
    }
    return {"dataset": name, "usable": True, "splits": splits, "evidence": int(dataset.evidence.sum())}


def _counts(labels: list[Any]) -> dict[str, int]:
    return {str(label): count for label, count in sorted(Counter(labels).items(), key=lambda item: str(item[0]))}


def _check_prepared(dataset: TextDataset) -> dict[str, Any]:
    rows = {
        split: [
            Row(number, " ".join(example.tokens), dataset.classes[example.label], _joined(example.tokens_b))
            for number, example in enumerate(part, start=1)
        ]
        for split, part in dataset.splits.items()
    }
    return {
        "dataset": dataset.name,
        "usable": True,
        "splits": {split: _describe(part) for split, part in rows.items()},
        "vocabulary": len(dataset.vocabulary),
        "notes": list(dataset.notes),
        "leakage": _leakage(rows),
    }


def _joined(tokens: tuple[str, ...] | None) -> str | None:
    return None if tokens is None else " ".join(tokens)


def _check_text(source: str, files: dict[str, Path]) -> dict[str, Any]:
    rows: dict[str, list[Row]] = {}
    bad: list[dict[str, Any]] = []
    splits = {}
    for split, file in files.items():
        rows[split] = []
        for row in read_rows(file):
            if isinstance(row, BadRow):
                bad.append({"file": file.name, "row": row.number, "problem": row.problem})
            else:
                rows[split].append(row)
        splits[split] = {"file": file.name, **_describe(rows[split])}
    train = {str(row.label) for row in rows.get("train", [])}
    unseen = {
        split: sorted({str(row.label) for row in part} - train)
        for split, part in rows.items()
        if train and split != "train"
    }
    empty = [split for split, part in rows.items() if not part]
    return {
        "dataset": source,
        "usable": not bad and not empty and not any(unseen.values()),
        "splits": splits,
        "empty_splits": empty,
        "classes_not_in_train": {split: labels for split, labels in unseen.items() if labels},
        "leakage": _leakage(rows),
        "bad_rows": bad,
    }


def _describe(rows: list[Row]) -> dict[str, Any]:
    lengths = [len(row.text.split()) for row in rows]
    texts = Counter((row.text, row.text_b) for row in rows)
    labels: dict[tuple[str, str | None], set[Any]] = {}
    for row in rows:
        labels.setdefault((row.text, row.text_b), set()).add(row.label)
    return {
        "rows": len(rows),
        "pairs": sum(row.text_b is not None for row in rows),
        "classes": _counts([row.label for row in rows]),
        "words": {"fewest": min(lengths), "median": statistics.median(lengths), "most": max(lengths)} if rows else None,
        "duplicates": sum(count - 1 for count in texts.values()),
        "multiline": [row.number for row in rows if "\n" in row.text],
        "contradictory": sum(len(found) > 1 for found in labels.values()),
    }


def _leakage(rows: dict[str, list[Row]]) -> list[dict[str, Any]]:
    """Rows of a later split whose text is also in an earlier one."""
    texts = {split: {(row.text, row.text_b) for row in part} for split, part in rows.items()}
    names = list(rows)
    found = []
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            shared = [row.number for row in rows[second] if (row.text, row.text_b) in texts[first]]
            if shared:
                found.append({"from": first, "into": second, "rows": len(shared), "first_rows": shared[:5]})
    return found
