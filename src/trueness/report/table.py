"""Tables in a paper's layout."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
