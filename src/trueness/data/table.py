"""Files with one row per text: CSV and the like, JSON lines, parquet; how they are written is found out and said."""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueness.boundary import first_line, ordinary, reading, short
from trueness.data.columns import Columns, known_names
from trueness.data.faults import Gap
from trueness.data.lines import LONGEST_LINE, Growth, encoding_of, read_lines
from trueness.engine.payload import open_parquet, unpacked_size
from trueness.errors import UserError

LONGEST_CELL = 1 << 24
"""Characters of a cell in CSV."""
MOST_COLUMNS = 100_000
SAMPLE = 100
"""Rows that are looked at to tell what is in a column."""
Records = Iterator[tuple[int, Mapping[str, Any] | str]]
"""Numbered rows by column, or what is wrong with them."""
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_NOTHING = "\x1f"  # separates the columns of a table that has one
_CODES = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
_ROWS_AT_ONCE = 4096  # of parquet; a text may be long
_LOOKED_AT = 1000  # lines, to tell what separates columns
_ROWS, _SHORT = 10, 20  # lines, and letters of a label, by which lines of texts are taken for rows


@dataclass(frozen=True)
class Table:
    """The rows of a file, and what its columns are called."""

    where: str
    """To begin a message about its columns."""
    names: Sequence[str]
    read: Callable[[], Records] = field(repr=False)
    written: bool = False
    """Whether every cell is text, so that numbers and gaps must be told from it."""
    loose: bool = False
    """Whether each row names its own columns: another row may have more."""
    notes: tuple[str, ...] = ()

    def sample(self) -> list[Mapping[str, Any]]:
        """Some good rows from its beginning."""
        return [row for _, row in itertools.islice(self.read(), SAMPLE) if not isinstance(row, str)]


def open_table(path: Path, asked: Columns | None = None) -> Table:
    """A file by its suffix; UserError where it cannot be read as a whole."""
    if path.name.endswith(".parquet"):
        return _parquet(path)
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return _jsonl(path)
    return _delimited(path, asked or Columns())


def _check_columns(where: str | Path, number: int) -> None:
    if number > MOST_COLUMNS:
        raise UserError(f"{where} has {number:,} columns, more than {MOST_COLUMNS:,}: keep those that are needed.")


def _parquet(path: Path) -> Table:
    fault = "is not a readable parquet file"

    def read() -> Records:
        number = 0
        with reading(path, fault), ordinary(path) as file:
            growth = Growth(path, file)
            for batch in open_parquet(file, packed=True).iter_batches(_ROWS_AT_ONCE):
                growth.add(unpacked_size(batch, LONGEST_LINE))
                for row in batch.to_pylist():
                    number += 1
                    yield number, row

    with reading(path, fault), ordinary(path) as file:
        names = open_parquet(file).schema_arrow.names
    _check_columns(path, len(names))
    return Table(str(path), names, read)


def _jsonl(path: Path) -> Table:
    encoding = encoding_of(path, last_resort=False)
    table = Table(str(path), (), lambda: _read_jsonl(path, encoding), loose=True)
    names = dict.fromkeys(str(name) for row in table.sample() for name in row)
    _check_columns(path, len(names))
    return Table(table.where, list(names), table.read, loose=True, notes=_code_note(path, encoding))


def _read_jsonl(path: Path, encoding: str) -> Records:
    for number, line in read_lines(path, encoding):
        if line is None:
            yield number, "the line is not UTF-8"
        elif line.strip():
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, f"the line is not JSON ({first_line(error)})"
                continue
            if isinstance(record, dict):
                _check_columns(f"{path}, line {number},", len(record))
            yield number, record if isinstance(record, dict) else "the line is not a JSON object"


@dataclass(frozen=True)
class _Form:
    """How a table of separated columns is written."""

    encoding: str
    delimiter: str
    quoted: bool
    """Whether quotes enclose cells; otherwise they are signs like any other."""

    def reader(self, lines: Iterator[str]) -> Iterator[list[str]]:
        """Rows of cells."""
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE)


def _delimited(path: Path, asked: Columns) -> Table:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    where, encoding = f"{path}, line 1", encoding_of(path, last_resort=True)
    head = _head(path, encoding)
    usual = "," if path.name.endswith((".csv", ".csv.gz")) else "\t"
    if path.name.endswith((".txt", ".txt.gz")) and not asked.asked and not _has_columns(head):
        if (sign := _repeated(head)) is not None:
            raise UserError(
                f"{where}: {_SEPARATORS[sign]} divide every line alike: begin the file with the names of its columns, "
                "or say in which column the texts are (text_column)."
            )
        notes = (*_code_note(path, encoding), f"{path.name}: every line is a text")
        return Table(str(path), ("text",), lambda: _read_plain(path, encoding), written=True, notes=notes)
    _check_columns(path, 1 + max(head[0].count(sign) for sign in _SEPARATORS) if head else 0)
    try:
        delimiter, names = _separation(head, usual, asked)
    except csv.Error as error:
        raise UserError(f"{where}: {_fault(error)}.") from error
    twice = sorted(name for name, times in Counter(names).items() if name and times > 1)
    if twice:
        raise UserError(f"{where}: the column {twice[0]} occurs twice.")
    if delimiter == _NOTHING and not known_names(names) and not asked.asked:
        raise UserError(
            f"{where}: {short(names[0])} may be a text: begin the file with the names of its columns, or say in which "
            "column the texts are (text_column)."
        )
    form = _Form(encoding, delimiter, delimiter != "\t" or not _stands_alone(head, len(names)))
    notes = _code_note(path, encoding)
    if delimiter not in (usual, _NOTHING):
        notes += (f"{path.name}: {_SEPARATORS[delimiter]} separate the columns",)
    return Table(where, names, lambda: _read_delimited(path, form, names), written=True, notes=notes)


def _has_columns(head: list[str]) -> bool:
    """Whether lines without a name of their own are rows: there are tabs, or the first line names known columns."""
    first = head[0] if head else ""
    names = [name for sign in _SEPARATORS for name in first.split(sign)]
    return any("\t" in line for line in head) or known_names(names) > 0


def _repeated(head: list[str]) -> str | None:
    """What separates cells in lines that seem to be rows: as often in each, and few short words at their ends."""
    lines = [line.rstrip("\r\n") for line in head if line.strip()]
    for sign in _SEPARATORS:
        counts = {line.count(sign) for line in lines}
        ends = {line.rpartition(sign)[2].strip() for line in lines[1:]}
        labels = 3 * len(ends) <= len(lines) and all(len(end) < _SHORT for end in ends)
        if len(lines) >= _ROWS and len(counts) == 1 and counts != {0} and labels:
            return sign
    return None


def _read_plain(path: Path, encoding: str) -> Records:
    for number, line in read_lines(path, encoding):
        if line is None:
            yield number, "the line is not UTF-8"
        elif line.strip():
            yield number, {"text": line.rstrip("\r\n")}


def _head(path: Path, encoding: str) -> list[str]:
    """The first lines, as many as tell how it is written."""
    found, size = [], 0
    for number, line in read_lines(path, encoding):
        found.append(line or "\n")
        size += len(found[-1])
        if number >= _LOOKED_AT or size > LONGEST_CELL:
            break
    return found


def _separation(head: list[str], usual: str, asked: Columns) -> tuple[str, list[str]]:
    """What separates the columns, and their names: the reading that gives the most names that are known."""
    found = [
        (delimiter, [name.strip() for name in next(csv.reader(iter(head), delimiter=delimiter), [])])
        for delimiter in (usual, *(one for one in _SEPARATORS if one != usual))
    ]
    best = max(found, key=lambda one: (len({*asked.asked} & {*one[1]}), known_names(one[1]), len(one[1])))
    return best if len(best[1]) != 1 else (_NOTHING, best[1])


def _stands_alone(head: list[str], width: int) -> bool:
    """Whether every line has all columns, and a cell begins with a quote that it does not end with."""
    rows = [line.rstrip("\r\n").split("\t") for line in head if line.strip()]
    loose = any(cell.startswith('"') and not (len(cell) > 1 and cell.endswith('"')) for row in rows for cell in row)
    return loose and all(len(row) == width for row in rows)


def _code_note(path: Path, encoding: str) -> tuple[str, ...]:
    if encoding == "utf-8":
        return ()
    told = _CODES.get(encoding)
    return (f"{path.name}: read as {'UTF-16' if told is None else f'{told}, since it is not UTF-8'}",)


def _read_delimited(path: Path, form: _Form, names: list[str]) -> Records:
    lines = _Lines(path, form.encoding)
    reader = form.reader(iter(lines))
    next(reader, None)
    last = lines.number
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            last = lines.number
            yield last, _fault(error)
            continue
        for number in lines.broken:
            yield number, "the line is not UTF-8"
        lines.broken.clear()
        if cells is None:
            return
        begin, last = last + 1, lines.number
        if not cells:
            continue
        if lines.ended:  # the reader went on for the end of a cell and found none
            yield last, f"a quote in the row that begins in line {begin} is left open to the end of the file"
            return
        if not any(map(str.strip, cells)):  # as spreadsheets leave them
            yield last, Gap("the row is empty")
        elif len(cells) == len(names):
            yield last, dict(zip(names, cells, strict=True))
        else:
            fields = "more" if len(cells) > len(names) else "fewer"
            where = f" (it spans lines {begin} to {last}: is a quote left open?)" if last > begin else ""
            yield last, f"the row has {fields} fields than the header{where}"


@dataclass
class _Lines:
    """The lines of a file, the number of the last one read, and those that are not UTF-8, which are empty here."""

    path: Path
    encoding: str
    number: int = 0
    broken: list[int] = field(default_factory=list)
    ended: bool = False

    def __iter__(self) -> Iterator[str]:
        for number, line in read_lines(self.path, self.encoding):
            self.number = number
            if line is None:
                self.broken.append(number)
            yield "\n" if line is None else line
        self.ended = True


def _fault(error: csv.Error) -> str:
    if "new-line character" in str(error):
        return "a line ends in a carriage return alone; save the file with the line ends of Unix or Windows"
    return f"the row is not CSV ({first_line(error)})"
