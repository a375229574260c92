"""From raw examples to tokens: tokenising, classes, length limits, a development split. All of it is parameters."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from trueness.boundary import check_fields
from trueness.data.examples import RawExample, TextDataset, TextExample
from trueness.data.vocabulary import Vocabulary
from trueness.errors import UserError

Tokeniser = Literal["space", "words", "letters"]
TOKENISERS: dict[str, Callable[[str], list[str]]] = {
    "space": str.split,
    "words": re.compile(r"\w+(?:['’]\w+)*|[^\w\s]").findall,
    "letters": lambda text: re.sub(r"\W", " ", text).split(),
}
"""space: the text is tokenised already; words: words and single punctuation marks; letters: words only."""

Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Preparation:
    """How a corpus becomes a dataset. The defaults keep everything."""

    tokeniser: Tokeniser = "space"
    lowercase: bool = False
    digits: str | None = None
    """What replaces every token with a digit in it; None keeps them."""
    above: Count | None = None
    """Keep texts with more tokens than this."""
    below: Count | None = None
    """Keep texts with fewer tokens than this."""
    first: Count | None = None
    """Keep so many tokens of a text, the first ones."""
    drop_longest: bool = False
    """Also drop the longest texts of every split, as a strict comparison with the maximum does."""
    drop_shortest: bool = False
    """Also drop the shortest texts of every split, as a strict comparison with the minimum does."""
    classes: tuple[str, ...] | None = None
    """Labels to keep, in the order of their class numbers; None: all, sorted."""
    merge: Mapping[str, str] | None = None
    """Labels to rename first; a label missing here is dropped."""
    dev_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the training split to set aside where the source has no development split."""
    dev_seed: int = 0
    min_count: Count = 1
    """Words in fewer training examples than this are unknown."""

    def __post_init__(self) -> None:
        check_fields(self, "The preparation of a dataset")


def prepare(name: str, raw: Mapping[str, Sequence[RawExample]], how: Preparation) -> TextDataset:
    """Tokenise, rename and number the labels, filter by length, and set a development split aside.

    Examples left out are counted in the dataset's notes; a label unknown to the training split is an error.
    """
    splits = {split: [_renamed(example, how) for example in part] for split, part in raw.items()}
    labelled = {split: [example for example in part if example is not None] for split, part in splits.items()}
    classes = how.classes or classes_of(name, labelled)
    tokenised: dict[str, list[TextExample]] = {}
    for split, part in labelled.items():
        kept = [example for example in part if str(example.label) in classes]
        tokenised[split] = [_tokenised(example, classes, how) for example in kept]
    if "dev" not in tokenised and "train" in tokenised and how.dev_share:
        tokenised["train"], tokenised["dev"] = _set_aside(tokenised["train"], how)
    # As in the papers' code, the length limits apply after the vocabulary is made.
    first = tokenised["train"] if "train" in tokenised else next(iter(tokenised.values()))
    vocabulary = Vocabulary.of(first, min_count=how.min_count)
    fitting = {split: _fitting(part, how) for split, part in tokenised.items()}
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


def _renamed(example: RawExample, how: Preparation) -> RawExample | None:
    if how.merge is None:
        return example
    label = how.merge.get(str(example.label))
    return None if label is None else RawExample(example.text, label, example.text_b, example.evidence)


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
        marks = [False] * len(tokens)
        for begin, end in example.evidence:
            marks[begin:end] = [True] * (end - begin)
        evidence = tuple(marks[: len(tokens)])
    other = None if example.text_b is None else tuple(tokenise(example.text_b, how))
    return TextExample(tuple(tokens), classes.index(str(example.label)), other, evidence)


def tokenise(text: str, how: Preparation) -> list[str]:
    """The tokens of one text."""
    tokens = TOKENISERS[how.tokeniser](text)
    if how.lowercase:
        tokens = [token.lower() for token in tokens]
    if how.digits is not None:
        tokens = [how.digits if any(character.isdigit() for character in token) else token for token in tokens]
    return tokens[: how.first]


def _fitting(examples: list[TextExample], how: Preparation) -> list[TextExample]:
    lengths = [len(example.tokens) for example in examples]
    low = 0 if how.above is None else how.above
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
    chosen = set(order[:count])
    return (
        [example for index, example in enumerate(train) if index not in chosen],
        [example for index, example in enumerate(train) if index in chosen],
    )
