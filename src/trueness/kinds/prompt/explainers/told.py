"""What the answer itself cites; and foils, which see the words and the order of passages, but no model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.kinds.prompt.data.batches import PromptBatch
from trueness.kinds.prompt.data.coding import Coded
from trueness.kinds.prompt.data.prompts import PromptExample

_WORD = re.compile(r"\w+")
_CITED = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")


def cited(example: PromptExample) -> tuple[int, ...] | None:
    """The passages that an answer cites, from 0: as they are given, or as [2] or [1, 3] in its text."""
    if example.citations is not None:
        return tuple(number for number in example.citations if 0 <= number < len(example.contexts))
    found = [int(number) - 1 for some in _CITED.findall(example.answer or "") for number in some.split(",")]
    return tuple(dict.fromkeys(number for number in found if 0 <= number < len(example.contexts))) or None


@dataclass(frozen=True)
class Citations(Explainer):
    """1 for what the answer cites, 0 for all else: not negative."""

    facts = Facts(signed=False)

    def attribute(self, model: Any, batch: PromptBatch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        known = [cited(one.example) for one in batch.coded]
        if all(some is None for some in known):
            raise Unsupported("None of these answers cites a passage.")
        rows = [
            [float(number in (some or ())) for number in one.passages]
            for one, some in zip(batch.coded, known, strict=True)
        ]
        return _of_units(batch, rows)


@dataclass(frozen=True)
class Overlap(Explainer):
    """The share of the words of the question, or of the answer, that a unit has: a foil that sees no model."""

    facts = Facts(signed=False)

    of: Literal["question", "answer"] = "question"

    def attribute(self, model: Any, batch: PromptBatch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        return _of_units(batch, [[self._share(one, name) for name in one.names] for one in batch.coded])

    def _share(self, one: Coded, name: str) -> float:
        wanted = _words(one.example.question if self.of == "question" else one.example.answer or "")
        return len(wanted & _words(name)) / max(len(wanted), 1)


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


@dataclass(frozen=True)
class Position(Explainer):
    """How late a unit stands, or how early: a foil that sees no model."""

    facts = Facts(signed=False)

    first: bool = False

    def attribute(self, model: Any, batch: PromptBatch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        rows = []
        for one in batch.coded:
            count = len(one.names)
            late = [(number + 1) / count for number in range(count)]
            rows.append(late[::-1] if self.first else late)
        return _of_units(batch, rows)


@dataclass(frozen=True)
class RetrieverOrder(Explainer):
    """What a search put first, as one over its rank: a foil that sees no model."""

    facts = Facts(signed=False)

    def attribute(self, model: Any, batch: PromptBatch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        rows = []
        for one in batch.coded:
            ranks = one.example.order or range(len(one.example.contexts))
            rows.append([1 / (1 + ranks[number]) if number >= 0 else 0.0 for number in one.passages])
        return _of_units(batch, rows)


def _of_units(batch: PromptBatch, rows: Sequence[Sequence[float]]) -> Tensor:
    """(prompts, units), or of the tokens that belong to each where the batch is by token."""
    made = torch.zeros(batch.there.shape, device=batch.tokens.device)
    for number, row in enumerate(rows):
        made[number, : len(row)] = torch.tensor(row, device=made.device)
    if batch.by_token:
        return torch.where(batch.unit >= 0, made.gather(1, batch.unit.clamp(min=0)), 0.0)
    return made * batch.there
