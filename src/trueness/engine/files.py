"""Files that are written whole or not at all, and disks that refuse."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from trueness.boundary import ordinary, read_open, short
from trueness.errors import UserError

_REFUSED = (
    *(errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP),
)


class StoreError(UserError):
    """Something cannot be kept where it should be; the message says why and what to do."""


@contextlib.contextmanager
def handles() -> Iterator[None]:
    """Turn a lack of file handles into a sentence: it is no fault of the file that could not be opened."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise StoreError(
                "Too many files are open; allow more (ulimit -n 4096) or use fewer workers, and run the same command "
                "again."
            ) from error
        raise


@contextlib.contextmanager
def disk(what: str, full: str, refused: str) -> Iterator[None]:
    """Turn a full or read-only disk, or an impossible path, into a sentence about `what`, with what to do then."""
    what = short(what)
    try:
        with handles():
            yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise StoreError(f"The disk that holds {what} is full; {full}.") from error
        if error.errno in _REFUSED:
            raise StoreError(f"{what[0].upper()}{what[1:]} cannot be written ({error.strerror}); {refused}.") from error
        raise


def write_atomically(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write beside the place and move in with one rename: a reader sees the old file or the new one.

    With `durable` the new one is on the disk when this returns, and survives a power cut.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(content)
        if durable:
            sync(temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync(path.parent)


@contextlib.contextmanager
def inside(root: Path, *names: str) -> Iterator[BufferedReader]:
    """An ordinary file of a folder of ours, open; OSError where it, or a folder on the way to it, is a link."""
    path = root
    for name in names[:-1]:
        path = path / name
        if path.is_symlink():
            raise OSError(errno.ELOOP, "it is a link", str(path))
    with handles(), ordinary(path / names[-1], links=False) as file:
        yield file


def read_inside(root: Path, *names: str, largest: int) -> bytes:
    """What such a file holds, if it is no larger than so many bytes."""
    with inside(root, *names) as file:
        return read_open(file, largest)


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """The same for the files in a folder and the folder itself."""
    for item in path.iterdir():
        sync(item)
    sync(path)


def make_folder(path: Path, *, durable: bool = False) -> None:
    """Make a folder and those above it unless they are there; with `durable` they survive a power cut."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()] if durable else []
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync(folder.parent)
