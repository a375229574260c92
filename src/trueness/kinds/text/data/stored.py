"""How a prepared dataset of texts is kept between tasks: a table of examples, and facts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from trueness.engine import Stored


def pack(data: TextDataset, vectors: str | Path | None = None) -> dict[str, Any]:
    """The payloads that hold a dataset, and word vectors for its vocabulary where these are asked for."""
    import pandas as pd

    from trueness.kinds.text.data.word_vectors import bare_words, load_vectors, note_on

    rows = [
        {
            "split": split,
            "tokens": " ".join(example.tokens),
            "label": example.label,
            "tokens_b": None if example.tokens_b is None else " ".join(example.tokens_b),
            "evidence": _written(example.evidence),
            **({} if example.decoys is None else {"decoys": _written(example.decoys)}),
        }
        for split, part in data.splits.items()
        for example in part
    ]
    notes = list(data.notes)
    coverage: dict[str, Any] = {}
    payloads: dict[str, Any] = {"examples": pd.DataFrame(rows)}
    if vectors is not None:
        table, found = load_vectors(vectors, data.vocabulary)
        notes.append(note_on(vectors, table, found, data))
        payloads["vectors"] = {"table": table}
        bare, share = bare_words(found, data)
        coverage = {"coverage": {"vectors": Path(vectors).name, "without": share, "words": bare[:5]}}
    payloads["dataset"] = {
        "name": data.name,
        "classes": list(data.classes),
        "preparation": asdict(data.preparation),
        "notes": notes,
        "words": list(data.vocabulary.words),
        **coverage,
    }
    return payloads


def unpack(stored: Stored) -> TextDataset:
    """The dataset again."""
    about = stored.read("dataset")
    how = about["preparation"]
    how["classes"] = None if how["classes"] is None else tuple(how["classes"])
    splits: dict[str, Any] = {}
    for row in stored.read("examples").itertuples():
        other = None if row.tokens_b is None else tuple(row.tokens_b.split(" ")) if row.tokens_b else ()
        evidence, decoys = (_read(given) for given in (row.evidence, getattr(row, "decoys", None)))
        example = TextExample(tuple(row.tokens.split(" ")), int(row.label), other, evidence, decoys)
        splits.setdefault(row.split, []).append(example)
    vocabulary = Vocabulary(tuple(about["words"]))
    notes = tuple(about["notes"])
    return TextDataset(about["name"], tuple(about["classes"]), splits, vocabulary, Preparation(**how), notes)


def _written(values: tuple[bool, ...] | None) -> str | None:
    return None if values is None else "".join("01"[value] for value in values)


def _read(written: str | None) -> tuple[bool, ...] | None:
    return None if written is None else tuple(value == "1" for value in written)
