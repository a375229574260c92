"""Read a study file, apply overrides, and say exactly what is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from trueness.boundary import first_line
from trueness.errors import UserError
from trueness.plugins import looking_beside
from trueness.registry import nearest
from trueness.studies.kinds import KINDS
from trueness.studies.schema import Study

_PART = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|[\w-]+)"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_ASSIGNMENT = re.compile(rf"\s*({_KEY})\s*=")
# Not a number: a row of an array is no header.
_HEADER = re.compile(rf"\s*\[\[?\s*(?![-\d])({_KEY})\s*\]\]?\s*(#.*)?$")


def builtin_studies() -> dict[str, str]:
    """Name to TOML text of the studies that come with the kinds of study."""
    return dict(sorted(item for kind in KINDS for item in KINDS[kind].files().items()))


def load_study(name: str | Path, settings: Mapping[str, Any] | None = None) -> Study:
    """The study of that name or file, with settings such as {"seeds": 5, "data.train": 1000} applied, checked.

    Raises UserError with the file, the line and the key at fault.
    """
    source, text = _find(name)
    content = parse_toml(source, text)
    given = dict(_flatten(settings or {}))
    for path, value in given.items():
        _set(content, path, value)
    kind = content.get("kind")
    if not isinstance(kind, str):
        raise UserError(
            f"{source}: the key kind is missing; it says which kind of study this is, such as {next(iter(KINDS))!r}."
        )
    beside = Path(name).parent if Path(name).is_file() else None
    try:
        with looking_beside(beside):
            content["kind"] = KINDS.reference(kind)
    except UserError as error:
        raise UserError(f"{_place(source, text, ('kind',), given)}: {_lower(str(error))}") from error
    schema = KINDS[content["kind"]].schema
    try:
        with looking_beside(beside):
            return schema.model_validate(content, context=given)
    except ValidationError as error:
        # A misspelt key explains the missing one, so it comes first.
        found = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
        problems = [_explain(problem, schema, source, text, given) for problem in found]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UserError(problems[0] + more) from error


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def parse_setting(setting: str) -> tuple[str, Any]:
    """The key and value of `key=value`; a value is TOML, or plain text, and commas make a list."""
    key, separator, value = setting.partition("=")
    if not separator or not key.strip():
        raise UserError(f"--set {setting}: expected key=value or table.key=value.")
    return key.strip(), _parse_value(value.strip())


def _flatten(settings: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in settings.items():
        path = (*prefix, *key.split("."))
        if isinstance(value, Mapping):
            yield from _flatten(value, path)
        else:
            yield path, value


def _find(name: str | Path) -> tuple[str, str]:
    builtin = builtin_studies()
    if str(name) in builtin:
        return f"study {name}", builtin[str(name)]
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        if path.is_dir():
            raise UserError(f"{path.resolve()} is a folder, not a study file.")
        if not path.is_file():
            raise UserError(f"There is no study file {path}.")
        try:
            return str(path), path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise UserError(f"{path} is not UTF-8 text (byte {error.start}).") from error
    raise UserError(f"There is no study named {str(name)!r}; {nearest(str(name), list(builtin))}")


def parse_toml(source: str, text: str) -> dict[str, Any]:
    """What a TOML text holds; UserError with the source and the line if it is not valid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = re.sub(r"^(.*) \(at (line \d+, column \d+)\)$", r"\2: \1", str(error))
        raise UserError(f"{source}, {_lower(message)}; the file is not valid TOML.") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{source} is not valid TOML ({first_line(error)}).") from error


def _parse_value(value: str) -> Any:
    """A TOML value; what is not one is taken as text, and commas make a list."""
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        if "," in value and value[0] not in "[{\"'":
            return [_parse_value(part.strip()) for part in value.split(",")]
        return value


def _set(content: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    table = content
    for part in path[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise UserError(f"setting {'.'.join(path)}: {part} is a value, not a table.")
    table[path[-1]] = value


def _explain(problem: Any, schema: type[BaseModel], source: str, text: str, given: dict[tuple[str, ...], Any]) -> str:
    location = tuple(str(part) for part in problem["loc"])
    place = _place(source, text, location, given)
    shown = ".".join(location)
    if problem["type"] == "extra_forbidden":
        return f"{place}: there is no key {shown}; {nearest(location[-1], _keys_beside(schema, location))}"
    if problem["type"] == "missing":
        return f"{source}: the key {shown} is missing."
    if problem["type"] == "too_short":
        return f"{place}: {shown}: at least {problem['ctx']['min_length']} value(s) are needed."
    message = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    message = message.split(", unable to ")[0]  # how the validator came to it
    if problem["type"] == "value_error":
        about = f"{place}: {shown}" if location else source  # of several keys together
        return f"{about}: {message}" + ("" if message[-1] in ".?" else ".")
    return f"{place}: {shown}: {message}, not {problem['input']!r}."


def _keys_beside(schema: type[BaseModel], location: tuple[str, ...]) -> list[str]:
    for part in location[:-1]:
        annotation = schema.model_fields[part].annotation if part in schema.model_fields else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            schema = annotation
    return list(schema.model_fields)


def _place(source: str, text: str, location: tuple[str, ...], given: dict[tuple[str, ...], Any]) -> str:
    for path, value in given.items():
        if path == location[: len(path)] or location == path[: len(location)]:
            return f"setting {'.'.join(path)}={value}"
    line = find_line(text, location)
    return f"{source}, line {line}" if line else source


def find_line(text: str, location: Sequence[str]) -> int | None:
    """The line of a TOML text on which a key, or the nearest table around it, is set."""
    table: tuple[str, ...] = ()
    best: tuple[int, int | None] = (0, None)
    quoted = False
    for number, line in enumerate(text.splitlines(), start=1):
        was_quoted, quoted = quoted, quoted ^ bool((line.count('"""') + line.count("'''")) % 2)
        if was_quoted:
            continue
        if header := _HEADER.match(line):
            path = table = _parts(header[1])
        elif assignment := _ASSIGNMENT.match(line):
            path = (*table, *_parts(assignment[1]))
        else:
            continue
        shared = min(len(path), len(location))
        if path[:shared] == tuple(location[:shared]) and shared > best[0]:
            best = (shared, number)
    return best[1]


def _parts(key: str) -> tuple[str, ...]:
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in re.findall(_PART, key))
