"""Which columns of a table hold the text, the second text of a pair, and the label: asked for, or guessed by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueness.errors import UserError
from trueness.registry import nearest

PARTNERS = {
    "text": ("text_b", "text_pair", "text2"),
    "text_a": ("text_b",),
    "text1": ("text2",),
    "sentence1": ("sentence2",),
    "sentence_1": ("sentence_2",),
    "sentence_a": ("sentence_b",),
    "premise": ("hypothesis",),
    "question1": ("question2",),
}
"""Names of a first text, and of the second that goes with it."""
_LONGEST = 40
"""Characters of a name that a message shows; where a line of names is missing they are whole texts."""
_TEXTS: tuple[Sequence[str], ...] = (
    ("text",),
    (
        *(name for name in PARTNERS if name != "text"),
        *("texts", "sentence", "review", "content", "comment", "message", "document", "tweet", "body", "utterance"),
        *("question", "query", "headline", "review_text", "review_body", "comment_text", "full_text", "sms", "post"),
    ),
)
"""The first of these groups that a table has one name of decides."""
_LABELS: tuple[Sequence[str], ...] = (
    ("label",),
    ("labels",),
    (
        *("class", "category", "sentiment", "target", "rating", "y", "stars", "score", "polarity", "intent", "topic"),
        *("emotion", "gold_label", "class_index", "is_duplicate"),
    ),
)
_LONG = 20
"""Characters from which a cell with spaces, or of another script, may be a text."""
_NUMBER = re.compile(r"[-+]?[0-9]*[.,]?[0-9]+")


@dataclass(frozen=True)
class Columns:
    """Names of columns; None: not asked for, or there is none. An empty name asks for none."""

    text: str | None = None
    text_b: str | None = None
    label: str | None = None
    bad_rows: str = "refuse"
    """What becomes of rows that cannot be read, and of labels that seem to be gaps: they are refused, or "drop"."""

    def __post_init__(self) -> None:
        if self.bad_rows not in ("refuse", "drop"):
            raise UserError(f"bad_rows is refuse or drop, not {self.bad_rows!r}.")

    @property
    def drops(self) -> bool:
        """Whether rows that cannot be read are left out."""
        return self.bad_rows == "drop"

    @property
    def asked(self) -> list[str]:
        """Those that are said."""
        return [name for name in (self.text, self.text_b, self.label) if name]

    @property
    def said(self) -> str:
        """Where what is read from, unless the names say it themselves."""
        parts = [
            f"the {what} from {name}"
            for what, usual, name in (
                ("text", "text", self.text),
                ("second text", "text_b", self.text_b),
                ("label", "label", self.label),
            )
            if name is not None and name != usual
        ]
        return f"columns: {', '.join(parts)}" if parts else ""


def columns_of(named: Mapping[str, str]) -> Columns:
    """From text_column, text_b_column, label_column and bad_rows; UserError for another name."""
    known = ("text_column", "text_b_column", "label_column", "bad_rows")
    for name in named:
        if name not in known:
            raise UserError(f"There is no {name!r} to say of columns; {nearest(name, list(known))}")
    text, second, label = (named.get(name) for name in known[:3])
    return Columns(text, second, label, named.get("bad_rows", "refuse"))


def known_names(names: Iterable[str]) -> int:
    """How many of some names are of texts or labels."""
    known = {name for group in (*_TEXTS, *_LABELS) for name in group}
    return sum(_plain(name) in known for name in names)


def known_text(names: Iterable[str]) -> bool:
    """Whether one of some names is usual for texts."""
    return not {_plain(name) for name in names}.isdisjoint(name for group in _TEXTS for name in group)


def label_among(where: str, names: Sequence[str], asked: str | None = None) -> str | None:
    """The column of labels: the one asked for, or the one whose name is known; UserError where several are."""
    if asked and asked not in names:
        raise UserError(f"{where}: there is no column {asked}; {nearest(asked, list(names))}")
    return asked or _named(where, "label", names, _LABELS, [])


def choose_columns(
    where: str, names: Sequence[str], sample: Sequence[Mapping[str, Any]], asked: Columns, *, labelled: bool = False
) -> Columns:
    """The columns of a table, of which a `sample` of rows is at hand; unless `labelled` it need have no label.

    UserError that names the columns where none or several come into question; `where` begins it.
    """
    for name in asked.asked:
        if name not in names:
            raise UserError(f"{where}: there is no column {name}; {nearest(name, list(names))}")
    label = asked.label if asked.label is not None else _named(where, "label", names, _LABELS, asked.asked)
    text = asked.text or _named(where, "text", names, _TEXTS, [*asked.asked, label or ""])
    if text is None:
        text = _longest(where, names, sample, [*asked.asked, label or ""])
    missing = [
        what for what, name in (("label", label), ("text", text)) if name is None and (labelled or what == "text")
    ]
    if missing:
        have = f"it has {', '.join(map(_shortened, names))}" if names else "it is empty"
        way = " and ".join("text_column" if what == "text" else "label_column" for what in missing)
        raise UserError(
            f"{where}: there is no column {' and no column '.join(missing)}; {have}"
            f"{f' (rename it, or choose it with {way}; a table begins with a line of names)' if names else ''}."
        )
    assert text is not None
    text_b = asked.text_b if asked.text_b is not None else _partner(text, names, [label or ""])
    return Columns(text, text_b or None, label or None)


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


def _plain(name: str) -> str:
    """A name without capitals, spaces and dashes."""
    return re.sub(r"[\s\-]+", "_", name.strip().lower())


def _named(where: str, what: str, names: Sequence[str], known: Iterable[Sequence[str]], taken: list[str]) -> str | None:
    free = [name for name in names if name not in taken]
    for group in known:
        exact = [name for name in free if (name,) == tuple(group)]
        found = exact or [name for name in free if _plain(name) in group]
        if len(found) > 1:
            raise _ambiguous(where, what, found)
        if found:
            return found[0]
    return None


def _longest(where: str, names: Sequence[str], sample: Sequence[Mapping[str, Any]], taken: list[str]) -> str | None:
    """The only column of long strings; none where the names themselves look like data."""
    if any(_NUMBER.fullmatch(name.strip()) for name in names):
        return None
    cells = {name: [cell for row in sample if isinstance(cell := row.get(name), str) and cell] for name in names}
    # A question may be the name of a column; a first row without names has a text too, and beside it what comes again.
    a_row = all(map(_is_long, names)) or any(name in cells[name] for name in names)
    found = [
        name
        for name, some in cells.items()
        if name not in taken
        and some
        and 2 * sum(map(_is_long, some)) >= len(some)
        and not (_is_long(name) and (a_row or "?" not in name))
    ]
    if len(found) > 1:
        raise _ambiguous(where, "text", found)
    return found[0] if found else None


def _is_long(cell: str) -> bool:
    return len(cell) >= _LONG and (" " in cell.strip() or not cell.isascii())


def _partner(text: str, names: Sequence[str], taken: list[str]) -> str | None:
    wanted = PARTNERS.get(_plain(text), ())
    return next((name for name in names if name not in taken and _plain(name) in wanted), None)


def _ambiguous(where: str, what: str, found: list[str]) -> UserError:
    return UserError(f"{where}: the {what} may be in {' or '.join(found)}: choose it with {what}_column.")
