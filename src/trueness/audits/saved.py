"""audit.json: the file in which an audit is kept, and what is wrong with one that cannot be read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trueness.audits.verdict import SCHEMA, Audit
from trueness.boundary import first_line, parse_json, quoted, read_ordinary, reading, short
from trueness.engine.files import disk, make_folder, write_atomically
from trueness.errors import UserError

LARGEST = 64 << 20
"""Bytes of an audit.json; those of a thousand explainers need less."""


def read_audit(path: str | Path) -> Audit:
    """The audit that a file holds; UserError with the file and the way out for whatever is not one."""
    return parse_audit(read_limited(Path(path), "audit file", LARGEST), str(path))


def parse_audit(content: str | bytes, where: str) -> Audit:
    """The audit that JSON describes, by the version of its form; UserError that begins with `where` it comes from."""
    where = short(where)
    with reading(where, "is not valid JSON"):
        plain = parse_json(content.encode() if isinstance(content, str) else content)
    if not isinstance(plain, dict) or "schema_version" not in plain:
        raise UserError(f"{where} is not an audit; name the audit.json that `trueness audit` wrote.")
    if plain["schema_version"] != SCHEMA:
        raise UserError(
            f"{where} has version {quoted(plain['schema_version'])} of the format, and this trueness reads "
            f"version {SCHEMA}; run the audit again."
        )
    try:
        return Audit.model_validate_json(content, strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = short(".".join(str(part) for part in problem["loc"]) or "the file")
        raise UserError(
            f"{where} is not an audit ({place}: {first_line(ValueError(problem['msg']))}); run the audit again."
        ) from error


def write_audit(audit: Audit, path: str | Path) -> Path:
    """Write audit.json whole or not at all, and make its folder; numbers that are not finite become null."""
    import json

    path = Path(path)
    text = json.dumps(_writable(audit.model_dump()), indent=1, ensure_ascii=False, allow_nan=False)
    with disk(str(path), "free some space and run the same command again", "choose another place"):
        make_folder(path.parent)
        write_atomically(path, f"{text}\n".encode())
    return path


def read_back(audit: Audit, page: Path) -> Audit:
    """The audit as it stands beside the report that was just written; UserError where that is not the same."""
    path = page.with_suffix(".json")
    kept = read_audit(path)
    same = [(one.explainer, one.decision) for one in kept.explainers] == [
        (one.explainer, one.decision) for one in audit.explainers
    ]
    if not same or kept.broken != audit.broken or kept.key != audit.key or not page.stat().st_size:
        raise UserError(f"{short(page)} and {short(path)} do not hold what was just written; run the audit again.")
    return kept


def read_limited(path: Path, what: str, largest: int) -> bytes:
    """A file's bytes; UserError if it is missing, a folder, no ordinary file, unreadable or larger than allowed."""
    with reading(path):
        if path.is_dir():
            raise UserError(f"{short(path)} is a folder; name the {what} in it.")
        if not path.exists():
            raise UserError(f"There is no {what} {short(path)}; check the path.")
        if not path.is_file():
            raise UserError(f"{short(path)} is not an ordinary file; give the path of a saved {what}.")
        if path.stat().st_size > largest:
            raise UserError(f"{short(path)} is larger than {largest >> 20} MiB, as no {what} is; check the path.")
        return read_ordinary(path, largest)


def _writable(value: Any) -> Any:
    """The same in what JSON and UTF-8 can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_writable(str(key)): _writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_writable(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else _writable(str(value))
