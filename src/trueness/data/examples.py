"""Text examples, as they come from a source and as models see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trueness.errors import UserError

if TYPE_CHECKING:
    from trueness.data.preparation import Preparation
    from trueness.data.vocabulary import Vocabulary

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


@dataclass(frozen=True)
class TextDataset:
    """Named splits of tokenised examples with their classes, and what was left out on the way."""

    name: str
    classes: tuple[str, ...]
    splits: Mapping[str, Sequence[TextExample]] = field(repr=False)
    vocabulary: Vocabulary = field(repr=False)
    preparation: Preparation = field(repr=False)
    notes: tuple[str, ...] = ()

    def __getitem__(self, split: str) -> Sequence[TextExample]:
        if split not in self.splits:
            raise UserError(f"{self.name} has no split {split!r}, only {', '.join(self.splits)}.")
        return self.splits[split]

    def to_look_at(self, split: str | None = None) -> Sequence[TextExample]:
        """The split of that name; by default test, or the only one there is."""
        (only, *others) = self.splits
        return self[split or ("test" if others or "test" in self.splits else only)]

    @property
    def pairs(self) -> bool:
        """Whether every example is a pair of texts."""
        return all(example.tokens_b is not None for part in self.splits.values() for example in part)

    def class_counts(self, split: str) -> tuple[int, ...]:
        """Examples per class, in the order of `classes`."""
        counts = [0] * len(self.classes)
        for example in self.splits[split]:
            counts[example.label] += 1
        return tuple(counts)
