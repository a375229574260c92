"""A dataset of texts: tokenised examples with their classes, prepared from raw ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from trueness.data.dataset import Dataset
from trueness.errors import UserError
from trueness.kinds.text.data.examples import RawExample, TextExample, TextExamples
from trueness.kinds.text.data.preparation import Preparation, tokenise
from trueness.kinds.text.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class TextDataset(Dataset[TextExamples]):
    """Named splits of tokenised examples with their classes, and what was left out on the way."""

    kind = "text"
    name: str
    classes: tuple[str, ...]
    splits: Mapping[str, TextExamples] = field(repr=False)
    vocabulary: Vocabulary = field(repr=False)
    preparation: Preparation = field(repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Lists of examples will do.
        object.__setattr__(self, "splits", {name: TextExamples(part) for name, part in self.splits.items()})

    def divided(self, splits: Mapping[str, TextExamples], note: str) -> TextDataset:
        """The same texts in other splits; the words are those of the new training split."""
        vocabulary = Vocabulary.of(splits["train"], min_count=self.preparation.min_count)
        return replace(self, splits=splits, vocabulary=vocabulary, notes=(*self.notes, note))

    @property
    def pairs(self) -> bool:
        """Whether every example is a pair of texts."""
        return all(example.tokens_b is not None for part in self.splits.values() for example in part)


def prepare(name: str, raw: Mapping[str, Sequence[RawExample]], how: Preparation) -> TextDataset:
    """Tokenise, rename and number the labels, filter by length, and set a development split aside.

    Examples left out are counted in the dataset's notes; a label unknown to the training split is an error.
    """
    labelled = {split: renamed(part, how) for split, part in raw.items()}
    classes = how.classes or classes_of(name, labelled)
    tokenised = {
        split: [_tokenised(example, classes, how) for example in part if str(example.label) in classes]
        for split, part in labelled.items()
    }
    if "dev" not in tokenised and "train" in tokenised and how.dev_share:
        tokenised["train"], tokenised["dev"] = _set_aside(tokenised["train"], how)
    # As in the papers' code, the length limits apply after the vocabulary is made.
    first = tokenised["train"] if "train" in tokenised else next(iter(tokenised.values()))
    vocabulary = Vocabulary.of(first, min_count=how.min_count)
    fitting = {split: TextExamples(_fitting(part, how)) for split, part in tokenised.items()}
    for split, examples in fitting.items():
        if not examples:
            raise UserError(f"{name}: the split {split} is empty after preparation.")
    return TextDataset(name, classes, fitting, vocabulary, how, _notes(raw, tokenised, fitting))


def _notes(raw: Mapping[str, Sequence[RawExample]], *steps: Mapping[str, Sequence[TextExample]]) -> tuple[str, ...]:
    """How many examples were left out, and why."""
    labelled, fitting = (sum(map(len, step.values())) for step in steps)
    total = sum(map(len, raw.values()))
    notes = []
    if labelled < total:
        notes.append(f"{total - labelled} of {total} examples left out because of their label")
    if fitting < labelled:
        notes.append(f"{labelled - fitting} of {labelled} examples left out because of their length")
    return tuple(notes)


def renamed(examples: Sequence[RawExample], how: Preparation) -> Sequence[RawExample]:
    """The same under the labels that the preparation gives them; one without any is left out."""
    if how.merge is None:
        return examples
    merge = how.merge
    return [replace(example, label=merge[str(example.label)]) for example in examples if str(example.label) in merge]


def classes_of(name: str, splits: Mapping[str, Sequence[RawExample]]) -> tuple[str, ...]:
    """The labels of the training split, or of the first one; UserError where another split has others."""
    source = splits["train"] if "train" in splits else next(iter(splits.values()))
    labels = {example.label for example in source}
    if not labels:
        raise UserError(f"{name} has no examples.")
    numeric = all(isinstance(label, int) for label in labels)
    classes = tuple(str(label) for label in (sorted(labels) if numeric else sorted(set(map(str, labels)))))
    for split, part in splits.items():
        unknown = next((str(example.label) for example in part if str(example.label) not in classes), None)
        if unknown is not None:
            raise UserError(f"{name}, split {split}: the label {unknown!r} does not occur in the training split.")
    return classes


def _tokenised(example: RawExample, classes: tuple[str, ...], how: Preparation) -> TextExample:
    tokens = tokenise(example.text, how)
    evidence = None
    if example.evidence is not None:
        # Spans count the words between spaces, and no token crosses a space.
        ends = [0, *itertools.accumulate(len(tokenise(word, how)) for word in example.text.split())]
        places = {place for begin, end in example.evidence for place in range(ends[begin], ends[end])}
        evidence = tuple(place in places for place in range(len(tokens)))
    other = None if example.text_b is None else tuple(tokenise(example.text_b, how))
    return TextExample(tuple(tokens), classes.index(str(example.label)), other, evidence)


def _fitting(examples: list[TextExample], how: Preparation) -> list[TextExample]:
    lengths = [len(example.tokens) for example in examples]
    low = how.above or 0
    high = float("inf") if how.below is None else how.below
    if lengths and how.drop_longest:
        high = min(high, max(lengths))
    if lengths and how.drop_shortest:
        low = max(low, min(lengths))
    return [example for example, length in zip(examples, lengths, strict=True) if low < length < high]


def _set_aside(train: Sequence[TextExample], how: Preparation) -> tuple[list[TextExample], list[TextExample]]:
    """A random development split, our own: scikit-learn's shuffles of the papers are not reproduced."""
    order = list(range(len(train)))
    random.Random(how.dev_seed).shuffle(order)
    count = round(how.dev_share * len(train))
    return [train[index] for index in sorted(order[count:])], [train[index] for index in sorted(order[:count])]
