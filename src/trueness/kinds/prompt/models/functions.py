"""A model that is only a function: (question, contexts) -> answer, as services are asked for answers with sources.

What such a model says of an answer when passages are hidden: whether it still gives it. A short answer has to be in
what the function says, of a longer one the shared words count; where the service gives probabilities, these do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from trueness.errors import Unsupported, UserError
from trueness.kinds.prompt.data.answers import kept_share, told_apart, words_of
from trueness.kinds.prompt.data.batches import PromptBatch, PromptSplit
from trueness.kinds.prompt.data.coding import OUTSIDE, Coded
from trueness.kinds.prompt.data.prompts import ANSWER_CLASSES, PromptExample, PromptExamples
from trueness.kinds.prompt.models.calls import Reply, Service
from trueness.models.network import Network
from trueness.models.predictor import Predictor, find_predictor

SURE = 0.98
"""The probability of an answer that the function gives again word for word; of one that it does not, 1 less this."""
_ASKED_AGAIN = 5
"""Questions that are asked twice, to see whether the function repeats itself."""


class FunctionNetwork(Network):
    """Asks a function what it answers without what is hidden; its logits are those of the answer that it gave first."""

    differentiable = False
    family = "function"

    def __init__(self, predictor: Predictor) -> None:
        super().__init__()
        self.predictor = predictor
        self.service = Service(predictor.name, predictor.function)
        self.shape = {"classes": len(ANSWER_CLASSES)}
        # It holds no weights; what asks for the device and the precision of a network looks here.
        self.nothing = nn.Parameter(torch.zeros(1, dtype=torch.float64), requires_grad=False)

    def logits(self, batch: PromptBatch, *, values: Tensor | None = None) -> Tensor:
        """(examples, 2) of the answer, and of any other."""
        if values is not None:
            self._refuse()
        shown = batch.shown_examples()
        replies = self.service.replies([(one.question, one.contexts) for one in shown])
        found = [likelihood(one.example, reply) for one, reply in zip(batch.coded, replies, strict=True)]
        chance = torch.tensor(found, dtype=torch.float64, device=self.device)
        return torch.stack([chance, 1 - chance], dim=-1).log()

    def values(self, batch: PromptBatch) -> NoReturn:  # noqa: ARG002  # there is nothing to look at
        """A function has no vectors: Unsupported."""
        self._refuse()

    def to_units(self, per_value: Tensor, batch: PromptBatch) -> Tensor:
        """The sum over what stands for each unit."""
        return batch.summed(per_value)

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # the same for all
        """A word."""
        return 16

    def _refuse(self) -> NoReturn:
        raise Unsupported(f"{self.predictor.name} is a function: it has no embeddings, attention or gradients.")


def likelihood(example: PromptExample, reply: Reply) -> float:
    """How likely the answer of an example is by what the function says now."""
    answer = str(example.answer)
    said = told_apart(answer, example.alternatives, reply.answer) if example.alternatives else -1.0
    share = kept_share(answer, reply.answer) if said < 0 else said
    if reply.likelihood is not None and share in (0.0, 1.0):
        share = reply.likelihood if share else 1 - reply.likelihood
    return min(max(share, 1 - SURE), SURE)


@dataclass(frozen=True, repr=False)
class FunctionModel:
    """A function as a model of prompts: its units are passages, or words where there are none."""

    kind = "prompt"
    network: FunctionNetwork = field(repr=False)
    classes: tuple[str, ...] = ANSWER_CLASSES
    labels: tuple[str, ...] = ()
    units: str = "auto"
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.network.predictor.name

    @property
    def service(self) -> Service:
        """Where answers come from."""
        return self.network.service

    def coded(self, examples: Sequence[PromptExample], units: str | None = None) -> PromptSplit:
        """Examples, ready to be batched."""
        if (units or self.units) not in ("auto", "passages", "words"):
            raise UserError(f"A function is explained by passages or words, not {units or self.units}.")
        coded = [_coded(one) for one in self.answered(examples)]
        return PromptSplit(coded, [one.label for one in examples], self.network.device)

    def answered(self, examples: Sequence[PromptExample], max_tokens: int = 0) -> PromptExamples:  # noqa: ARG002
        """Each with an answer: what the function says, and cites, where none is given."""
        missing = [one for one in examples if one.answer is None]
        replies = iter(self.service.replies([(one.question, one.contexts) for one in missing]))
        return PromptExamples(one if one.answer is not None else _with(one, next(replies)) for one in examples)

    def texts(self, examples: Sequence[PromptExample]) -> list[tuple[str, ...]]:
        """The units of each example."""
        return [_units(one) for one in examples]

    def changing(self, examples: Sequence[PromptExample]) -> tuple[int, int]:
        """Of some questions that were asked again, how many got another answer; and how many were asked."""
        some = list(examples[:_ASKED_AGAIN])
        before = self.service.replies([(one.question, one.contexts) for one in some])
        after = [self.service.ask((one.question, one.contexts)) for one in some]
        other = sum(words_of(one.answer) != words_of(two.answer) for one, two in zip(before, after, strict=True))
        return other, len(some)

    def save(self, folder: str | Path) -> NoReturn:
        """A function is not kept: UserError."""
        raise UserError(f"{self.network.predictor.name} is a function, not a model that could be saved to {folder}.")


def open_function(model: Any) -> FunctionModel:
    """A function by its address, or itself; nothing of it is called."""
    return FunctionModel(FunctionNetwork(find_predictor(model, "", [])).eval())


def _with(example: PromptExample, reply: Reply) -> PromptExample:
    return replace(example, answer=reply.answer, citations=reply.citations)


def _units(example: PromptExample) -> tuple[str, ...]:
    return example.contexts or tuple(example.question.split())


def _coded(example: PromptExample) -> Coded:
    """One token for the question, and one for each unit: they only number what is hidden."""
    names = _units(example)
    first = int.from_bytes(blake2b(repr((example.question, names)).encode(), digest_size=7).digest())
    unit = (OUTSIDE, *range(len(names)))
    passages = tuple(range(len(names))) if example.contexts else (OUTSIDE,) * len(names)
    return Coded(example, (first, *range(len(names))), unit, unit, names, passages, ((),), ((),))
