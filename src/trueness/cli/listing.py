"""Plain tables on a terminal, and the list of names, which must not wait for what draws results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from trueness.cli.console import open_console


def print_rows(
    console: Console, columns: Sequence[str], cells: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """A table; columns named in `right` hold numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), show_header=any(columns))
    for column in columns:
        numeric = column in right
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    for row in cells:
        table.add_row(*row)
    console.print(table)


def names(found: dict[str, dict[str, str]]) -> None:
    """Everything that has a name."""
    console = open_console()
    for kind, entries in found.items():
        console.print(f"{kind}:", style="bold")
        print_rows(console, ("", ""), ((f"  {name}", description) for name, description in entries.items()))
