"""Files that are written whole or not at all, and disks that refuse."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from trueness.errors import UserError

_REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST)


class StoreError(UserError):
    """Something cannot be kept where it should be; the message says why and what to do."""


@contextlib.contextmanager
def disk(what: str, full: str, refused: str) -> Iterator[None]:
    """Turn a full or read-only disk into a sentence about `what`, with what to do in each case."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(f"The disk that holds {what} is full; {full}.") from error
        if error.errno in _REFUSED:
            raise StoreError(f"{what[0].upper()}{what[1:]} cannot be written ({error.strerror}); {refused}.") from error
        raise


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside the place and move in with one rename: a reader sees the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
