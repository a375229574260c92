"""Tables in a paper's layout."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """Header and rows as text, with what it takes to read them."""

    name: str
    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lean(self) -> Table:
        """Without columns in which nothing stands, nor that of the model where there is one: the caption says it."""
        caption, kept = self.caption, []
        for number, name in enumerate(self.header):
            values = {row[number] for row in self.rows}
            if name == "model" and len(values) == 1:
                caption = f"{caption} Model: {values.pop()}."
            elif values != {NOTHING}:
                kept.append(number)
        header, *rows = (tuple(row[number] for number in kept) for row in (self.header, *self.rows))
        return replace(self, caption=caption, header=header, rows=tuple(rows))

    def without_paper(self) -> Table:
        """Without the columns of a paper's values where none applies, as to a study of other data."""
        kept = [number for number, name in enumerate(self.header) if not name.endswith(("paper", "second run"))]
        if any(text != NOTHING for row in self.rows for number, text in enumerate(row) if number not in kept):
            return self
        header, subject = [], "ours"
        for name in self.header:
            subject = name.removesuffix(": paper") if name.endswith(": paper") else subject
            header.append(name.replace("ours", subject) if name.startswith("ours") else name)
        whole, *rows = (tuple(row[number] for number in kept) for row in (header, *self.rows))
        return replace(self, header=whole, rows=tuple(rows))


def groups(table: pd.DataFrame, *columns: str) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """The rows that have the same values in these columns, and these values, in order of appearance."""
    for key, some in table.groupby(list(columns), sort=False) if len(table) else ():
        yield tuple(map(str, key)), some


def number(value: float | None, form: str = ".3f") -> str:
    """A number in a cell."""
    return NOTHING if value is None else format(value, form)


def known(*values: float | None) -> list[float]:
    """Those that are numbers."""
    return [value for value in values if value is not None and math.isfinite(value)]


def written(value: float | None, decimals: int = 2) -> str:
    """As text, with a true minus sign; a dash where there is none."""
    if not known(value) or value is None:
        return NOTHING
    text = f"{value:,.{decimals}f}"
    return text[1:] if float(text.replace(",", "")) == 0 and text.startswith("-") else text.replace("-", "−")


def number_within(value: Any, low: Any, high: Any, form: str = "") -> str:
    """A number and, where both are known, its bounds."""
    if low in (None, "") or high in (None, ""):
        return format(value, form)
    return f"{value:{form}} ({low:{form}} to {high:{form}})"


def spread(values: pd.Series, form: str = ".3f", ddof: int = 0) -> str:
    """Mean ± standard deviation."""
    return f"{values.mean():{form}} ± {values.std(ddof=ddof):{form}}" if len(values) else NOTHING


def published_value(fact: dict[str, Any] | None) -> str:
    """What a paper says, in its own digits."""
    return NOTHING if fact is None else str(fact["published"])
