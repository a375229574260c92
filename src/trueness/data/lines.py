"""The lines of text files, and how their bytes are coded."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, AnyStr, cast

from trueness.boundary import ordinary, reading
from trueness.errors import UserError

LONGEST_LINE = 1 << 26
"""Bytes of a line: what is longer is no text of one's own, but a damaged or hostile file."""
_EBCDIC = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.;:'\"-\t\x85{}".encode("cp037"))
"""Text as mainframes write it."""
GROWN, TIMES = 64 << 20, 100
"""Bytes that any compressed file may become, and how many times its own; text becomes ten times as large at most."""
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",  # begins as that of UTF-16 does
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_UNDEFINED = frozenset(b"\x81\x8d\x8f\x90\x9d")
"""Bytes that Windows-1252 gives no meaning."""


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str | None]]:
    """Numbered lines, their ends included; None for one that is not UTF-8, where it should be."""
    with _opened(path) as file:
        if encoding != "utf-8":
            wrapped = io.TextIOWrapper(file, encoding=encoding, newline="\n")
            yield from enumerate(_bounded(path, wrapped), start=1)
            return
        for number, line in enumerate(_bounded(path, file), start=1):
            if number == 1 and (kind := _two_bytes(line)):
                raise UserError(f"{path} is {kind} text; save it as UTF-8.")
            try:
                decoded = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                yield number, None
            else:
                yield number, decoded


def encoding_of(path: Path, *, last_resort: bool) -> str:
    """How a file is coded, as Python names it: utf-8, utf-16 (also -le and -be without a mark), cp1252 or latin-1.

    The last two are the `last_resort`: a line is not UTF-8, and no line has a character beyond ASCII that is. A file of
    both kinds stays utf-8 with broken lines.
    """
    foreign = undefined = False
    with _opened(path) as file:
        for number, line in enumerate(_bounded(path, file), start=1):
            if number == 1 and _two_bytes(line) == "UTF-16":
                marked = line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
                return "utf-16" if marked else "utf-16-be" if line[0] == 0 else "utf-16-le"
            if number == 1 and _of_a_mainframe(line):
                raise UserError(f"{path} seems to be EBCDIC text, as mainframes write it; save it as UTF-8.")
            if not last_resort or (number == 1 and _two_bytes(line)):
                return "utf-8"
            if line.isascii():
                continue
            try:
                if not line.removeprefix(codecs.BOM_UTF8).isascii() and line.decode("utf-8"):
                    return "utf-8"
            except UnicodeDecodeError:
                foreign, undefined = True, undefined or not _UNDEFINED.isdisjoint(line)
    return "utf-8" if not foreign else "latin-1" if undefined else "cp1252"


class Growth:
    """Counts what comes out of a compressed file; UserError where a small one becomes something huge."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path, self.packed, self.bytes = path, os.fstat(file.fileno()).st_size, 0

    def add(self, size: int) -> None:
        """So many bytes more."""
        self.bytes += size
        if self.bytes > max(GROWN, TIMES * self.packed):
            raise UserError(
                f"{self.path} has {self.packed:,} bytes and becomes more than {self.bytes:,}: it is made to fill "
                "memory, or has the same rows again and again; save it without them, or not compressed."
            )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    fault = "is not a complete gzip file" if path.suffix == ".gz" else "cannot be read"
    with reading(path, fault), ordinary(path) as file:
        if path.suffix == ".gz":
            with gzip.open(file) as unpacked:
                yield cast(IO[bytes], _Counted(unpacked, Growth(path, file)))
        else:
            yield file


class _Counted(io.BufferedReader):
    """What a compressed file holds, counted."""

    def __init__(self, raw: Any, growth: Growth) -> None:
        super().__init__(raw)
        self._growth = growth

    def readline(self, size: int | None = -1, /) -> bytes:
        """As ever."""
        line = super().readline(size)
        self._growth.add(len(line))
        return line

    def read1(self, size: int = -1, /) -> bytes:
        """As ever: what decodes it to text reads so."""
        some = super().read1(size)
        self._growth.add(len(some))
        return some


def _bounded(path: Path, file: IO[AnyStr]) -> Iterator[AnyStr]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise UserError(f"{path}, line {number} is longer than {LONGEST_LINE >> 20} MiB.")
        yield line


def _of_a_mainframe(line: bytes) -> bool:
    """Whether a first line is none of ASCII, and nearly all of it letters of EBCDIC."""
    some = line[:4096]
    known = sum(byte in _EBCDIC for byte in some)
    return known > 0.9 * len(some) and sum(byte > 0x7F for byte in some) > len(some) / 3 and b"," not in some


def _two_bytes(line: bytes) -> str | None:
    """The name of a code of two or four bytes a character; without a mark at its beginning it shows by its zeros."""
    kind = next((name for mark, name in _MARKS.items() if line.startswith(mark)), None)
    return "UTF-16" if kind is None and len(line) > 3 and line[:4].count(0) == 2 else kind
