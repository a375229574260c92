"""How prompts are given to `tn.explain`, and how the scores of their passages are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.data.dataset import Dataset
from trueness.errors import UserError
from trueness.kinds.prompt.audit import VIEW
from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples
from trueness.kinds.prompt.data.reading import PromptData

if TYPE_CHECKING:
    from trueness.stats.undefined import Floats


class PromptExplaining:
    """What `tn.explain` asks of the kind `prompt`."""

    finest = False
    """Passages are explained, not their tokens."""

    def usual(self, model: Any) -> list[str]:
        """What hides passages first; attention and gradients where the model has them."""
        if not model.network.differentiable:
            return ["leave-one-out", "citations"]
        return ["leave-one-out", "context-cite", "attention", "gradient"]

    def is_data(self, examples: Any) -> bool:
        """A dataset or the path of a file; a string is always a question."""
        return isinstance(examples, Dataset | Path)

    def given(self, examples: Any, model: Any, others: Sequence[str] | None = None) -> tuple[PromptExamples, bool]:
        """Questions, examples, or mappings with question, contexts and answer; without an answer one is generated."""
        if others is not None:
            raise UserError("Prompts have no second texts: leave out others.")
        listed = [examples] if isinstance(examples, str | PromptExample | Mapping) else list(examples)
        found = PromptExamples()
        for number, one in enumerate(listed, 1):
            if isinstance(one, Mapping):
                read = PromptData().read([one], model=model)
                found.extend(next(iter(read.splits.values())))
            elif isinstance(one, str | PromptExample):
                found.append(PromptExample(one) if isinstance(one, str) else one)
            else:
                raise UserError(
                    f"Prompt {number} of {len(listed)} is an object of type {type(one).__name__}: give a question, or "
                    "question, contexts and answer by name."
                )
        answered = found if model.labels else model.answered(found)
        return answered, bool((found.labels < 0).any()) if found else True

    def shown(self, model: Any, examples: PromptExamples, row: int, scores: Floats) -> Mapping[str, Any]:
        """One bar for each passage; words of a question without any."""
        (content,) = VIEW.contents(model, examples.pick([row]))
        passages = bool(examples[row].contexts)
        return {
            "tokens": tuple(map(_line, content.units)) if passages else content.units,
            "scores": tuple(VIEW.scores(model, examples, row, scores)),
            "note": content.beside,
            "bars": passages,
        }


def _line(passage: str) -> str:
    text = " ".join(passage.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_LONGEST = 90
"""Characters of a passage beside its bar."""
