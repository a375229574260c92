"""The boundary between what people give and the program: what cannot be read becomes one sentence, in one place."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import inspect
import json
import os
import re
import reprlib
import signal
import stat
import threading
import time
import traceback
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from trueness.errors import NO_MEMORY, UserError, no_room
from trueness.process_state import kept

_SHOWN = 200
LARGEST_JSON = 256 << 20
"""Bytes of a JSON file that people give; vocabularies of tokenisers need a tenth of it."""
LARGEST_SETTINGS = 32 << 20
"""Bytes of config.json; a vocabulary of a million words needs half."""
_NO_WAIT, _NO_LINK = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0), getattr(os, "O_NOFOLLOW", 0)
_LONG_NUMBER = re.compile(rb"[0-9]{300}")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What steers a terminal: control characters but for line ends and tabs, changes of direction, half characters."""
_interrupted: dict[str, float] = {}


@contextlib.contextmanager
def reading(what: str | Path, fault: str = "cannot be read") -> Iterator[None]:
    """Whatever a library raises on a file of other people becomes a UserError: `what`, its fault, the library's words.

    Only reading belongs inside, so that an error of our own is not taken for one of the file.
    """
    try:
        yield
    except UserError:
        raise
    except BaseException as error:
        # Libraries written in Rust panic with an exception of their own, which is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise UserError(f"{short(what)} {fault} ({first_line(error)}).") from error


class Interrupt(KeyboardInterrupt):
    """Ctrl-C, or a signal that ends a command: a person's wish, and no error of the code that was running."""


def interrupt(number: int, frame: types.FrameType | None) -> None:  # noqa: ARG001  # as the signal module calls it
    """The way of Ctrl-C wherever code of other people may run, which may raise a KeyboardInterrupt of its own.

    A terminal tells a process directly, and the process that waits for it passes it on: within a second it is the same.
    """
    now = time.monotonic()
    if now - _interrupted.get("at", -2.0) > 1:
        _interrupted["at"] = now
        raise Interrupt


def foreign(error: BaseException) -> bool:
    """Whether the code that was running raised it, and no person by Ctrl-C: sys.exit() too, and panics of libraries."""
    if isinstance(error, Interrupt):
        return False
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return True
    return signal.getsignal(signal.SIGINT) in (interrupt, signal.SIG_IGN, signal.SIG_DFL)


@contextlib.contextmanager
def calling(name: str, code: Any) -> Iterator[None]:
    """Whatever `code` of other people raises becomes a UserError: its name, its file and line, and what was raised.

    A lack of memory passes: it is nobody's mistake, and may be met by trying again. So does Ctrl-C.
    """
    with _told(lambda error: f"{name} failed{_line_in(_file_of(code), error)}: {_raised(error)}.", importing=False):
        yield


@contextlib.contextmanager
def importing(name: str, file: str = "", way: Callable[[BaseException], str] = lambda _: "") -> Iterator[None]:
    """Whatever a module of other people raises when it is imported becomes a UserError, which ends in a `way` out."""

    def sentence(error: BaseException) -> str:
        end = way(error)
        if isinstance(error, SystemExit):
            end = "; put what it does as a script behind if __name__ == '__main__'"
        return f"{name} cannot be imported ({_raised(error)}{_line_in(file or _first_file(error), error)}){end}."

    with _told(sentence, importing=True):
        yield


@contextlib.contextmanager
def _told(sentence: Callable[[BaseException], str], *, importing: bool) -> Iterator[None]:
    theirs = threading.current_thread() is threading.main_thread()
    theirs = theirs and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if theirs:
        signal.signal(signal.SIGINT, interrupt)
    try:
        with kept(importing=importing):
            yield
    except UserError:
        raise
    except BaseException as error:
        if not foreign(error) or isinstance(error, MemoryError) or no_room(error) or NO_MEMORY in str(error):
            raise
        raise UserError(sentence(error)) from error
    finally:
        if theirs:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _raised(error: BaseException) -> str:
    kind, said = type(error).__name__, first_line(error)
    return kind if said == kind else f"{kind}: {said}"


def _file_of(code: Any) -> str:
    """Where code stands; nothing for what is built in, or of a notebook."""
    while isinstance(code, functools.partial):
        code = code.func
    code = inspect.unwrap(code) if callable(code) else code
    try:
        return inspect.getfile(code if inspect.isroutine(code) or isinstance(code, type) else type(code))
    except (TypeError, OSError):
        return ""


def _first_file(error: BaseException) -> str:
    """The first file behind Python's own importing that an error went through."""
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    begin = max((number for number, file in enumerate(frames) if file == importlib.__file__), default=-1) + 1
    return next((file for file in frames[begin:] if not file.startswith("<")), "") if begin else ""


def _line_in(file: str, error: BaseException) -> str:
    """The last line of a file that an error went through."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return f", {Path(file).name} line {lines[-1]}" if lines else ""


def check_folder(folder: Path, largest_text: int = LARGEST_JSON) -> None:
    """Refuse a folder of a model that holds pipes or devices, or text beyond all measure; links to files are fine."""
    with reading(folder):
        for item in sorted(folder.iterdir()):
            with contextlib.suppress(FileNotFoundError):  # a link that leads nowhere is no file
                about = item.stat()
                if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
                    raise UserError(f"{item} is no ordinary file: a model has no pipes and devices; take it away.")
                if item.suffix in (".json", ".txt", ".jinja", ".model") and about.st_size > largest_text:
                    raise UserError(f"{item} is larger than {largest_text >> 20} MiB, as no such file is.")


@contextlib.contextmanager
def ordinary(path: Path, *, links: bool = True) -> Iterator[BufferedReader]:
    """An open file, if it is an ordinary one; OSError for a pipe, a device and, without `links`, for a link.

    Opening never waits, as that of a pipe would, and nothing is read of what has no end.
    """
    try:
        handle = os.open(path, os.O_RDONLY | _NO_WAIT | (0 if links else _NO_LINK))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise OSError(error.errno, "it is a link, or no ordinary file", str(path)) from error
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    with os.fdopen(handle, "rb") as file:
        yield file


def read_ordinary(path: Path, largest: int, *, links: bool = True) -> bytes:
    """What an ordinary file holds, if it is no larger than so many bytes; OSError as in `ordinary`."""
    with ordinary(path, links=links) as file:
        return read_open(file, largest)


def read_open(file: BufferedReader, largest: int) -> bytes:
    """The same of an open file."""
    size = os.fstat(file.fileno()).st_size
    if size > largest:
        raise OSError(errno.EFBIG, f"it has {size:,} bytes, more than {largest:,}")
    return file.read(size)


def parse_json(content: bytes) -> Any:
    """What JSON says; ValueError also for what is nested too deeply, and for numbers that no one could count with."""
    try:
        return json.loads(content, parse_int=_whole if _LONG_NUMBER.search(content) else None)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _whole(digits: str) -> int:
    if len(digits) > 300:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    with reading(path, "is not valid JSON"):
        return parse_json(read_ordinary(path, LARGEST_JSON))


def read_settings(path: Path, largest: int = LARGEST_SETTINGS) -> Any:
    """The same of a file of settings, which is refused unread where it is larger than any settings are."""
    with reading(path):
        size = path.stat().st_size
    if size > largest:
        raise UserError(f"{path} is larger than {largest >> 20} MiB, as no settings are.")
    return read_json(path)


def is_file(path: Path) -> bool:
    """Whether there is such a file; UserError for a name that no file can have, or that may not be looked at."""
    with reading(path):
        return path.is_file()


def exists(path: Path) -> bool:
    """Whether there is such a file or folder; UserError as in `is_file`."""
    with reading(path):
        return path.exists()


def first_line(error: BaseException) -> str:
    """The first line of what an error says; of one that names a file, what is wrong with it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    said = str(error).strip().partition("\n")[0].strip().rstrip(".")
    return short(said or type(error).__name__)


def short(value: object) -> str:
    """A value's text for one line of a message, cut where it is long."""
    text = " ".join(str(value)[: 2 * _SHOWN].splitlines())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def because(notes: Iterable[str]) -> str:
    """Notes in brackets, for the end of a sentence; nothing without any."""
    told = "; ".join(notes)
    return f" ({told})" if told else ""


def quoted(value: object) -> str:
    """A value as Python writes it, cut where it is long or deep."""
    return short(reprlib.repr(value))


def whole(text: str) -> bool:
    """Whether text can be written as UTF-8: no half characters, which broken bytes and broken JSON leave."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """The same with a sign in place of what would steer a terminal: control characters, and changes of direction."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def warning_line(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> str:
    """A warning of ours as one line; one of a library with its kind, for whoever must look for it."""
    kind = "" if Path(__file__).parent in Path(filename).parents else f"{category.__name__}: "
    return f"trueness: {kind}{printable(' '.join(str(message).split()))}\n"


def check_fields(made: object, what: str) -> None:
    """Refuse a dataclass of which a field is not of its type, or not within the bounds that its annotation states."""
    from pydantic import ValidationError

    adapters: dict[str, Any] = _adapters(type(made))  # type: ignore[arg-type]  # types can be hashed
    for name, adapter in adapters.items():
        value = getattr(made, name)
        try:
            adapter.validate_python(value, strict=True)
        except ValidationError as error:
            message = error.errors()[0]["msg"].removeprefix("Input ")
            raise UserError(f"{what}: {name} {message}, not {quoted(value)}.") from error


@functools.cache
def _adapters(kind: type) -> dict[str, Any]:
    from pydantic import TypeAdapter

    return {name: TypeAdapter(hint) for name, hint in typing.get_type_hints(kind, include_extras=True).items()}
