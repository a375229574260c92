"""Cards and tables for a notebook: plain HTML with its own styles, legible on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

_LOOKS = {
    "may be shown": ("✓", "#00704a"),
    "must not be shown": ("✗", "#b3301a"),
    "cannot tell": ("?", "#8a6400"),
    "pass": ("✓", "#00704a"),
    "fail": ("✗", "#b3301a"),
}
_CARD = (
    "display:inline-block;vertical-align:top;width:250px;margin:4px;padding:8px 12px;border:1px solid #8886;"
    "border-left:5px solid {colour};border-radius:6px;line-height:1.45;text-align:left;white-space:normal"
)


def sign(answer: str) -> str:
    """The sign of a verdict or answer, in its colour."""
    look, colour = _LOOKS.get(answer, ("–", "#808080"))
    return f'<b style="color:{colour}">{look}</b>'


def card(title: str, verdict: str, lines: Iterable[str], note: str = "") -> str:
    """A verdict with its reasons; `lines` are HTML."""
    _, colour = _LOOKS.get(verdict, ("", "#808080"))
    more = "".join(f"<div>{line}</div>" for line in lines)
    small = f"<div><small>{escape(note)}</small></div>" if note else ""
    head = f"<b>{escape(title)}</b><br>{sign(verdict)} <b>{escape(verdict)}</b>"
    return f'<div style="{_CARD.format(colour=colour)}">{head}{small}{more}</div>'


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows of the same columns."""
    if not rows:
        return ""
    heads = "".join(f'<th style="text-align:left">{escape(str(name))}</th>' for name in rows[0])
    lines = (
        "".join(f'<td style="text-align:left">{escape(str(value))}</td>' for value in row.values()) for row in rows
    )
    return f"<table><tr>{heads}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def notes(texts: Iterable[str]) -> str:
    """Remarks, one a line."""
    lines = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{lines}</ul>" if lines else ""
