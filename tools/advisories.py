"""Which locked packages have known faults, by a database of advisories that lies on this machine.

`python tools/advisories.py LOCK DATABASE`: the database is what https://osv.dev exports for PyPI (all.zip, or a folder
of its JSON files). Nothing is asked of anybody. Without a database it says that nothing was looked up, with status 3.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

NOTHING_LOOKED_UP = 3


def locked(lock: Path) -> dict[str, str]:
    """Name to version."""
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def advisories(database: Path) -> Iterator[dict[str, Any]]:
    """All of them, but for those that were withdrawn."""
    if database.is_dir():
        texts = (file.read_text(encoding="utf-8") for file in sorted(database.rglob("*.json")))
    else:
        archive = zipfile.ZipFile(database)
        texts = (archive.read(name).decode() for name in sorted(archive.namelist()) if name.endswith(".json"))
    for text in texts:
        one = json.loads(text)
        if "withdrawn" not in one:
            yield one


def concerns(affected: dict[str, Any], version: str) -> bool:
    """Whether a version is among those that an advisory lists, or within its ranges."""
    if version in affected.get("versions", ()):
        return True
    inside = False
    for some in affected.get("ranges", ()):
        if some["type"] == "ECOSYSTEM":
            inside |= _within(some["events"], Version(version))
    return inside


def _within(events: list[dict[str, str]], version: Version) -> bool:
    inside = False
    for event in events:
        ((kind, edge),) = event.items()
        try:
            reached = edge == "0" or version >= Version(edge)
            beyond = version > Version(edge) if kind == "last_affected" else reached
        except InvalidVersion:
            continue
        if kind == "introduced" and reached:
            inside = True
        elif kind in ("fixed", "last_affected") and beyond:
            inside = False
    return inside


def faults(packages: dict[str, str], database: Path) -> list[str]:
    """A line for every advisory about a locked version."""
    found = []
    for one in advisories(database):
        for affected in one.get("affected", ()):
            about = affected.get("package", {})
            name = canonicalize_name(about.get("name", ""))
            if about.get("ecosystem") == "PyPI" and name in packages and concerns(affected, packages[name]):
                found.append(f"{name} {packages[name]}: {one['id']} {one.get('summary', '')}".rstrip())
    return sorted(set(found))


def main(arguments: list[str]) -> int:
    """0 where no locked version has a known fault, 1 where one has, 3 where there is no database."""
    packages = locked(Path(arguments[0]))
    database = Path(arguments[1]) if len(arguments) > 1 and arguments[1] else None
    if database is None or not database.exists():
        print(f"No database of advisories is on this machine: of {len(packages)} locked packages none was looked up.")
        return NOTHING_LOOKED_UP
    found = faults(packages, database)
    print(*found, f"{len(packages)} locked packages, {len(found)} advisories about them", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
