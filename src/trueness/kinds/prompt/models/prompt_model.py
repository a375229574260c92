"""A language model with its tokeniser, the wording of its prompts, and what it chooses between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from trueness.errors import UserError
from trueness.kinds.prompt.data.batches import PromptSplit
from trueness.kinds.prompt.data.coding import Coded, Coder, Units, sentences
from trueness.kinds.prompt.data.form import Form
from trueness.kinds.prompt.data.prompts import ANSWER_CLASSES, PromptExample, PromptExamples
from trueness.kinds.prompt.models.network import PromptNetwork, Score
from trueness.models.predictor import class_names
from trueness.models.pretrained import quiet

_MOST = 32
"""Tokens of an answer."""
_UNLIMITED = 1 << 20


@dataclass(frozen=True, repr=False)
class PromptModel:
    """What is asked, how, and what is a unit."""

    kind = "prompt"
    network: PromptNetwork = field(repr=False)
    tokenizer: Any = field(repr=False)
    form: Form = field(default_factory=Form)
    labels: tuple[str, ...] = ()
    """The label words; none where it answers freely."""
    units: Units = "auto"
    history: tuple[Mapping[str, float], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        what = f"labels {', '.join(self.labels)}" if self.labels else "free answers"
        return f"<{type(self).__name__} {type(self.network.model).__name__}: {what}>"

    @property
    def classes(self) -> tuple[str, ...]:
        """The label words, or the answer and what stands against it."""
        return self.labels or ANSWER_CLASSES

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.network.device

    def with_(self, **changes: Any) -> PromptModel:
        """The same model with another `form`, other `labels` or `units`, or another `score`; weights are shared."""
        score: Score = changes.pop("score", self.network.score)
        made = replace(self, **changes)
        network = network_of(self.network.model, made.labels, score)
        network.reader = self.network.reader
        return replace(made, network=network)

    def coder(self, units: Units | None = None) -> Coder:
        """How examples become tokens."""
        apart = self.network.reader.apart
        return Coder(self.tokenizer, self.form, self.longest, units or self.units, decoder=apart)

    @property
    def longest(self) -> int:
        """How many tokens the model reads."""
        config = self.network.model.config.get_text_config(decoder=True)
        positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        limit = int(min(getattr(self.tokenizer, "model_max_length", _UNLIMITED), _UNLIMITED))
        return min(limit, int(positions or _UNLIMITED))

    def code(self, examples: Sequence[PromptExample], units: Units | None = None) -> list[Coded]:
        """Their tokens and units; an answer that is not given is generated."""
        coder = self.coder(units)
        if self.labels:
            return [coder.code(one, self.labels) for one in examples]
        return [coder.code(one, (str(one.answer), *_others(one))) for one in self.answered(examples)]

    def coded(self, examples: Sequence[PromptExample], units: Units | None = None) -> PromptSplit:
        """Examples on the model's device, ready to be batched."""
        labels = [one.label for one in examples]
        how = units or self.units
        blank = self._blank_token() if how == "tokens" else None
        return PromptSplit(self.code(examples, units), labels, self.device, blank)

    def _blank_token(self) -> int:
        """What stands in the place of a hidden token: the first there is of mask, unknown, padding and end."""
        names = ("mask_token_id", "unk_token_id", "pad_token_id", "eos_token_id")
        found = [number for name in names if (number := getattr(self.tokenizer, name, None)) is not None]
        if not found:
            raise UserError("The tokeniser has no token that could stand for a hidden one: take words as units.")
        return int(found[0])

    def texts(self, examples: Sequence[PromptExample]) -> list[tuple[str, ...]]:
        """The text of each unit of each example; no answer is needed."""
        coder = self.coder()
        return [coder.code(one, ("a",)).names for one in examples]

    def answered(self, examples: Sequence[PromptExample], max_tokens: int = _MOST) -> PromptExamples:
        """The same with answers; those that were not given are the model's own."""
        missing = [number for number, one in enumerate(examples) if one.answer is None]
        said = dict(zip(missing, self.generate([examples[number] for number in missing], max_tokens), strict=True))
        given = (replace(one, answer=said[number]) if number in said else one for number, one in enumerate(examples))
        return PromptExamples(given)

    def generate(self, examples: Sequence[PromptExample], max_tokens: int = _MOST) -> list[str]:
        """What the model answers, always taking the likeliest token; what every answer begins with is left out."""
        coder, found = self.coder(), []
        for one in examples:
            coded = coder.code(replace(one, answer=None, part=None), ("a",))
            found.append(self._continued(coded, max_tokens))
        return found

    @torch.no_grad()
    def _continued(self, coded: Coded, max_tokens: int) -> str:
        model = self.network.model
        before = model.training
        model.eval()
        end = getattr(self.tokenizer, "eos_token_id", None)
        filling = end if getattr(self.tokenizer, "pad_token_id", None) is None else self.tokenizer.pad_token_id
        ids = torch.tensor([coded.tokens], device=self.device)
        begun = (
            [model.config.decoder_start_token_id, *coded.answers[0][: coded.begun]] if self.network.reader.apart else []
        )
        more = {"decoder_input_ids": torch.tensor([begun], device=self.device)} if begun else {}
        try:
            with quiet():
                made = model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=max_tokens,
                    do_sample=False,
                    num_beams=1,
                    pad_token_id=0 if filling is None else filling,
                    **more,
                )
        finally:
            model.train(before)
        new = made[0, len(begun) if begun else ids.shape[1] :]
        said: str = self.tokenizer.decode(new, skip_special_tokens=True)
        return said.strip().split("\n\n")[0].strip()

    def by_sentence(self, examples: Sequence[PromptExample]) -> tuple[PromptExamples, list[int]]:
        """One example for each sentence of each answer, whose likelihood alone counts; and which example each is of."""
        found, rows = PromptExamples(), []
        for row, one in enumerate(self.answered(examples)):
            for part in sentences(str(one.answer)):
                found.append(replace(one, part=part))
                rows.append(row)
        return found, rows

    def save(self, folder: str | Path) -> Path:
        """Write the model and its tokeniser as `save_pretrained` does."""
        path = Path(folder)
        self.network.model.save_pretrained(path)
        self.tokenizer.save_pretrained(path)
        return path


def _others(example: PromptExample) -> tuple[str, ...]:
    return tuple(one for one in example.alternatives if one != example.answer)


def network_of(model: Any, labels: Sequence[str] = (), score: Score = "auto") -> PromptNetwork:
    """The network that asks a model of transformers about these label words, or about free answers."""
    names = class_names(labels, "the prompt") if labels else ANSWER_CLASSES
    made: PromptNetwork = PromptNetwork(model, len(names or ()), labelled=bool(labels), score=score).eval()
    return made
