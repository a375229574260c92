"""What the terminal shows of a demo: a table of means, and what it is about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from trueness.cli.console import open_console
from trueness.cli.listing import print_rows
from trueness.report.table import NOTHING


def demo(found: Mapping[str, Any]) -> None:
    """One row for each explainer; values with their intervals."""
    console, table = open_console(), found["table"]
    for sentence in found["told"]:
        console.print(sentence)
    if not len(table):
        console.print("No answer followed its passages: there is nothing to measure.")
        return
    cells = {
        (row.scene, row.explainer, row.measure): f"{row.value:.2f} ({_end(row.low)} to {_end(row.high)})"
        for row in table.itertuples()
    }
    columns = [(scene, measure) for scene in table["scene"].unique() for measure in table["measure"].unique()]
    rows = [
        (explainer, *(cells.get((scene, explainer, measure), NOTHING) for scene, measure in columns))
        for explainer in table["explainer"].unique()
    ]
    numbers = [f"{scene}: {measure}" for scene, measure in columns]
    print_rows(console, ("explainer", *numbers), rows, numbers)


def _end(value: float | None) -> str:
    return NOTHING if value is None or math.isnan(value) else f"{value:.2f}"
