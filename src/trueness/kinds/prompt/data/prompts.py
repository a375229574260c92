"""Prompts: a question, the passages that belong to it, an answer; and datasets of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from trueness.data.dataset import Dataset

ANSWER_CLASSES = ("answer", "other answers")
"""The classes where a model answers freely: its answer, and what stands against it."""


@dataclass(frozen=True)
class PromptExample:
    """One question to a language model, and what is known of the answer."""

    question: str
    """What is asked; without passages this is the text whose words are explained."""
    contexts: tuple[str, ...] = ()
    """Passages, in the order in which the prompt shows them."""
    answer: str | None = None
    """What the model answered, or what it should be asked about; None: the model's own answer is generated."""
    citations: tuple[int, ...] | None = None
    """Numbers of the passages that the answer cites, from 0; None where nothing is known, () where it cites none."""
    alternatives: tuple[str, ...] = ()
    """Other answers that the answer is compared with."""
    instruction: str = ""
    """What is said before the passages."""
    order: tuple[int, ...] | None = None
    """Of each passage its rank in the search that found it, 0 the best; None: as they stand."""
    numbers: tuple[int, ...] | None = None
    """Of each passage the number by which people know it; None: as they stand."""
    label: int = -1
    """The class: of the label words, or 0 where the answer is known to be right; -1 where it is not known."""
    part: tuple[int, int] | None = None
    """First character of the answer whose likelihood is explained, and one past the last; None: all of it."""


class PromptExamples(list[PromptExample]):
    """The examples of one split."""

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """(examples,) classes."""
        return np.array([one.label for one in self], dtype=np.int64)

    def pick(self, rows: npt.ArrayLike) -> PromptExamples:
        """Some of them, in the order given."""
        return PromptExamples([self[row] for row in np.asarray(rows, dtype=np.intp).tolist()])

    def labelled(self, labels: npt.ArrayLike) -> PromptExamples:
        """The same prompts under other classes."""
        given = np.asarray(labels, dtype=np.int64).tolist()
        return PromptExamples([replace(one, label=label) for one, label in zip(self, given, strict=True)])

    def keys(self) -> list[tuple[str, tuple[str, ...], str | None]]:
        """Question, passages and answer of each."""
        return [(one.question, one.contexts, one.answer) for one in self]

    @classmethod
    def joined(cls, parts: Sequence[PromptExamples]) -> PromptExamples:
        """All examples of several splits."""
        return cls(one for part in parts for one in part)


@dataclass(frozen=True)
class PromptDataset(Dataset[PromptExamples]):
    """Named splits of prompts; the classes are label words, or `ANSWER_CLASSES`."""

    kind = "prompt"
    name: str
    classes: tuple[str, ...]
    splits: Mapping[str, PromptExamples] = field(repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Lists of examples will do.
        object.__setattr__(self, "splits", {name: PromptExamples(part) for name, part in self.splits.items()})
