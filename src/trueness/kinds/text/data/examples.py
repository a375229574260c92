"""Text examples, as they come from a source and as models see them."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]
"""First token and one past the last, over `text.split()`."""


@dataclass(frozen=True)
class RawExample:
    """A labelled text, or pair of texts, unchanged from its source; `evidence` marks what is known to matter."""

    text: str
    label: str | int
    text_b: str | None = None
    evidence: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class TextExample:
    """Tokens and class number; `evidence` has one truth value per token, as have `decoys`, which only look like it."""

    tokens: tuple[str, ...]
    label: int
    tokens_b: tuple[str, ...] | None = None
    evidence: tuple[bool, ...] | None = None
    decoys: tuple[bool, ...] | None = None
