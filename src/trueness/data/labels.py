"""Labels as people write them, and which class of a model each one means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueness.errors import UserError

_PLAIN = re.compile(r"(0|-?[1-9][0-9]{0,17})(?:\.0*)?")
"""A whole number, also as pandas writes it where a column has gaps: 1.0."""
_NUMBERED = re.compile(r"label[_ ]?([0-9]{1,9})", re.IGNORECASE)
"""The name that the Hugging Face library gives a class without one."""
_SHOWN = 8
OR_NONE = ', or leave the labels out (label_column="")'
"""The way out of labels without a class, where labels are not needed."""

NAME_THEM = (
    "; or name the classes so where they come from: id2label in a transformer's config.json, a function's classes"
)
"""The way out of labels that no renaming reaches."""


@dataclass(frozen=True)
class Matching:
    """Which class each label means."""

    classes: Mapping[str | int, int]
    """Label to class number."""
    note: str = ""
    """How it was found, unless labels and classes are called the same."""


def read_label(cell: str) -> str | int | None:
    """A label from the text of a cell: 7, 7.0 and -7 are numbers; None for other ways to write a number."""
    if plain := _PLAIN.fullmatch(cell):
        return int(plain[1])
    return None if _is_number(cell) else cell


def match_labels(labels: Iterable[str | int | None], classes: Sequence[str], or_else: str = "") -> Matching:
    """The class of each label: by its name, by its name in other spelling, or by its number; labels may be missing.

    UserError that names both where a label has no class, and `or_else`, another way out.
    """
    given = sorted(
        {label for label in labels if label is not None}, key=lambda label: (str(label), type(label).__name__)
    )
    ways: list[tuple[Mapping[Any, int], Callable[[str | int], Any], str]] = [
        ({name: number for number, name in enumerate(classes)}, str, ""),
        (_spelled(classes), _folded, "labels and classes are matched without regard to capitals, spaces and dashes"),
        (_numbered(classes), _number, f"the labels are the numbers of the classes: {_numbers(classes)}"),
    ]
    for known, reading, note in ways:
        found = {label: known.get(reading(label)) for label in given}
        if None not in found.values():
            return Matching(
                {label: number for label, number in found.items() if number is not None}, note if given else ""
            )
    raise UserError(
        f"The labels are {_listed(given)}, and the model's classes are {_listed(classes)}: rename the labels to the "
        f"classes' names{'' if _numbered(classes) == {} else f' or numbers, 0 to {len(classes) - 1}'}{or_else}."
    )


GAPS = frozenset(("nan", "null", "n/a", "#n/a", "#nv"))
"""What spreadsheets and other programs write where there is no label, in any case of letters."""
_LIKELY_GAPS = frozenset(
    ("?", "??", "-", "--", "–", "—", ".", "na", "none", "nil", "unknown", "missing", "empty", "tbd", "k.a.", "k. a.")
)
"""What people write there; it may also be a class."""


def likely_gaps(labels: Iterable[str | int]) -> list[str]:
    """Those of some labels that may stand for no label."""
    found = dict.fromkeys(label for label in labels if isinstance(label, str))
    return [label for label in found if label.strip().casefold() in _LIKELY_GAPS]


def spelled_alike(labels: Iterable[str | int]) -> dict[str, str]:
    """Labels that differ only in capitals, spaces and dashes, each with the most frequent spelling of its class."""
    counted = Counter(label for label in labels if isinstance(label, str))
    classes: dict[str, list[str]] = {}
    for label, _ in counted.most_common():
        classes.setdefault(_folded(label), []).append(label)
    return {label: same[0].strip() for same in classes.values() for label in same if label != same[0].strip()}


def told_spellings(changed: Mapping[str, str], labels: Iterable[str | int]) -> Iterator[str]:
    """Of each class how its label is written."""
    counted = Counter(label for label in labels if isinstance(label, str))
    for name in dict.fromkeys(changed.values()):
        same = [label for label in counted if label == name or changed.get(label) == name]
        written = ", ".join(f"{label!r} ({counted[label]:,})" for label in same[:_SHOWN])
        yield f"labels that differ only in capitals, spaces and dashes are one class, {name}: {written}"


def _folded(label: str | int) -> str:
    return re.sub(r"[\s_\-]+", " ", str(label).strip().casefold())


def _spelled(classes: Sequence[str]) -> dict[str, int]:
    """By their names in one spelling; none if that makes two the same."""
    found = {_folded(name): number for number, name in enumerate(classes)}
    return found if len(found) == len(classes) else {}


def _numbered(classes: Sequence[str]) -> dict[int, int]:
    """By the numbers in their names, LABEL_1, or in their order; none where names are numbers of another meaning."""
    named = [_NUMBERED.fullmatch(name.strip()) for name in classes]
    if all(named):
        return {int(name[1]): number for number, name in enumerate(named) if name}
    return {} if any(_is_number(name) for name in classes) else {number: number for number in range(len(classes))}


def _number(label: str | int) -> int | None:
    if isinstance(label, str) and (named := _NUMBERED.fullmatch(label.strip())):
        return int(named[1])
    found = read_label(str(label).strip())
    return found if isinstance(found, int) else None


def _numbers(classes: Sequence[str]) -> str:
    by_number = sorted(_numbered(classes).items())
    return _listed([f"{number} is {classes[place]}" for number, place in by_number])


def _listed(names: Sequence[object]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(str(name)[:40] for name in names[:_SHOWN]) + more


def _is_number(text: str) -> bool:
    if text.strip().lower() in ("nan", "inf", "infinity"):
        return False
    try:
        float(text)
    except ValueError:
        return text.strip().isdigit()
    return True
