"""The kind `prompt`: questions to language models, explained passage by passage."""

from __future__ import annotations

from typing import Any

from trueness.kinds.contract import Kind
from trueness.kinds.prompt.audit import FOILS, VIEW, WORDS, edit, oddities, sizes, usual
from trueness.kinds.prompt.data.reading import PromptData
from trueness.kinds.prompt.explainers.catalogue import PROMPT_EXPLAINERS
from trueness.kinds.prompt.explaining import PromptExplaining
from trueness.kinds.prompt.opening import PromptModels
from trueness.kinds.prompt.trials import TRIALS


def demo(*given: Any, **how: Any) -> dict[str, Any]:
    """See `run_demo`."""
    from trueness.kinds.prompt.demo import run_demo

    return run_demo(*given, **how)


PROMPT = Kind(
    name="prompt",
    words=WORDS,
    models=PromptModels(),
    data=PromptData(),
    explainers=PROMPT_EXPLAINERS,
    usual=usual,
    explaining=PromptExplaining(),
    foils=FOILS,
    edit=edit,
    trials=TRIALS,
    view=VIEW,
    oddities=oddities,
    sizes=sizes,
    demos={"llm": demo},
)
