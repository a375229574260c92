"""How models of prompts are opened: language models in any form, also with label words, and functions that answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.errors import UserError
from trueness.kinds.prompt.models.recognising import recognises
from trueness.models.families import LABEL_WORDS, Family, ModelsOfFamilies
from trueness.plugins import is_function
from trueness.registry import Registry

if TYPE_CHECKING:
    from trueness.kinds.prompt.models.functions import FunctionModel
    from trueness.kinds.prompt.models.prompt_model import PromptModel


@dataclass(frozen=True)
class LabelWords(Family):
    """A language model as a classifier: the words that stand for classes, and the prompt around a text."""

    labels: str = ""
    """With commas between them."""
    prompt: str = ""
    """With {text} where the text stands; empty: the usual one."""

    name = LABEL_WORDS
    attends = "layers"
    pretrained = True

    def recognises(self, config: Mapping[str, Any]) -> bool:  # noqa: ARG002  # asked for by name alone
        """Never: that a model is a classifier is said."""
        return False

    def train(self, data: Any, seeds: Sequence[int], **how: Any) -> Sequence[Any]:  # noqa: ARG002
        """Not here: UserError."""
        raise UserError("Language models are not trained here: give a folder that holds one.")


PROMPT_MODELS: Registry[Family] = Registry("model", group="trueness.prompt_models")
PROMPT_MODELS.add(LABEL_WORDS, LabelWords(), "a language model as a classifier by label words: labels, prompt")


class PromptModels(ModelsOfFamilies):
    """The models part of the kind `prompt`."""

    families = PROMPT_MODELS

    def recognises(self, model: Any) -> bool:
        """A folder or file of a language model, (model, tokenizer), a pipeline; a function of a question, passages."""
        if isinstance(model, str | Path) and is_function(model):
            return True
        return recognises(model) or (callable(model) and _answers(model))

    def open(self, model: Any, device: str = "cpu", family: Any = None) -> PromptModel | FunctionModel:
        """A model on a device."""
        from trueness.kinds.prompt.calibration import calibrate
        from trueness.kinds.prompt.data.form import Form

        if (isinstance(model, str) and is_function(model)) or (callable(model) and _answers(model)):
            if family is not None:
                raise UserError(f"{model} is a function: leave out family.")
            from trueness.kinds.prompt.models.functions import open_function

            return open_function(model)
        from trueness.kinds.prompt.models.opening import open_model

        if family is None:
            return open_model(model, device)
        words = self.families[family] if isinstance(family, str) else family
        if not isinstance(words, LabelWords):
            raise UserError(f"{family} is no family of language models: known is {LABEL_WORDS}.")
        form = Form(prompt=words.prompt)
        found = open_model(model, device, labels=tuple(words.labels.split(",")), form=form)
        calibrate(found)
        return found


def _answers(function: Any) -> bool:
    """Whether a function takes a question and passages."""
    import inspect

    if hasattr(function, "predict_proba") or isinstance(function, type):
        return False
    try:
        signature = inspect.signature(function)
        signature.bind("", [])
    except (TypeError, ValueError):
        return False
    needed = [one for one in signature.parameters.values() if one.default is one.empty and one.kind < 2]
    return len(needed) == 2
