"""Words to numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from trueness.kinds.text.data.coding import BEGIN, END, MASK, PAD, SPECIAL, UNKNOWN, Coded
from trueness.kinds.text.data.examples import TextExample


@dataclass(frozen=True)
class Vocabulary:
    """The special tokens, then the words of the training split in alphabetical order."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, examples: Iterable[TextExample], *, min_count: int = 1) -> Vocabulary:
        """The words that occur in at least `min_count` examples, in either text."""
        counts: Counter[str] = Counter()
        for example in examples:
            counts.update({*example.tokens, *(example.tokens_b or ())})
        kept = sorted(word for word, count in counts.items() if count >= min_count)
        return cls((*SPECIAL, *(word for word in kept if word not in SPECIAL)))

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Word to number."""
        return {word: number for number, word in enumerate(self.words)}

    @property
    def pad(self) -> int:
        """Fills up short texts."""
        return PAD

    @property
    def mask_token(self) -> int:
        """Takes the place of a token that is hidden."""
        return MASK

    def code(self, example: TextExample) -> Coded:
        """Both texts of an example, each with begin and end."""
        other = None if example.tokens_b is None else self.encode(example.tokens_b)
        return Coded(self.encode(example.tokens), other)

    def spelled(self, numbers: Sequence[int]) -> list[str]:
        """The words of some numbers; those that are not known are [UNKNOWN]."""
        return [self.words[number] for number in numbers]

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Begin, the words, end; unknown words share one number."""
        numbers = self.numbers
        return [BEGIN, *(numbers.get(token, UNKNOWN) for token in tokens), END]
