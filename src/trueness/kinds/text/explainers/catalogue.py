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
    "published": (
        "DeepLiftCourt2022",
        "GradientJW2019",
        "GradientMadsen2022",
        "IntegratedGradientsMadsen2022",
        "LeaveOneOutJW2019",
        "LimeCourt2022",
    ),
    "simple": ("Attention", "Rationale", "TokenNumber"),
    "transformers": ("AttentionFlow", "AttentionRollout", "GradientXAttention", "LayerAttention"),
}
"""Modules of this package, each with its explainers."""
_PUBLISHED = f"{_HERE}.published"
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
_add("gradient@jw2019", f"{_PUBLISHED}:GradientJW2019", "|g . e| of the probability, attention held constant")
_add("leave-one-out@jw2019", f"{_PUBLISHED}:LeaveOneOutJW2019", "total variation when a token is deleted")
_add("gradient@madsen2022", f"{_PUBLISHED}:GradientMadsen2022", "L2 norm over the vocabulary of the logit's gradient")
_add(
    "integrated-gradients@madsen2022",
    f"{_PUBLISHED}:IntegratedGradientsMadsen2022",
    "the same with each step scaled once more, as the code of Madsen et al. 2022",
)
_add(
    "integrated-gradients@court2022",
    "trueness.explainers.paths:IntegratedGradients",
    "the same of the probability from the padding token, as Order in the Court 2022",
    baselines="pad",
    output="probability",
)
_add(
    "deep-lift@court2022",
    f"{_PUBLISHED}:DeepLiftCourt2022",
    "gradient times way from padding: their DeepLIFT, Order in the Court 2022",
)
_add(
    "gradient-shap@court2022",
    "trueness.explainers.noisy_copies:GradientShap",
    "five points on the way from padding, of the probability, as Order in the Court 2022",
    n_samples=5,
    baselines="pad",
    output="probability",
)
_add(
    "lime@court2022",
    f"{_PUBLISHED}:LimeCourt2022",
    "LIME as Order in the Court 2022: padding for hidden tokens, equal places of a pair are one feature",
)
TEXT_EXPLAINERS.add_family(
    r"attention\[(\d+)(?:,(\d+))?\]",
    lambda layer, head: import_module(f"{_HERE}.transformers").LayerAttention(
        layer=int(layer), head=None if head is None else int(head)
    ),
    "LayerAttention",
    lambda one: one.name,
)
