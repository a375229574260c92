"""Text datasets in files: a folder with train, dev and test, or one file.

Columns: `text`, `label`, optionally `text_b` (pairs) and `evidence` (token spans); other names are guessed, or asked
for. Formats: .jsonl, .csv, .tsv and .txt with tabs, all also .gz, and .parquet.
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trueness.boundary import exists, is_file, quoted, short, whole
from trueness.data.columns import Columns, choose_columns
from trueness.data.dataset import SPLITS
from trueness.data.faults import Gap
from trueness.data.labels import GAPS, read_label
from trueness.data.table import Table, open_table
from trueness.errors import UserError
from trueness.kinds.text.data.examples import RawExample, Span

SUFFIXES = (".jsonl.gz", ".csv.gz", ".jsonl", ".csv", ".parquet")
SEPARATED = (".tsv", ".tsv.gz", ".txt", ".txt.gz")
"""Files with tabs; in a folder, of splits that are there in no other form."""
LARGEST_LABEL = 1 << 63
NO_TEXT = GAPS | {"none"}
"""What stands in a file of text where a table had no text; a class may well be called None."""


@dataclass(frozen=True)
class Row:
    """What a row holds, unchecked but for the columns it is taken from."""

    text: object = None
    label: object = None
    text_b: object = None
    evidence: object = None
    fault: str = ""
    """What is wrong with the label as it is written."""
    gap: str = ""
    """What stands in the place of a label, such as NaN."""


@dataclass(frozen=True)
class Rows:
    """The rows of a table, each with its line (in parquet, its row) from 1, or what is wrong with one."""

    columns: Columns
    notes: tuple[str, ...]
    """What was found out or guessed."""
    table: Table
    gaps: bool = True
    """Whether NaN and the like stand for nothing, where every cell is text."""

    def __iter__(self) -> Iterator[tuple[int, Row | str]]:
        for number, record in self.table.read():
            yield number, record if isinstance(record, str) else self._missing(record) or self.row(record)

    def _missing(self, record: Mapping[str, Any]) -> str:
        """What is wrong with a row of which a text is missing; an empty one is found later."""
        if self.table.written and self.gaps:
            for name in (self.columns.text, self.columns.text_b):
                if name is not None and str(record.get(name)).strip().casefold() in NO_TEXT:
                    return Gap(f"the text is missing ({quoted(record[name])})")
        return ""

    def row(self, record: Mapping[str, Any]) -> Row:
        """The cells of the chosen columns."""
        text, text_b, label = (
            None if name is None else record.get(name)
            for name in (self.columns.text, self.columns.text_b, self.columns.label)
        )
        evidence = record.get("evidence")
        if not self.table.written:
            return Row(text, label, text_b, evidence)
        if self.gaps and str(label).strip().casefold() in GAPS:
            return Row(text, None, text_b or None, evidence, gap=str(label).strip())
        found = read_label(str(label or ""))
        fault = "the label is a number that is not whole, or not written as 7 or -7 are" if found is None else ""
        return Row(text, found, text_b or None, evidence, f"{fault} ({quoted(label)})" if fault else "")


def find_splits(path: Path) -> dict[str, Path]:
    """Split name to file; a single file is a dataset of one split, named after it."""
    if is_file(path):
        if not path.name.endswith((*SUFFIXES, *SEPARATED)):
            raise UserError(f"{path} is none of {', '.join((*SUFFIXES, *SEPARATED))}.")
        return {path.name.split(".")[0]: path}
    if not exists(path) or not path.is_dir():
        raise UserError(f"There is no dataset, file or folder {path}.")
    found: dict[str, Path] = {}
    for split in SPLITS:
        files = _files(path, split, SUFFIXES) or _files(path, split, SEPARATED)
        if len(files) > 1:
            raise UserError(f"{path} holds the split {split} twice: {files[0].name} and {files[1].name}; remove one.")
        if files:
            found[split] = files[0]
    if not found:
        raise UserError(f"{path} holds none of the files train, dev, test with {', '.join((*SUFFIXES, *SEPARATED))}.")
    return found


def _files(path: Path, split: str, suffixes: tuple[str, ...]) -> list[Path]:
    return [path / (split + suffix) for suffix in suffixes if is_file(path / (split + suffix))]


def open_rows(path: Path, asked: Columns | None = None, *, labelled: bool = True, gaps: bool = True) -> Rows:
    """The rows of a file; `asked` are its columns where they are not to be guessed, and `gaps` as of `Rows`.

    UserError where the file as a whole cannot be read, or has no such columns.
    """
    return replace(rows_of(open_table(path, asked), asked or Columns(), labelled=labelled), gaps=gaps)


def rows_of(table: Table, asked: Columns, *, labelled: bool = False) -> Rows:
    """The rows of any table; unless `labelled` it need have no labels."""
    if table.loose and not table.names:
        return Rows(Columns("text", "text_b", "label"), table.notes, table)
    plain = table.loose and "text" in table.names  # later rows may have what the first ones lack
    columns = choose_columns(table.where, table.names, table.sample(), asked, labelled=labelled and not plain)
    notes = [*table.notes, *([columns.said] if columns.said else [])]
    others = [name for name in table.names if name and name not in columns.asked]
    if columns.label is None and asked.label is None and others:
        notes.append(f"no column is known to hold labels, of {short(', '.join(others))}: label_column names one")
    if plain and columns.text == "text":
        second = "text_b" if asked.text_b is None else asked.text_b
        label = "label" if asked.label is None else asked.label
        columns = Columns("text", columns.text_b or second or None, columns.label or label or None)
    return Rows(columns, tuple(notes), table)


def usable(row: Row | str) -> RawExample | str | None:
    """A labelled example, or what is wrong with a row; None: nothing but that it has no label."""
    if isinstance(row, str):
        return row
    if gap := problem_of_text(row.text):
        return gap
    return None if not row.fault and is_missing(row.label) else row.fault or check_row(vars(row))


def check_row(record: Mapping[str, Any]) -> RawExample | str:
    """An example from its columns, or what is wrong with it."""
    text, text_b, label = record.get("text"), record.get("text_b"), record.get("label")
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if problem := problem_of_text(text, text_b) or problem_of_label(label):
        return problem
    assert isinstance(text, str)
    assert isinstance(label, str | int)
    spans = read_evidence(record.get("evidence"), text)
    return spans if isinstance(spans, str) else RawExample(text, label, text_b, spans)


def read_evidence(evidence: object, text: str) -> tuple[Span, ...] | str | None:
    """Spans of a text's tokens, None without any, or what is wrong with them."""
    if evidence is None or evidence == "":
        return None
    spans = _spans(evidence)
    if spans is None:
        return "the evidence is not a list of token spans, each two whole numbers"
    if not all(0 <= begin < end <= len(text.split()) for begin, end in spans):
        return f"an evidence span lies outside the {len(text.split())} tokens of the text"
    return spans


def problem_of_text(text: object, text_b: object = None) -> str:
    """What is wrong with a text or a pair; empty where nothing is."""
    if not isinstance(text, str):
        return Gap("there is no text") if text is None else f"the text is not text ({quoted(text)})"
    if not text.strip():
        return Gap("the text is empty")
    if text_b is not None and not (isinstance(text_b, str) and text_b.strip()):
        return "text_b is empty or not text"
    if not whole(text) or not whole(text_b or ""):
        return "the text holds half a character (a lone surrogate)"
    return ""


def is_missing(label: object) -> bool:
    """Whether there is no label, as opposed to one that cannot be used."""
    return label is None or label == "" or (isinstance(label, float) and math.isnan(label))


def problem_of_label(label: object) -> str:
    """What is wrong with a label; empty where nothing is."""
    if isinstance(label, bool) or not isinstance(label, str | int) or not str(label).strip():
        return f"the label is missing or neither text nor a whole number ({quoted(label)})"
    if isinstance(label, int) and abs(label) >= LARGEST_LABEL:
        return "the label is a number of more than 64 bits"
    if isinstance(label, str) and not whole(label):
        return "the label holds half a character (a lone surrogate)"
    return ""


def _spans(evidence: Any) -> tuple[Span, ...] | None:
    """Spans of tokens, also from JSON in a cell; None for anything else."""
    try:
        given = json.loads(evidence) if isinstance(evidence, str) else evidence
        spans = tuple((begin, end) for begin, end in given)
    except (TypeError, ValueError, RecursionError):
        return None
    return spans if all(type(edge) is int for span in spans for edge in span) else None


def package_folder(name: str, missing: str) -> Path:
    """Where an installed package lies; UserError, which says what is missing, where it is not installed."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise UserError(missing)
    return Path(found.submodule_search_locations[0])
