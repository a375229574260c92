"""Text examples, as they come from a source and as models see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

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


class TextExamples(list[TextExample]):
    """The examples of one split."""

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """(examples,) classes."""
        return np.array([one.label for one in self], dtype=np.int64)

    def pick(self, rows: npt.ArrayLike) -> TextExamples:
        """Some of them, in the order given."""
        return TextExamples([self[row] for row in np.asarray(rows, dtype=np.intp).tolist()])

    def labelled(self, labels: npt.ArrayLike) -> TextExamples:
        """The same texts under other classes."""
        given = np.asarray(labels, dtype=np.int64).tolist()
        return TextExamples([replace(one, label=label) for one, label in zip(self, given, strict=True)])

    def keys(self) -> list[tuple[tuple[str, ...], tuple[str, ...] | None]]:
        """The words of each text, or pair."""
        return [(one.tokens, one.tokens_b) for one in self]

    @classmethod
    def joined(cls, parts: Sequence[TextExamples]) -> TextExamples:
        """All examples of several splits."""
        return cls(one for part in parts for one in part)
