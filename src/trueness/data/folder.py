"""Text datasets in files: a folder with train, dev and test, or one file.

Columns: `text`, `label`, optionally `text_b` (pairs) and `evidence` (token spans). Formats: .jsonl and .csv, both also
.gz, and .parquet.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueness.boundary import exists, first_line, is_file, quoted, reading, whole
from trueness.data.examples import RawExample, Span
from trueness.errors import UserError

SPLITS = ("train", "dev", "test")
SUFFIXES = (".jsonl.gz", ".csv.gz", ".jsonl", ".csv", ".parquet")
LONGEST_LINE = 1 << 26
"""Bytes of a line: what is longer is no text of one's own, but a damaged or hostile file."""
LONGEST_CELL = 1 << 24
"""Characters of a cell in CSV."""
LARGEST_LABEL = 1 << 63
_Records = Iterator[tuple[int, Mapping[str, Any] | str]]
"""Numbered rows by column, or what is wrong with them."""
_PLAIN = re.compile("0|-?[1-9][0-9]{0,17}")
_UNICODE = {
    codecs.BOM_UTF32_LE: "UTF-32",  # begins as that of UTF-16 does
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def find_splits(path: Path) -> dict[str, Path]:
    """Split name to file; a single file is a dataset of one split, named after it."""
    if is_file(path):
        if not path.name.endswith(SUFFIXES):
            raise UserError(f"{path} is none of {', '.join(SUFFIXES)}.")
        return {path.name.split(".")[0]: path}
    if not exists(path) or not path.is_dir():
        raise UserError(f"There is no dataset, file or folder {path}.")
    found: dict[str, Path] = {}
    for split in SPLITS:
        files = [path / (split + suffix) for suffix in SUFFIXES if is_file(path / (split + suffix))]
        if len(files) > 1:
            raise UserError(f"{path} holds the split {split} twice: {files[0].name} and {files[1].name}; remove one.")
        if files:
            found[split] = files[0]
    if not found:
        raise UserError(f"{path} holds none of the files train, dev, test with {', '.join(SUFFIXES)}.")
    return found


def read_rows(path: Path) -> Iterator[tuple[int, RawExample | str]]:
    """The rows of one file in order, each with its line (in parquet, its row) from 1: examples, or what is wrong.

    UserError where the file as a whole cannot be read.
    """
    if path.name.endswith(".parquet"):
        records = _read_parquet(path)
    elif path.name.endswith((".csv", ".csv.gz")):
        records = _read_csv(path)
    else:
        records = _read_jsonl(path)
    for number, record in records:
        yield number, record if isinstance(record, str) else check_row(record)


def check_row(record: Mapping[str, Any]) -> RawExample | str:
    """An example from its columns, or what is wrong with it."""
    text, text_b, label = record.get("text"), record.get("text_b"), record.get("label")
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if problem := _problem_of_text(text, text_b) or _problem_of_label(label):
        return problem
    assert isinstance(text, str)
    assert isinstance(label, str | int)
    evidence = record.get("evidence")
    if evidence is None or evidence == "":
        return RawExample(text, label, text_b)
    spans = _spans(evidence)
    if spans is None:
        return "the evidence is not a list of token spans, each two whole numbers"
    if not all(0 <= begin < end <= len(text.split()) for begin, end in spans):
        return f"an evidence span lies outside the {len(text.split())} tokens of the text"
    return RawExample(text, label, text_b, spans)


def _problem_of_text(text: object, text_b: object) -> str:
    if not isinstance(text, str):
        return "there is no text" if text is None else f"the text is not text ({quoted(text)})"
    if not text.strip():
        return "the text is empty"
    if text_b is not None and not (isinstance(text_b, str) and text_b.strip()):
        return "text_b is empty or not text"
    if not whole(text) or not whole(text_b or ""):
        return "the text holds half a character (a lone surrogate)"
    return ""


def _problem_of_label(label: object) -> str:
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


def read_lines(path: Path) -> Iterator[tuple[int, str | None]]:
    """Numbered lines; None for one that is not UTF-8."""
    fault = "is not a complete gzip file" if path.suffix == ".gz" else "cannot be read"
    number = 0
    with reading(path, fault), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise UserError(f"{path}, line {number} is longer than {LONGEST_LINE >> 20} MiB.")
            if number == 1:
                _check_unicode(path, line)
            try:
                decoded = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                yield number, None
            else:
                yield number, decoded


def _check_unicode(path: Path, line: bytes) -> None:
    """Refuse text of two or four bytes a character; without a mark at its beginning it shows by its zeros."""
    kind = next((name for mark, name in _UNICODE.items() if line.startswith(mark)), None)
    if kind is None and len(line) > 3 and line[:4].count(0) == 2:
        kind = "UTF-16"
    if kind is not None:
        raise UserError(f"{path} is {kind} text; save it as UTF-8.")


def _read_jsonl(path: Path) -> _Records:
    for number, line in read_lines(path):
        if line is None:
            yield number, "the line is not UTF-8"
        elif line.strip():
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, f"the line is not JSON ({first_line(error)})"
                continue
            yield number, record if isinstance(record, dict) else "the line is not a JSON object"


def _read_csv(path: Path) -> _Records:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    lines = _Lines(path)
    reader = csv.DictReader(lines)
    try:
        header = list(reader.fieldnames or ())
    except csv.Error as error:
        raise UserError(f"{path}, line 1: {_csv_fault(error)}.") from error
    have = f"the header has {', '.join(header)}" if header else "the file is empty"
    _check_columns(f"{path}, line 1", header, have)
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UserError(f"{path}, line 1: the column {twice[0]} occurs twice.")
    last = lines.number
    while True:
        try:
            record = next(reader, None)
        except csv.Error as error:
            last = lines.number
            yield last, _csv_fault(error)
            continue
        for number in lines.broken:
            yield number, "the line is not UTF-8"
        lines.broken.clear()
        if record is None:
            return
        begin, last = last + 1, lines.number
        yield last, _typed(record, begin, last)


@dataclass
class _Lines:
    """The lines of a file, the number of the last one read, and those that are not UTF-8, which are empty here."""

    path: Path
    number: int = 0
    broken: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[str]:
        for number, line in read_lines(self.path):
            self.number = number
            if line is None:
                self.broken.append(number)
            yield "\n" if line is None else line


def _csv_fault(error: csv.Error) -> str:
    if "new-line character" in str(error):
        return "a line ends in a carriage return alone; save the file with the line ends of Unix or Windows"
    return f"the row is not CSV ({first_line(error)})"


def _typed(record: dict[str | Any, Any], begin: int, last: int) -> Mapping[str, Any] | str:
    """A row of CSV with its label as other formats have it; numeric classes are numbers, written in one way only."""
    if None in record or None in record.values():
        fields = "more" if None in record else "fewer"
        where = f" (it spans lines {begin} to {last}: is a quote left open?)" if last > begin else ""
        return f"the row has {fields} fields than the header{where}"
    label = record["label"]
    if _PLAIN.fullmatch(label):
        record["label"] = int(label)
    elif _is_number(label):
        return f"the label is a number that is not whole, or not written as 7 or -7 are ({quoted(label)})"
    return {key: value for key, value in record.items() if not (key == "text_b" and value == "")}


def package_folder(name: str, missing: str) -> Path:
    """Where an installed package lies; UserError, which says what is missing, where it is not installed."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise UserError(missing)
    return Path(found.submodule_search_locations[0])


def _is_number(text: str) -> bool:
    if text.strip().lower() in ("nan", "inf", "infinity"):
        return False
    try:
        float(text)
    except ValueError:
        return text.strip().isdigit()
    return True


def _read_parquet(path: Path) -> _Records:
    import pyarrow.parquet as pq

    with reading(path, "is not a readable parquet file"):
        table = pq.ParquetFile(path).read()
        rows = table.to_pylist()
    _check_columns(path, table.column_names, f"it has {', '.join(table.column_names)}")
    yield from enumerate(rows, start=1)


def _check_columns(where: Path | str, columns: list[str], have: str) -> None:
    missing = sorted({"text", "label"} - set(columns))
    if missing:
        raise UserError(f"{where}: there is no column {' and no column '.join(missing)}; {have}.")
