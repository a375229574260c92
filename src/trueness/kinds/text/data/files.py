"""Labelled texts from files: empty rows are left out, broken ones refused, labels brought to one spelling."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from trueness.data.columns import Columns
from trueness.data.faults import Faults, Gap, refuse_row, told_gaps
from trueness.data.labels import likely_gaps, spelled_alike, told_spellings
from trueness.errors import UserError
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.folder import Row, find_splits, open_rows, usable
from trueness.kinds.text.data.source import Raw

Numbered = list[tuple[int, RawExample]]
"""Examples with the numbers of their rows."""


def read_files(path: Path, asked: Columns | None = None, *, gaps: bool = True) -> tuple[Raw, tuple[str, ...]]:
    """The splits of a folder or file, and notes, see `read_file`; UserError for the first row that cannot be read."""
    asked = asked or Columns()

    def refuse(file: Path, number: int, fault: str) -> None:
        look = f"`trueness data check {shlex.join([str(path), *_options(asked)])}` lists all; "
        raise refuse_row(str(file), number, fault, look)

    splits: Raw = {}
    notes: dict[str, None] = {}
    for split, file in find_splits(path).items():
        rows, told = read_file(file, asked, refuse, gaps=gaps)
        splits[split] = [one for _, one in rows]
        notes |= dict.fromkeys(told)
    return splits, tuple(notes)


def read_file(
    file: Path, asked: Columns, bad: Callable[[Path, int, str], None], *, gaps: bool = True
) -> tuple[Numbered, list[str]]:
    """The labelled texts of a file, and what was found out of how it is written; `bad` is told of each broken row.

    `asked` are columns not to be guessed; unless `gaps` NaN is a text or label like others. Rows without a text or a
    label are left out and counted. UserError where that leaves none, and no row is broken.
    """
    rows, found = open_rows(file, asked, gaps=gaps), Numbered()
    faults, unlabelled, total, broken = Faults(), list[str](), 0, 0
    for number, row in rows:
        total += 1
        example = usable(row)
        if isinstance(example, RawExample):
            found.append((number, example))
        elif example is None:
            assert isinstance(row, Row)
            unlabelled.append(row.gap)
        elif asked.drops or (gaps and isinstance(example, Gap)):
            faults.add(example, number)
        else:
            broken += 1
            bad(file, number, example)
    if gaps and any(one.text_b is not None for _, one in found):
        faults.add("there is no second text", 0, sum(one.text_b is None for _, one in found))
        found = [(number, one) for number, one in found if one.text_b is not None]
    if unlabelled and not found and not broken:
        raise UserError(f"{file} has no labels{told_gaps(unlabelled)}; label_column names where they are.")
    if faults and not found and not broken:
        raise UserError(f"{file} holds no text that can be used: {faults}.")
    notes = list(rows.notes)
    if faults:
        notes.append(f"{file.name}: {faults.count:,} of {total:,} rows left out: {faults}")
    if unlabelled:
        notes.append(f"{file.name}: {len(unlabelled):,} rows without a label were left out{told_gaps(unlabelled)}")
    return found, notes


def _options(asked: Columns) -> list[str]:
    """Options of commands that choose these columns."""
    named = {"--text-column": asked.text, "--text-b-column": asked.text_b, "--label-column": asked.label}
    return [word for option, name in named.items() if name for word in (option, name)]


def tidied(raw: Raw, *, drops: bool = False) -> tuple[Raw, tuple[str, ...]]:
    """The same with one spelling of each label, and notes; labels that seem to be gaps are said, or left out."""
    labels = [one.label for part in raw.values() for one in part]
    gaps = likely_gaps(labels)
    counted = ", ".join(f"{gap!r} ({labels.count(gap):,})" for gap in gaps)
    notes = []
    if gaps and drops:
        notes.append(f"rows left out whose label seems to stand for none: {counted}")
        raw = {split: [one for one in part if one.label not in gaps] for split, part in raw.items()}
        labels = [label for label in labels if label not in gaps]
    elif gaps:
        few = f'{counted} may stand for no label, and is a class now: bad_rows="drop" leaves such rows out'
        notes.append(f"Warning: the label {few}")
    meant = spelled_alike(labels)
    if meant:
        notes += told_spellings(meant, labels)
        raw = {
            split: [replace(one, label=meant.get(str(one.label), one.label)) for one in part]
            for split, part in raw.items()
        }
    return raw, tuple(notes)
