"""Text datasets in files: a folder with train, dev and test, or one file.

Columns: `text`, `label`, optionally `text_b` (pairs) and `evidence` (token spans). Formats: .jsonl and .csv, both also
.gz, and .parquet.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueness.data.examples import Span
from trueness.errors import UserError

SPLITS = ("train", "dev", "test")
SUFFIXES = (".jsonl.gz", ".csv.gz", ".jsonl", ".csv", ".parquet")


@dataclass(frozen=True)
class Row:
    """One labelled text, or pair of texts; `number` is its line (or, in parquet, its row) from 1."""

    number: int
    text: str
    label: str | int
    text_b: str | None = None
    evidence: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used, and why."""

    number: int
    problem: str


def find_splits(path: Path) -> dict[str, Path]:
    """Split name to file; a single file is a dataset of one split, named after it."""
    if path.is_file():
        if not path.name.endswith(SUFFIXES):
            raise UserError(f"{path} is none of {', '.join(SUFFIXES)}.")
        return {path.name.split(".")[0]: path}
    if not path.is_dir():
        raise UserError(f"There is no dataset, file or folder {path}.")
    found: dict[str, Path] = {}
    for split in SPLITS:
        files = [path / (split + suffix) for suffix in SUFFIXES if (path / (split + suffix)).is_file()]
        if len(files) > 1:
            raise UserError(f"{path} holds the split {split} twice: {files[0].name} and {files[1].name}; remove one.")
        if files:
            found[split] = files[0]
    if not found:
        raise UserError(f"{path} holds none of the files train, dev, test with {', '.join(SUFFIXES)}.")
    return found


def read_rows(path: Path) -> Iterator[Row | BadRow]:
    """The rows of one file in order, bad ones marked; UserError where the file as a whole cannot be read."""
    records: Iterator[tuple[int, Mapping[str, Any] | str]]
    if path.name.endswith(".parquet"):
        records = _read_parquet(path)
    elif path.name.endswith((".csv", ".csv.gz")):
        records = _read_csv(path)
    else:
        records = _read_jsonl(path)
    for number, record in records:
        yield BadRow(number, record) if isinstance(record, str) else check_row(number, record)


def check_row(number: int, record: Mapping[str, Any]) -> Row | BadRow:  # noqa: PLR0911  # one return per fault
    """A row from its columns, or what is wrong with it."""
    text, text_b, label = record.get("text"), record.get("text_b"), record.get("label")
    if not isinstance(text, str):
        return BadRow(number, "there is no text" if text is None else f"the text is not text ({text!r})")
    if not text.strip():
        return BadRow(number, "the text is empty")
    if text_b is not None and not (isinstance(text_b, str) and text_b.strip()):
        return BadRow(number, "text_b is empty or not text")
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if isinstance(label, bool) or not isinstance(label, str | int) or label == "":
        return BadRow(number, f"the label is missing or neither text nor a whole number ({label!r})")
    evidence = record.get("evidence")
    if evidence is None or evidence == "":
        return Row(number, text, label, text_b)
    if isinstance(evidence, str):
        try:
            evidence = json.loads(evidence)
        except ValueError:
            return BadRow(number, "the evidence is not a list of token spans")
    try:
        spans = tuple((int(begin), int(end)) for begin, end in evidence)
    except (TypeError, ValueError):
        return BadRow(number, "the evidence is not a list of token spans")
    if not all(0 <= begin < end <= len(text.split()) for begin, end in spans):
        return BadRow(number, f"an evidence span lies outside the {len(text.split())} tokens of the text")
    return Row(number, text, label, text_b, spans)


def read_lines(path: Path) -> Iterator[tuple[int, str | None]]:
    """Numbered lines; None for one that is not UTF-8."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    yield number, None
    except (gzip.BadGzipFile, EOFError) as error:
        raise UserError(f"{path} is not a complete gzip file ({error}).") from error


def _read_jsonl(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    for number, line in read_lines(path):
        if line is None:
            yield number, "the line is not UTF-8"
        elif line.strip():
            try:
                record = json.loads(line)
            except ValueError as error:
                yield number, f"the line is not JSON ({error})"
                continue
            yield number, record if isinstance(record, dict) else "the line is not a JSON object"


def _read_csv(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    broken = []
    text = io.StringIO()
    for number, line in read_lines(path):
        if line is None:
            broken.append(number)
        text.write(line if line is not None else "\n")
    for number in broken:
        yield number, "the line is not UTF-8"
    text.seek(0)
    reader = csv.DictReader(text)
    header = list(reader.fieldnames or ())
    missing = sorted({"text", "label"} - set(header))
    if missing:
        have = f"the header has {', '.join(header)}" if header else "the file is empty"
        raise UserError(f"{path}, line 1: there is no column {' and no column '.join(missing)}; {have}.")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UserError(f"{path}, line 1: the column {twice[0]} occurs twice.")
    last = reader.line_num
    for record in reader:
        begin, last = last + 1, reader.line_num
        if None in record or None in record.values():
            fields = "more" if None in record else "fewer"
            where = f" (it spans lines {begin} to {last}: is a quote left open?)" if last > begin else ""
            yield last, f"the row has {fields} fields than the header{where}"
            continue
        label = record["label"]
        if label.lstrip("-").isdigit():
            record["label"] = int(label)  # numeric classes are numbers, as in the other formats
        elif _is_number(label):
            yield reader.line_num, f"the label is a number that is not whole ({label})"
            continue
        yield reader.line_num, {key: value for key, value in record.items() if not (key == "text_b" and value == "")}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lower() not in ("nan", "inf", "infinity")


def _read_parquet(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise UserError(f"{path} is not a readable parquet file ({error}).") from error
    missing = {"text", "label"} - set(table.column_names)
    if missing:
        have = ", ".join(table.column_names)
        raise UserError(f"{path}: there is no column {' and no column '.join(sorted(missing))}; it has {have}.")
    yield from enumerate(table.to_pylist(), start=1)
