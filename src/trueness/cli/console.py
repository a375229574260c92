"""A terminal to print on, which what is printed cannot steer."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from trueness.boundary import printable


def open_console() -> Console:
    """Standard output as wide as it is; labels and texts of other people are made printable."""
    # Without a terminal there is no width to fit: keep every row on one line, so that the output can be searched.
    width = shutil.get_terminal_size((160, 24)).columns if sys.stdout.isatty() else 200
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    console.push_render_hook(_Printable())
    return console


class _Printable(RenderHook):
    """Labels and texts are other people's: what would steer the terminal is shown as a sign."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Wrap each."""
        return [_Shown(renderable) for renderable in renderables]


@dataclass(frozen=True)
class _Shown:
    """A renderable, its text made printable after it is laid out."""

    inner: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.inner, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
