"""Explainers of language models by name: where each is, and what it is. Torch loads with the first one."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from trueness.explainers.catalogue import add_common, add_later
from trueness.explainers.contract import explainers_of

PROMPT_EXPLAINERS = explainers_of("prompt", "trueness.prompt_explainers")
FOILS = ("random", "overlap-question", "overlap-answer", "position", "position-first", "retriever-order")
"""Explainers that look at no model."""

_HERE = "trueness.kinds.prompt.explainers"
_add = partial(add_later, PROMPT_EXPLAINERS)

add_common(PROMPT_EXPLAINERS, {"kernel-shap": {"output": "logit"}})
_add(
    "leave-one-out",
    f"{_HERE}.leave_one_out:LeaveOneOut",
    "change of the answer's log-likelihood when a passage is taken out, signed",
)
_add("lime", f"{_HERE}.masked_copies:Lime", "LIME: ridge regression on masked copies, signed", output="logit")
_add(
    "occlusion",
    f"{_HERE}.masked_copies:Occlusion",
    "change of the log-likelihood when neighbours are taken out together, signed",
    output="logit",
    sliding_window_shapes=2,
)
_add(
    "context-cite",
    f"{_HERE}.masked_copies:ContextCite",
    "ContextCite: sparse regression of the log-likelihood on 64 random ablations, signed",
)
_add(
    "attention",
    f"{_HERE}.attention:Attention",
    "attention from the answer, mean of layers and heads; attention[LAYER,HEAD]",
)
_add("attention-last", f"{_HERE}.attention:Attention", "attention from the answer in the last layer", layer=-1)
_add("attention-rollout", f"{_HERE}.attention:AttentionRollout", "attention multiplied through the layers")
_add("citations", f"{_HERE}.told:Citations", "what the answer cites")
_add("overlap-question", f"{_HERE}.told:Overlap", "words shared with the question: a foil that sees no model")
_add("overlap-answer", f"{_HERE}.told:Overlap", "words shared with the answer: a foil that sees no model", of="answer")
_add("position", f"{_HERE}.told:Position", "the last passage first: a foil that sees no model")
_add("position-first", f"{_HERE}.told:Position", "the first passage first: a foil that sees no model", first=True)
_add("retriever-order", f"{_HERE}.told:RetrieverOrder", "what the search put first: a foil that sees no model")
PROMPT_EXPLAINERS.add_family(
    r"attention\[(\d+)(?:,(\d+))?\]",
    lambda layer, head: import_module(f"{_HERE}.attention").Attention(
        layer=int(layer), head=None if head is None else int(head)
    ),
    "Attention",
    lambda one: f"attention[{one.layer}]" if one.head is None else f"attention[{one.layer},{one.head}]",
)
