"""Figures as Vega-Lite specifications: the same one is interactive in the report and a PNG, SVG or PDF beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Okabe and Ito's colours, which remain distinct to colour-blind readers.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#999999"


@dataclass(frozen=True)
class Figure:
    """A drawing with what it takes to read it."""

    name: str
    title: str
    caption: str
    spec: dict[str, Any]


def values(frame: Any) -> list[dict[str, Any]]:
    """Rows as plain JSON; what is missing is null."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [dict(row) for row in plain.to_dict(orient="records")]
