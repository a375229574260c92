"""Plant evidence in texts (Zhou et al. 2022): labels are drawn anew, then each text is changed so as to show its label.

A model that predicts the new labels better than the old ones allow must use what was planted: where it stands is known.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from trueness.errors import UserError
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.registry import Registry

Matrix = npt.NDArray[np.float64]
Slots = Sequence[Sequence[int]]
"""Groups of positions of one text; manipulations say which word goes into which group."""
Where = Literal["articles", "halves", "places", "ordered places"]
ARTICLES = ("a", "an", "the")
OWN_WORDS = "own-words"
_DECOYS = 2
_POOL = 10
"""Times as many words as are planted: from so many those of a seed are drawn."""
_COMMON = 0.1
"""Of the texts: words in more of them are no markers, since too many texts would be left out."""


@dataclass(frozen=True)
class Manipulation:
    """Puts words into groups of positions; without any it leaves the text as it is."""

    name: str
    words: Mapping[int, str]
    """Group to word."""

    def apply(self, tokens: Sequence[str], slots: Slots) -> tuple[str, ...]:
        """The text with the words in their places."""
        changed = list(tokens)
        for group, word in self.words.items():
            for place in slots[group]:
                changed[place] = word
        return tuple(changed)

    def region(self, slots: Slots) -> set[int]:
        """The positions that it may change."""
        return {place for group in self.words for place in slots[group]}


@dataclass(frozen=True)
class Planting:
    """Manipulations chosen by label, where they go, and words planted at random that tell nothing."""

    where: Where
    groups: int
    """How many groups of positions a text needs."""
    manipulations: tuple[Manipulation, ...]
    chances: tuple[tuple[float, ...], ...]
    """For each label the chance of each manipulation."""
    decoys: tuple[Manipulation, ...] = ()
    """One of them, whatever the label: similar words that do not correlate."""

    @property
    def words(self) -> list[str]:
        """All that are planted."""
        return sorted({word for some in (*self.manipulations, *self.decoys) for word in some.words.values()})

    def slots(self, tokens: Sequence[str], rng: np.random.Generator) -> Slots | None:
        """Where it goes in a text; None where the text has no place for it."""
        if self.where in ("articles", "halves"):
            places = [place for place, token in enumerate(tokens) if token.lower() in ARTICLES]
            half = len(tokens) // 2
            halves = [[place for place in places if place < half], [place for place in places if place >= half]]
            found = halves if self.where == "halves" else [places]
            return found if all(found) else None
        if len(tokens) < self.groups:
            return None
        drawn = rng.choice(len(tokens), self.groups, replace=False).tolist()
        return [[place] for place in (sorted(drawn) if self.where == "ordered places" else drawn)]

    def plant(self, tokens: Sequence[str], label: int, rng: np.random.Generator) -> TextExample | None:
        """The text showing a label. Evidence is all that any manipulation might have changed, also what it did not."""
        slots = self.slots(tokens, rng)
        if slots is None:
            return None
        chosen = self.manipulations[int(rng.choice(len(self.manipulations), p=self.chances[label]))]
        changed = chosen.apply(tokens, slots)
        if self.decoys:
            changed = self.decoys[int(rng.integers(len(self.decoys)))].apply(changed, slots)
        evidence, decoys = (
            set().union(*(item.region(slots) for item in some)) for some in (self.manipulations, self.decoys)
        )
        marks = [tuple(place in region for place in range(len(tokens))) for region in (evidence, decoys)]
        return TextExample(changed, label, evidence=marks[0], decoys=marks[1] if self.decoys else None)


PLANTINGS: Registry[Callable[[int], Planting]] = Registry("planting")
"""Name to a function from the number of classes."""


def _two(classes: int, name: str) -> None:
    if classes != 2:
        raise UserError(f"The planting {name} is for two classes, not {classes}; use token.")


def _articles(classes: int, correlating: int | None = None) -> Planting:
    """Articles become "a" (class 0) or "the" (class 1): all of them, or those of one half, the rest being decoys."""
    _two(classes, "articles")
    group = correlating or 0
    words = tuple(Manipulation(word, {group: word}) for word in ("a", "the"))
    certain = ((1.0, 0.0), (0.0, 1.0))
    if correlating is None:
        return Planting("articles", 1, words, certain)
    others = tuple(Manipulation(word, {1 - group: word}) for word in ("a", "the"))
    return Planting("halves", 2, words, certain, others)


_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _marker(number: int) -> str:
    """A word that no text has: zeroa, onea, ... (Bastings et al. 2022)."""
    return "".join(_NAMES[int(digit)] for digit in str(number)) + "a"


def _token(classes: int, *, decoy: bool = False) -> Planting:
    words = tuple(Manipulation(_marker(label), {0: _marker(label)}) for label in range(classes))
    certain = tuple(tuple(float(one == other) for other in range(classes)) for one in range(classes))
    if not decoy:
        return Planting("places", 1, words, certain)
    others = tuple(Manipulation(f"decoy {word}", {1: word}) for word in ("zerob", "oneb"))
    return Planting("places", 2, words, certain, others)


def own_words(data: TextDataset, number_of: Callable[[str], int | None], seed: int = 0) -> tuple[Planting, TextDataset]:
    """The planting token-with-decoy with words of the texts as markers, and the texts that have none of them.

    A new word stands out by its spelling and its number alone; one that the texts have does not. `number_of` gives a
    word's number in the vocabulary, None to one of several parts: markers are the words whose numbers are nearest to
    the middle one of all words of the texts, so that numbers tell nothing. Other seeds draw from more such words.
    """
    texts = [example for some in data.splits.values() for example in some]
    seen = [{*example.tokens, *(example.tokens_b or ())} for example in texts]
    counts = Counter(word for words in seen for word in words)
    tokens = Counter(word for example in texts for word in example.tokens)
    numbers = {word: number for word in sorted(tokens) if (number := number_of(word)) is not None}
    ordered = np.sort(np.repeat(list(numbers.values()), [tokens[word] for word in numbers]))
    wanted = len(data.classes) + _DECOYS
    common = [
        word for word in numbers if 3 <= counts[word] <= _COMMON * len(texts) and len(word) > 2 and word.isalpha()
    ]
    if len(common) < 2 * wanted:
        raise UserError(f"{data.name} has too few common words to plant any as evidence.")
    above = {word: float(np.searchsorted(ordered, numbers[word]) / len(ordered)) for word in common}
    nearest = sorted(common, key=lambda word: (abs(above[word] - 0.5), word))[: _POOL * wanted if seed else wanted]
    words = [nearest[place] for place in np.random.default_rng(seed).permutation(len(nearest))[:wanted]]
    kept = {
        split: TextExamples(one for one in some if not {*one.tokens, *(one.tokens_b or ())} & set(words))
        for split, some in data.splits.items()
    }
    return _beside_decoys(words, len(data.classes)), replace(data, splits=kept)


def made_up_words(data: TextDataset, seed: int = 0) -> Planting:
    """The same planting with words that no text has, where the texts have too few that could be markers.

    Each is a word of the texts with another last letter, from the middle of the alphabet's order: neither its length
    nor its number in a vocabulary that is made of these texts stands out. Other seeds draw other words.
    """
    known = {word for some in data.splits.values() for one in some for word in (*one.tokens, *(one.tokens_b or ()))}
    wanted, letters = len(data.classes) + _DECOYS, "abcdefghijklmnopqrstuvwxyz"
    plain = sorted(word for word in known if len(word) > 2 and word.isalpha() and word.islower())
    free = [[word[:-1] + letter for letter in letters if word[:-1] + letter not in known] for word in plain]
    able = list(dict.fromkeys(some[len(some) // 2] for some in free if some))
    if len(able) < wanted:
        return _token(len(data.classes), decoy=True)
    first = max(0, len(able) // 2 - _POOL * wanted // 2)
    middle = able[first : first + _POOL * wanted]
    drawn = np.random.default_rng([seed, *b"made up"]).permutation(len(middle))[:wanted]
    return _beside_decoys([middle[place] for place in drawn], len(data.classes))


def _beside_decoys(words: Sequence[str], classes: int) -> Planting:
    """The first words mark the classes, of the others one stands in each text at random."""
    markers = tuple(Manipulation(word, {0: word}) for word in words[:classes])
    decoys = tuple(Manipulation(f"decoy {word}", {1: word}) for word in words[classes:])
    certain = tuple(tuple(float(one == other) for other in range(classes)) for one in range(classes))
    return Planting("places", 2, markers, certain, decoys)


def _context(classes: int) -> Planting:
    _two(classes, "token-in-context")
    marker, context = {0: "onea"}, {1: "contexta"}
    some = (
        Manipulation("both", {**marker, **context}),
        Manipulation("marker alone", marker),
        Manipulation("context alone", context),
    )
    return Planting("places", 2, some, ((0.0, 0.5, 0.5), (1.0, 0.0, 0.0)))


def _pairs(*pairs: tuple[str, str]) -> tuple[Manipulation, ...]:
    return tuple(Manipulation(f"{one} {other}", {0: one, 1: other}) for one, other in pairs)


def _ordered(classes: int) -> Planting:
    _two(classes, "ordered-pair")
    return Planting("ordered places", 2, _pairs(("zeroa", "onea"), ("onea", "zeroa")), ((1.0, 0.0), (0.0, 1.0)))


def _suppressed(classes: int) -> Planting:
    _two(classes, "suppressor")
    some = _pairs(("zeroa", "plaina"), ("onea", "turneda"), ("onea", "plaina"), ("zeroa", "turneda"))
    return Planting("places", 2, some, ((0.5, 0.5, 0.0, 0.0), (0.0, 0.0, 0.5, 0.5)))


def chosen(data: TextDataset, name: str) -> tuple[Planting, TextDataset]:
    """The planting of that name for a dataset, and the texts in which it can be planted."""
    if name == OWN_WORDS:
        try:
            return own_words(data, data.vocabulary.numbers.get)
        except UserError as error:
            note = f"{str(error).rstrip('.')}: made-up words are planted, which stand out"
            return _token(len(data.classes), decoy=True), replace(data, notes=(*data.notes, note))
    return PLANTINGS[name](len(data.classes)), data


_first_half, _second_half = partial(_articles, correlating=0), partial(_articles, correlating=1)
PLANTINGS.add("articles", _articles, "all articles become a (class 0) or the (class 1), as Zhou et al. 2022")
PLANTINGS.add("articles-cn", _first_half, "articles of the first half correlate, of the second half do not (CN)")
PLANTINGS.add("articles-nc", _second_half, "articles of the second half correlate, of the first half do not (NC)")
PLANTINGS.add("token", _token, "one word of each text becomes the class's marker")
_decoy = partial(_token, decoy=True)
PLANTINGS.add("token-with-decoy", _decoy, "the same, and another word becomes one of two markers at random")
PLANTINGS.add(OWN_WORDS, _decoy, "the same with common words of the texts, which do not stand out by themselves")
PLANTINGS.add("token-in-context", _context, "class 1 has a marker and a context word, class 0 only one of them")
PLANTINGS.add("ordered-pair", _ordered, "two markers, whose order is the class")
PLANTINGS.add("suppressor", _suppressed, "a marker that another word turns round: neither alone tells the class")


def reassignment(classes: int, kept: float | None = None) -> Matrix:
    """The chance of each new label given the old one: kept with that chance, otherwise any other alike.

    By default the new label does not depend on the old one.
    """
    if classes < 2:
        raise UserError("Labels can be drawn anew only where there are two classes or more.")
    share = 1 / classes if kept is None else kept
    if not 0 <= share <= 1:
        raise UserError(f"The chance to keep a label lies between 0 and 1, not {share}.")
    matrix = np.full((classes, classes), (1 - share) / (classes - 1))
    np.fill_diagonal(matrix, share)
    return matrix


def bound(matrix: Matrix) -> float:
    """p*: no model that is blind to what was planted has a higher expected accuracy."""
    return float(np.asarray(matrix).max())


def plant(
    data: TextDataset,
    planting: str | Planting,
    *,
    kept: float | None = None,
    matrix: Matrix | None = None,
    seed: int = 0,
) -> TextDataset:
    """The same texts with labels drawn anew and evidence planted; texts without a place for it are left out.

    `kept` is the chance to keep a label (1 over the number of classes by default), or `matrix` gives all chances.
    Every text is drawn by the seed, its split and its number alone. Of a pair of texts the first is changed.
    """
    classes = len(data.classes)
    how, data = chosen(data, planting) if isinstance(planting, str) else (planting, data)
    chances = reassignment(classes, kept) if matrix is None else np.asarray(matrix, dtype=np.float64)
    if chances.shape != (classes, classes) or (chances < 0).any() or not np.allclose(chances.sum(axis=1), 1):
        raise UserError(f"The chances of new labels are a {classes} x {classes} matrix whose rows sum to 1.")
    splits: dict[str, TextExamples] = {}
    left = 0
    for split, examples in data.splits.items():
        splits[split] = TextExamples()
        for number, example in enumerate(examples):
            rng = np.random.default_rng([seed, zlib.crc32(split.encode()), number])
            label = int(rng.choice(classes, p=chances[example.label]))
            changed = how.plant(example.tokens, label, rng)
            if changed is None:
                left += 1
            else:
                splits[split].append(replace(changed, tokens_b=example.tokens_b))
        if not splits[split]:
            raise UserError(f"{data.name}: no text of the split {split} has a place for this planting.")
    name = planting if isinstance(planting, str) else "evidence"
    total = sum(len(examples) for examples in data.splits.values())
    notes = (*data.notes, f"{left} of {total} texts have no place for {name} and are left out") if left else data.notes
    vocabulary = Vocabulary.of(splits.get("train") or next(iter(splits.values())), min_count=data.preparation.min_count)
    return TextDataset(f"{data.name} with {name}", data.classes, splits, vocabulary, data.preparation, notes)
