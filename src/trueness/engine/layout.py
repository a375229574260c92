"""The folder of a store: how it is made, known again, mended, and what in it may be removed.

Whatever this program cannot prove to have made itself is left as it is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from trueness.boundary import parse_json, read_ordinary
from trueness.engine.files import StoreError, disk, make_folder, write_atomically

FORMAT = 1
_MARKER = "trueness-store.json"
_FOLDERS = ("objects", "temporary", "locks", "logs", "runs", "damaged")
_RESERVED = {*_FOLDERS, "inputs", "progress", "ratings"}
_BEING_CREATED = re.compile(rf"\.{re.escape(_MARKER)}\.[0-9a-f]{{32}}")
_BEING_WRITTEN = re.compile(r"([0-9a-f]{40})\.[0-9a-f]{32}")


def open_folder(path: Path, *, create: bool, durable: bool) -> None:
    """Refuse what is not a store; with `create`, make one where nothing stands in the way of its files.

    Folders with other names may be there and stay as they are: other programs keep theirs in `runs` too. The marker is
    written first, so that a folder without it is never a store whose creation was interrupted.
    """
    marker = path / _MARKER
    with disk(f"the store {path}", full="free some space", refused="choose another with --store"):
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file, not a store; give a folder.")
        foreign = sorted(item.name for item in path.iterdir() if _in_the_way(item)) if path.exists() else []
        if marker.exists():  # looked for after listing: another process may be creating the store
            _check_format(marker)
        elif foreign:
            names = ", ".join([*foreign[:3], *(["..."] if foreign[3:] else [])])
            raise StoreError(
                f"{path} is not a trueness store (it has no {_MARKER}) and cannot become one while it holds {names}: "
                "move that away, or give another folder."
            )
        elif not create:
            raise StoreError(f"There is no store at {path}; run a study with --store {path} first.")
        else:
            make_folder(path, durable=durable)
            write_atomically(marker, (json.dumps({"format": FORMAT}) + "\n").encode(), durable=durable)
            mend(path, durable=durable)


def _in_the_way(item: Path) -> bool:
    """Whether a folder that holds this cannot become a store: a file, a link, or a folder with one of its names."""
    if _BEING_CREATED.fullmatch(item.name):
        return False
    return item.name in _RESERVED or item.is_symlink() or not item.is_dir()


def _check_format(marker: Path) -> None:
    try:
        found = parse_json(read_ordinary(marker, 1 << 16, links=False))["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(marker, str(error)) from error
    if not isinstance(found, int):
        raise _unreadable(marker, f"format {found!r}")
    if found > FORMAT:
        raise StoreError(
            f"{marker.parent} was written by a newer trueness (store format {found}, this one reads up to "
            f"{FORMAT}); upgrade trueness or choose another folder."
        )


def _unreadable(marker: Path, why: str) -> StoreError:
    right = json.dumps({"format": FORMAT})
    return StoreError(f"{marker} is unreadable ({why}); if this is your store write {right} there, or choose another.")


def mend(path: Path, *, durable: bool) -> None:
    """Make the folders that a store lacks; refuse a file or a link in the place of one."""
    for name in _FOLDERS:
        folder = path / name
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            kind = "a link" if folder.is_symlink() else "a file"
            raise StoreError(f"{folder} is {kind} where a store has a folder; move it away and run again.")
        make_folder(folder, durable=durable)


def abandoned_candidates(path: Path) -> Iterator[tuple[str, Path]]:
    """Key and folder of every object that some process began to write here; links are not followed."""
    temporary = path / "temporary"
    if temporary.is_symlink() or not temporary.is_dir():
        return
    with os.scandir(temporary) as entries:
        found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    for name, is_folder in found:
        match = _BEING_WRITTEN.fullmatch(name)
        if match and is_folder:
            yield match[1], temporary / name
