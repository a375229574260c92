"""Datasets of any kind: named splits of examples, the one that is looked at, and splits that are missing."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from trueness.boundary import because, reading, short
from trueness.data.labels import NAME_THEM, match_labels
from trueness.errors import UserError
from trueness.registry import nearest

ROOT_VARIABLE = "TRUENESS_DATA"
"""Names the folder in which corpora lie that may not be handed on."""
SPLITS = ("train", "dev", "test")
SHARES = (0.7, 0.15, 0.15)
"""Of each class, where splits are made."""


class Examples(Protocol):
    """Inputs as people give them, each with the number of its class; -1 where it is not known."""

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """(examples,) classes."""

    def __len__(self) -> int: ...

    def pick(self, rows: npt.ArrayLike) -> Self:
        """Some of them, in the order given."""

    def labelled(self, labels: npt.ArrayLike) -> Self:
        """The same inputs under other classes."""

    def keys(self) -> Sequence[Hashable]:
        """Of each example what it shares with no other one, unless they are the same."""

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All examples of several parts."""


Some = TypeVar("Some", bound=Examples)


class Dataset(Generic[Some]):
    """Named splits of examples; each kind has a frozen dataclass of these fields and perhaps others."""

    kind: ClassVar[str]
    """The name of the kind of its examples."""
    name: str
    classes: tuple[str, ...]
    splits: Mapping[str, Some]
    notes: tuple[str, ...]

    def __getitem__(self, split: str) -> Some:
        if split not in self.splits:
            raise UserError(f"{self.name} has no split {split!r}, only {', '.join(self.splits)}.")
        return self.splits[split]

    def _repr_html_(self) -> str:
        """In a notebook: how many examples of each class every split has, and the notes."""
        heads = "".join(f"<th>{escape(name)}</th>" for name in self.classes)
        rows = []
        for split, some in self.splits.items():
            counted = Counter(some.labels.tolist())
            cells = "".join(f"<td>{counted[number]:,}</td>" for number in range(len(self.classes)))
            rows.append(f"<tr><td>{escape(split)}</td>{cells}<td>{len(some):,}</td></tr>")
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        table = f"<table><tr><th></th>{heads}<th>all</th></tr>{''.join(rows)}</table>"
        return f"<b>{escape(self.name)}</b>{table}{f'<ul>{notes}</ul>' if notes else ''}"

    def default_split(self, split: str | None = None) -> Some:
        """The split of that name; by default test, or the only one there is."""
        (only, *others) = self.splits
        return self[split or ("test" if others or "test" in self.splits else only)]

    def divided(self, splits: Mapping[str, Some], note: str) -> Self:
        """The same examples in other splits."""
        made: Any = self
        changed: Self = dataclasses.replace(made, splits=splits, notes=(*self.notes, note))
        return changed


AnyDataset = TypeVar("AnyDataset", bound=Dataset[Any])


def unknown(name: str, known: Sequence[str]) -> UserError:
    """That there is no such dataset, and the datasets, files and folders of like names."""
    folder = Path(name).parent
    with reading(folder):
        beside = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    visible = [str(folder / file) for file in beside if not file.startswith(".")]
    close = nearest(name, [*known, *visible], "`trueness list dataset` names the datasets.")
    return UserError(f"There is no dataset, file or folder {short(name)!r}; {close}")


def deal(
    keys: Sequence[Hashable], labels: Sequence[Hashable], shares: Sequence[float] = SHARES, seed: int = 0
) -> list[list[int]]:
    """The numbers of the examples of each part, in order: equal ones stay together, classes keep their share.

    A class of one example is in the first part.
    """
    same: dict[Hashable, list[int]] = {}
    for number, key in enumerate(keys):
        same.setdefault(key, []).append(number)
    by_class: dict[Hashable, list[list[int]]] = {}
    for group in same.values():
        by_class.setdefault(labels[group[0]], []).append(group)
    rng = np.random.default_rng([seed, *b"split"])
    found: list[list[int]] = [[] for _ in shares]
    for groups in by_class.values():
        ends = np.cumsum(shares) / sum(shares) * sum(map(len, groups))
        done = 0
        for row in rng.permutation(len(groups)).tolist():
            part = int(np.searchsorted(ends[:-1], done + len(groups[row]) / 2))
            found[part] += groups[row]
            done += len(groups[row])
    return [sorted(part) for part in found]


def with_splits(data: AnyDataset, seed: int = 0) -> AnyDataset:
    """The same with splits for training, development and test: seeded, every class in each, no example in two.

    What is missing is set aside from the training split; without one all examples are split anew.
    """
    missing = [split for split in SPLITS if split not in data.splits]
    if not missing:
        return data
    anew = "train" in missing
    parts = list(data.splits.values())
    pool = type(parts[0]).joined(parts) if anew else data.splits["train"]
    names = SPLITS if anew else ("train", *missing)
    shares = [SHARES[SPLITS.index(name)] for name in names]
    if not anew:
        shares[0] = 1 - sum(shares[1:])
    dealt = deal(pool.keys(), pool.labels.tolist(), shares, seed)
    made = {name: pool.pick(rows) for name, rows in zip(names, dealt, strict=True)}
    for name, examples in made.items():
        if not len(examples):
            raise UserError(f"{data.name} has too few examples for a split {name}{because(data.notes)}.")
    said = ", ".join(f"{name} {len(some):,}" for name, some in made.items())
    note = f"no split {' and '.join(missing)}: {'all examples' if anew else 'the split train'} split anew ({said})"
    return data.divided({**({} if anew else data.splits), **made}, note)


def drawn(labels: Sequence[int], count: int) -> list[int]:
    """The rows of so many labels, as many of each as there are, by a fixed draw; all in order where there are fewer.

    Files are often sorted by label, so that the first ones would be of one class. Fewer are the first ones of more.
    """
    if count < 0:
        raise ValueError(f"a number to draw must be at least 0, not {count}")
    if count >= len(labels):
        return list(range(len(labels)))
    seen: Counter[int] = Counter()
    rounds: dict[int, int] = {}
    for row in np.random.default_rng(list(b"drawn")).permutation(len(labels)).tolist():
        rounds[row] = seen[labels[row]]
        seen[labels[row]] += 1
    return sorted(rounds, key=rounds.__getitem__)[:count]


def drawn_examples(examples: Some, count: int) -> Some:
    """So many examples, drawn evenly from the classes."""
    return examples.pick(drawn(examples.labels.tolist(), count))


def looked_at(
    data: Dataset[Some], wanted: Sequence[str], split: str | None = None, *, gold: bool = True
) -> tuple[dict[str, Some], tuple[str, ...]]:
    """The splits under the numbers that a model gives its classes, that which is looked at first; and notes.

    UserError where a class of the data is none of the `wanted`; unless `gold` labels become -1.
    """
    first = data.default_split(split)
    ordered = {name: some for name, some in data.splits.items() if some is first} | dict(data.splits)
    if not gold:
        return {name: some.labelled([-1] * len(some)) for name, some in ordered.items()}, data.notes
    meant = match_labels(data.classes, wanted, NAME_THEM)
    numbers = np.array([*(meant.classes[name] for name in data.classes), -1])  # where -1 stands for no label
    notes = (*data.notes, *([meant.note] if meant.note else []))
    return {name: some.labelled(numbers[some.labels]) for name, some in ordered.items()}, notes
