"""Explainers of text by name: where each is, with which settings, and what it is. Torch loads with the first one."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from trueness.explainers.contract import TEXT_EXPLAINERS, Explainer

MODULES = {
    "trueness.kinds.text.explainers.deep_lift": ("DeepLift", "DeepShap"),
    "trueness.explainers.gradients": ("Gradient", "GradientJW2019", "GradientMadsen2022", "InputXGradient"),
    "trueness.kinds.text.explainers.leave_one_out": ("LeaveOneOut", "LeaveOneOutJW2019"),
    "trueness.explainers.masked_copies": ("KernelShap", "Lime", "Occlusion"),
    "trueness.explainers.noisy_copies": ("GradientShap", "SmoothGradient"),
    "trueness.explainers.paths": ("DeepLiftCourt2022", "IntegratedGradients", "IntegratedGradientsMadsen2022"),
    "trueness.explainers.simple": ("Attention", "Blurred", "Random", "Rationale", "TokenNumber"),
    "trueness.kinds.text.explainers.transformers": (
        "AttentionFlow",
        "AttentionRollout",
        "GradientXAttention",
        "LayerAttention",
    ),
}
"""Modules, each with its explainers."""


def find(name: str) -> Any:
    """The explainer of that class name."""
    module = next(module for module, names in MODULES.items() if name in names)
    return getattr(import_module(module), name)


def _make(name: str, settings: dict[str, Any]) -> Explainer:
    made: Explainer = find(name)(**settings)
    return made


def _add(name: str, class_name: str, description: str, **settings: Any) -> None:
    TEXT_EXPLAINERS.add_later(name, partial(_make, class_name, settings), description)


_add("gradient", "Gradient", "L2 norm of the logit's gradient at the embedding")
_add("gradient@jw2019", "GradientJW2019", "|g . e| of the probability, attention held constant")
_add("gradient@madsen2022", "GradientMadsen2022", "L2 norm over the vocabulary of the logit's gradient")
_add("input-x-gradient", "InputXGradient", "gradient of the logit times the embedding, signed")
_add("leave-one-out", "LeaveOneOut", "change of the target's probability when a token is deleted, signed")
_add("leave-one-out-mask", "LeaveOneOut", "the same with the token replaced by the mask token", replace="mask")
_add("leave-one-out@jw2019", "LeaveOneOutJW2019", "total variation when a token is deleted")
_add("lime", "Lime", "LIME: ridge regression on 1,000 masked copies, signed")
_add(
    "lime@court2022",
    "Lime",
    "LIME as Order in the Court 2022: padding for hidden tokens, equal places of a pair are one feature",
    width=1.0,
    hiding="pad",
    restart=True,
)
_add("kernel-shap", "KernelShap", "Kernel SHAP: Shapley values from masked copies, signed")
_add("occlusion", "Occlusion", "change of the output when spans of three tokens are masked, signed")
_add(
    "integrated-gradients", "IntegratedGradients", "gradients averaged from zero vectors to the text, times it, signed"
)
_add(
    "integrated-gradients@madsen2022",
    "IntegratedGradientsMadsen2022",
    "the same with each step scaled once more, as the code of Madsen et al. 2022",
)
_add(
    "integrated-gradients@court2022",
    "IntegratedGradients",
    "the same of the probability from the padding token, as Order in the Court 2022",
    baselines="pad",
    output="probability",
)
_add(
    "deep-lift@court2022",
    "DeepLiftCourt2022",
    "gradient times way from padding: their DeepLIFT, Order in the Court 2022",
)
_add(
    "gradient-shap@court2022",
    "GradientShap",
    "five points on the way from padding, of the probability, as Order in the Court 2022",
    n_samples=5,
    baselines="pad",
    output="probability",
)
_add("gradient-shap", "GradientShap", "expected gradients: random points of the way, signed")
_add("smooth-gradient", "SmoothGradient", "L2 norm of the gradient averaged over noisy copies")
_add("deep-lift", "DeepLift", "DeepLIFT: differences from zero vectors shared by the rescale rule, signed")
_add("deep-shap", "DeepShap", "DeepLIFT averaged over twenty texts of random words, signed")
_add(
    "attention",
    "Attention",
    "the model's own attention weights; of a transformer also attention[LAYER], attention[LAYER,HEAD]",
)
_add("random", "Random", "random scores, fixed by a seed: the baseline")
_add("token-number", "TokenNumber", "a token's number in the vocabulary: a foil that sees no model")
_add("rationale", "Rationale", "what a rationale model selected")
_add("attention-flow", "AttentionFlow", "the largest flow through all of a transformer's attention")
_add("attention-rollout", "AttentionRollout", "attention multiplied through a transformer's layers")
_add("gradient-x-attention", "GradientXAttention", "a transformer's last attention times its gradient")
TEXT_EXPLAINERS.add_family(
    r"blurred\[(.+)\]",
    lambda name: _make("Blurred", {"sharp": TEXT_EXPLAINERS[name]}),
    "Blurred",
    lambda one: f"blurred[{TEXT_EXPLAINERS.name_of(one.sharp)}]",
)
TEXT_EXPLAINERS.add_family(
    r"attention\[(\d+)(?:,(\d+))?\]",
    lambda layer, head: _make("LayerAttention", {"layer": int(layer), "head": None if head is None else int(head)}),
    "LayerAttention",
    lambda one: one.name,
)
