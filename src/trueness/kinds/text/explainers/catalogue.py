"""Explainers of text by name: where each is, with which settings, and what it is. Torch loads with the first one."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from trueness.explainers.catalogue import add_common, add_later
from trueness.explainers.contract import explainers_of

TEXT_EXPLAINERS = explainers_of("text", "trueness.explainers")

_HERE = "trueness.kinds.text.explainers"
CLASSES = {
    "deep_lift": ("DeepLift", "DeepShap"),
    "leave_one_out": ("LeaveOneOut",),
    "simple": ("Attention", "Rationale", "TokenNumber"),
    "transformers": ("AttentionFlow", "AttentionRollout", "GradientXAttention", "LayerAttention"),
}
"""Modules of this package, each with its explainers."""
_add = partial(add_later, TEXT_EXPLAINERS)


def find(name: str) -> Any:
    """The explainer of that class name."""
    if name == "TEXT_EXPLAINERS":
        return TEXT_EXPLAINERS
    module = next(module for module, names in CLASSES.items() if name in names)
    return getattr(import_module(f"{_HERE}.{module}"), name)


add_common(TEXT_EXPLAINERS)
_add(
    "leave-one-out",
    f"{_HERE}.leave_one_out:LeaveOneOut",
    "change of the target's probability when a token is deleted, signed",
)
_add(
    "leave-one-out-mask",
    "trueness.explainers.leave_one_out:HideOne",
    "the same with the token replaced by the mask token",
)
_add(
    "deep-lift",
    f"{_HERE}.deep_lift:DeepLift",
    "DeepLIFT: differences from zero vectors shared by the rescale rule, signed",
)
_add("deep-shap", f"{_HERE}.deep_lift:DeepShap", "DeepLIFT averaged over twenty texts of random words, signed")
_add(
    "attention",
    f"{_HERE}.simple:Attention",
    "the model's own attention weights; of a transformer also attention[LAYER], attention[LAYER,HEAD]",
)
_add("token-number", f"{_HERE}.simple:TokenNumber", "a token's number in the vocabulary: a foil that sees no model")
_add("rationale", f"{_HERE}.simple:Rationale", "what a rationale model selected")
_add(
    "attention-flow",
    f"{_HERE}.transformers:AttentionFlow",
    "the largest flow through all of a transformer's attention",
)
_add(
    "attention-rollout",
    f"{_HERE}.transformers:AttentionRollout",
    "attention multiplied through a transformer's layers",
)
_add(
    "gradient-x-attention",
    f"{_HERE}.transformers:GradientXAttention",
    "a transformer's last attention times its gradient",
)
TEXT_EXPLAINERS.add_family(
    r"attention\[(\d+)(?:,(\d+))?\]",
    lambda layer, head: import_module(f"{_HERE}.transformers").LayerAttention(
        layer=int(layer), head=None if head is None else int(head)
    ),
    "LayerAttention",
    lambda one: one.name,
)
