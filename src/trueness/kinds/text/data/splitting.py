"""One file of labelled texts written as three: seeded, every class in each, no text in two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trueness.boundary import because, exists
from trueness.data.dataset import SPLITS, deal
from trueness.engine import disk, write_atomically
from trueness.errors import UserError


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
