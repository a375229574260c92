"""Words to numbers: what every way of coding text shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from trueness.kinds.text.data.examples import TextExample

PAD, BEGIN, END, MASK, UNKNOWN = range(5)
SPECIAL = ("[PAD]", "[BEGIN]", "[END]", "[MASK]", "[UNKNOWN]")
"""The special tokens of a `Vocabulary` and their numbers."""


@dataclass(frozen=True)
class Coded:
    """An example as numbers."""

    tokens: Sequence[int]
    other: Sequence[int] | None = None
    """The other text of a pair, where it is a sequence of its own."""
    types: Sequence[int] | None = None
    words: Sequence[int] | None = None
    """The word of the first text that each token is a part of, -1 for none; None: begin, one token a word, end."""
    explained: Sequence[bool] | None = None
    """Which tokens may be explained; None: all but the first and the last."""


class Coder(Protocol):
    """Turns words into the numbers a model reads: a `Vocabulary`, or the tokeniser of a transformer."""

    @property
    def pad(self) -> int:
        """Fills up short texts."""

    @property
    def mask_token(self) -> int:
        """Takes the place of a token that is hidden."""

    def code(self, example: TextExample) -> Coded:
        """One example."""

    def spelled(self, numbers: Sequence[int]) -> list[str]:
        """What some numbers stand for: words, parts of words, and the names of special tokens."""
