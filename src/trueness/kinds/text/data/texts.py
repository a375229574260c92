"""Texts as people have them, to be explained: from a file, a folder, a table or a list, with labels or without."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueness.data.columns import Columns
from trueness.data.faults import Faults, Gap, refuse_row, told_gaps
from trueness.data.table import SAMPLE, Table
from trueness.errors import UserError
from trueness.kinds.text.data.dataset import TextDataset, prepare, renamed
from trueness.kinds.text.data.datasets import (
    HUB_SPLITS,
    TEXT_DATASETS,
    changed,
    check_name,
    load_text,
    read_hub,
    read_registered,
    refuse_columns,
)
from trueness.kinds.text.data.examples import RawExample, Span
from trueness.kinds.text.data.files import tidied
from trueness.kinds.text.data.folder import (
    Row,
    find_splits,
    open_rows,
    problem_of_label,
    problem_of_text,
    read_evidence,
    rows_of,
)
from trueness.kinds.text.data.source import PLAIN_TEXT, Raw
from trueness.registry import nearest

_WAYS = "a file, a folder, a dataset's name, a pandas DataFrame, a datasets.Dataset, or a list of texts"
_Rows = Iterable[tuple[int, Row | str]]
"""Numbered rows, or what is wrong with them."""


@dataclass(frozen=True)
class Text:
    """A text, or a pair of texts; its label may be unknown."""

    text: str
    label: str | int | None = None
    text_b: str | None = None
    evidence: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class Texts:
    """Texts from one source, none of them empty and none twice."""

    name: str
    texts: tuple[Text, ...] = field(repr=False)
    notes: tuple[str, ...] = ()
    """What was guessed, and how many rows were left out and why: clauses without a full stop."""

    @property
    def pairs(self) -> bool:
        """Whether they are pairs of texts."""
        return any(text.text_b is not None for text in self.texts)

    @property
    def labels(self) -> tuple[str | int, ...]:
        """The different labels, in order of appearance."""
        return tuple(dict.fromkeys(text.label for text in self.texts if text.label is not None))


def read_texts(
    source: Any,
    *,
    split: str | None = None,
    text_column: str | None = None,
    text_b_column: str | None = None,
    label_column: str | None = None,
    bad_rows: str = "refuse",
    root: str | Path | None = None,
) -> Texts:
    """Texts from a file, a folder, a dataset's name, a table in memory, or a list.

    A table in memory is a pandas DataFrame or a `datasets.Dataset`; the items of a list are texts, pairs of text and
    label, or mappings. Of several splits `split` names one; by default it is test, else dev, else the only one. Columns
    that are not said are guessed by their names; an empty name says that there is none. Labels may be missing. Empty
    rows, and texts that stood in a row before, are left out and counted in the notes. UserError for a row that cannot
    be read, unless `bad_rows="drop"` leaves these out too, and where nothing is left.
    """
    asked = Columns(text_column, text_b_column, label_column, bad_rows)
    name, rows, notes = _opened(source, split, asked, root)
    unread = label_column == ""
    return _kept(name, _without_labels(rows) if unread else rows, notes, unread=unread, drops=asked.drops)


def as_dataset(
    source: Any, *, root: str | Path | None = None, columns: Columns | None = None, **changes: object
) -> TextDataset:
    """A dataset of whatever `read_texts` and `load_text` take: by name, from files, or of a table or list in memory.

    What is in memory has one split, or is a mapping of splits. Texts without a label are left out and counted.
    """
    if isinstance(source, TextDataset):
        return source
    if isinstance(source, str | Path):
        return load_text(str(source), root=root, columns=columns, **changes)
    asked = columns or Columns()
    splits = source if isinstance(source, Mapping) and source and set(source) <= {*HUB_SPLITS} else {"all": source}
    raw: dict[str, list[RawExample]] = {}
    notes: dict[str, None] = {}
    for split, part in splits.items():
        found = _kept(*_opened(part, None, asked, root), drops=asked.drops)
        notes |= dict.fromkeys(found.notes)
        labelled = [RawExample(**vars(text)) for text in found.texts if text.label is not None]
        if not labelled:
            raise UserError(f"{found.name} has no labels: give pairs of text and label, or name the column of labels.")
        raw[HUB_SPLITS.get(split, split)] = labelled
    raw, told = tidied(raw, drops=asked.drops)
    prepared = prepare(found.name, raw, changed(PLAIN_TEXT, changes))
    return replace(prepared, notes=(*notes, *told, *prepared.notes))


def _without_labels(rows: _Rows) -> _Rows:
    return (
        (number, row if isinstance(row, str) else replace(row, label=None, fault="", gap="")) for number, row in rows
    )


def _opened(source: Any, split: str | None, asked: Columns, root: str | Path | None) -> tuple[str, _Rows, list[str]]:
    """The name of a source, its rows, and what was found out on the way."""
    if isinstance(source, str | Path):
        return _named(str(source), split, asked, root)
    if isinstance(source, Mapping) and source and set(source) <= {*HUB_SPLITS}:
        chosen, notes = _split("The data", list(source), split)
        name, rows, more = _opened(source[chosen], None, asked, root)
        return name, rows, [*notes, *more]
    if split is not None:
        raise UserError(f"The data have no splits, so that there is no split {split!r}.")
    if hasattr(source, "iloc") and hasattr(source, "columns"):
        names = [str(column) for column in source.columns]
        cells = [source.iloc[:, place].tolist() for place in range(len(names))]
        records = [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]
        return _tabled("the table", names, records, asked)
    if hasattr(source, "column_names") and hasattr(source, "features"):
        name, rows, notes = _tabled("the dataset", list(source.column_names), list(source), asked)
        return name, _with_gaps(rows, source.features), notes
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return _listed(list(source), asked)
    raise UserError(f"An object of type {type(source).__name__} holds no texts: give {_WAYS}.")


def _named(name: str, split: str | None, asked: Columns, root: str | Path | None) -> tuple[str, _Rows, list[str]]:
    """A registered dataset, one of the hub, a file or a folder."""
    if name in TEXT_DATASETS or name.startswith("hf:"):
        if name.startswith("hf:"):
            raw, found = read_hub(name, asked)
        else:
            refuse_columns(name, asked)
            raw, found = _relabelled(name, root), ()
        chosen, notes = _split(name, list(raw), split)
        rows = enumerate((Row(**vars(example)) for example in raw[chosen]), start=1)
        return name, rows, [*notes, *found]
    check_name(name)
    files = find_splits(Path(name))
    chosen, notes = _split(name, list(files), split)
    opened = open_rows(files[chosen], asked, labelled=False)
    return name, opened, [*notes, *opened.notes]


def _relabelled(name: str, root: str | Path | None) -> Raw:
    """The splits of a registered dataset with the labels that its preparation gives; the texts stay as they are."""
    how = TEXT_DATASETS[name].preparation
    raw = {split: renamed(part, how) for split, part in read_registered(name, root).items()}
    kept = how.classes
    return {split: [one for one in part if kept is None or str(one.label) in kept] for split, part in raw.items()}


def _split(name: str, splits: Sequence[str], wanted: str | None) -> tuple[str, list[str]]:
    """The split to be read, and a note where there was a choice."""
    if wanted is not None and wanted not in splits:
        raise UserError(f"{name} has no split {wanted!r}; {nearest(wanted, list(splits))}")
    usual = [split for split in ("test", "dev", "validation", "valid") if split in splits]
    chosen = wanted or (usual or list(splits))[0]
    if len(splits) == 1 and chosen != "train":
        return chosen, []
    trained = "; a model that was trained on them knows them" if chosen == "train" else ""
    return chosen, [f"texts of the split {chosen}{trained}"]


def _tabled(
    name: str, names: list[str], records: Sequence[Mapping[str, Any]], asked: Columns
) -> tuple[str, _Rows, list[str]]:
    if not records:
        raise UserError(f"{name[0].upper()}{name[1:]} has no rows.")
    twice = next((column for column in names if names.count(column) > 1), None)
    if twice is not None:
        raise UserError(f"{name[0].upper()}{name[1:]} has the column {twice} twice.")
    rows = rows_of(Table(name, names, lambda: enumerate(records, start=1)), asked)
    return f"{name} of {len(records):,} rows", rows, list(rows.notes)


def _with_gaps(rows: _Rows, features: Any) -> Iterator[tuple[int, Row | str]]:
    """Where labels are the numbers of named classes, -1 says that there is none."""
    named = any(hasattr(feature, "names") for feature in dict(features).values())
    for number, row in rows:
        gap = named and isinstance(row, Row) and row.label == -1
        yield number, Row(row.text, None, row.text_b, row.evidence) if gap and isinstance(row, Row) else row


def _listed(items: list[Any], asked: Columns) -> tuple[str, _Rows, list[str]]:
    """Texts, pairs of text and label, examples, mappings."""
    name, notes = f"{len(items):,} texts", []
    if not items:
        raise UserError("There is no text.")
    records = [item for item in items if isinstance(item, Mapping)]
    if asked.asked and not records:
        raise UserError("A list of texts has no columns to choose from.")
    rows = None
    if records:
        names = dict.fromkeys(str(key) for record in records[:SAMPLE] for key in record)
        rows = rows_of(Table("the list", list(names), lambda: enumerate(records, start=1)), asked)
        notes = list(rows.notes)
    found: list[tuple[int, Row | str]] = []
    for number, item in enumerate(items, start=1):
        match item:
            case Mapping():
                assert rows is not None
                found.append((number, rows.row(item)))
            case RawExample() | Text():
                found.append((number, Row(**vars(item))))
            case [text, label]:
                found.append((number, Row(text, label)))
            case list() | tuple():
                raise UserError(f"Item {number} of the list is no pair of text and label: give {_WAYS}.")
            case _:
                found.append((number, Row(item)))
    return name, found, notes


def _kept(name: str, rows: _Rows, notes: list[str], *, unread: bool = False, drops: bool = False) -> Texts:
    """The rows that can be used, and how many could not; bad ones are dropped or refused."""
    texts: dict[tuple[str, str | None], Text] = {}
    faults, labels, gaps = Faults(), Faults(), list[str]()
    again = differing = total = 0
    for number, row in rows:
        total += 1
        text = row if isinstance(row, str) else _read(row)
        if isinstance(text, str):
            if not drops and not isinstance(text, Gap):
                raise refuse_row(name, number, text)
            faults.add(text, number)
        elif (before := texts.get((text.text, text.text_b))) is not None:
            again += 1
            differing += before.label != text.label
        else:
            texts[text.text, text.text_b] = text
            if isinstance(row, Row) and (problem := _label(row)[1]):
                labels.add(problem, number)
            gaps += [row.gap] if isinstance(row, Row) else []
    if any(text_b is not None for _, text_b in texts):
        alone = [key for key in texts if key[1] is None]
        faults.add("there is no second text", 0, len(alone))
        for key in alone:
            del texts[key]
    if not texts:
        raise UserError(f"{name} holds no text that can be used: {faults or 'there are no rows'}.")
    if faults:
        notes = [*notes, f"{faults.count:,} of {total:,} rows left out: {faults}"]
    if again:
        told = f", {differing:,} of them with another label" if differing else ""
        notes = [*notes, f"{again:,} of {total:,} rows left out: the text stood in a row before{told}"]
    about_labels = _told_of_labels(list(texts.values()), labels, told_gaps(gaps))
    if unread:
        about_labels = iter(["labels were not read, as asked"])
    return Texts(name, tuple(texts.values()), (*notes, *about_labels))


def _told_of_labels(texts: Sequence[Text], faults: Faults, gaps: str) -> Iterator[str]:
    missing = sum(text.label is None for text in texts)
    if missing:
        yield (
            f"the texts have no labels{gaps}"
            if missing == len(texts)
            else f"{missing:,} of {len(texts):,} texts have no label{gaps}"
        )
    if faults:
        yield f"{faults.count:,} labels count as missing: {faults}"


def _read(row: Row) -> Text | str:
    """A text, or what is wrong with it; a label that cannot be used is none."""
    text, text_b = (None if _is_gap(cell) else cell for cell in (row.text, row.text_b))
    if problem := problem_of_text(text, text_b):
        return Gap("the text is empty") if text is None else problem
    spans = read_evidence(None if _is_gap(row.evidence) else row.evidence, str(text))
    if isinstance(spans, str):
        return spans
    return Text(str(text), _label(row)[0], None if text_b is None else str(text_b), spans)


def _label(row: Row) -> tuple[str | int | None, str]:
    """A label, or None and what is wrong with it; nothing is where there is none."""
    label: Any = row.label.item() if isinstance(row.label, np.generic) else row.label
    if row.fault or _is_gap(label) or (isinstance(label, str) and not label.strip()):
        return None, row.fault
    if isinstance(label, bool) or (isinstance(label, float) and label.is_integer()):
        label = int(label)
    problem = problem_of_label(label)
    return (None, problem) if problem else (label, "")


def _is_gap(cell: object) -> bool:
    """Whether it is what a table has in the place of nothing: None, NaN, or pandas' own."""
    return (
        cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and math.isnan(cell))
    )
