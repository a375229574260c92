"""The outcome of a rating as one HTML page, complete in itself."""

from __future__ import annotations

from pathlib import Path

from trueness.engine import disk, write_atomically
from trueness.errors import UserError
from trueness.ratings.analysis import Plausibility
from trueness.report.page import environment, template
from trueness.version import __version__

_WIDTH = 240


def write_plausibility(found: Plausibility, path: Path, *, result: str, title: str) -> Path:
    """Write the page whole or not at all."""
    if path.suffix not in (".html", ".htm"):
        raise UserError(f"The page is an HTML file: give a name that ends in .html, not {path}.")
    content = plausibility_page(found, result=result, title=title).encode("utf-8", "replace")
    with disk(f"the page {path}", full="free some space", refused="choose another place"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    return path


def plausibility_page(found: Plausibility, *, result: str, title: str) -> str:
    """The page as text."""
    from markupsafe import Markup

    numbers = [
        value
        for one in found.methods
        for value in (one.plausibility.value, one.plausibility.low, one.plausibility.high, found.chance)
        if value is not None
    ]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return round(6 + (_WIDTH - 12) * (value - low) / span, 1)

    return str(
        environment("trueness.ratings")
        .get_template("plausibility.html")
        .render(
            found=found,
            place=place,
            width=_WIDTH,
            result=result,
            about=title,
            version=__version__,
            style=Markup(template("report.css") + template("plausibility.css", "trueness.ratings")),
        )
    )
