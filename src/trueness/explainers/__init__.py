"""Explanation methods that work on any kind of input. The classes load with torch when they are first asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trueness.explainers.catalogue import CLASSES, find
from trueness.explainers.contract import Explainer, Facts, Target, explainer

if TYPE_CHECKING:
    from trueness.explainers.gradients import Gradient, InputXGradient
    from trueness.explainers.leave_one_out import HideOne
    from trueness.explainers.masked_copies import KernelShap, Lime, Occlusion
    from trueness.explainers.noisy_copies import GradientShap, SmoothGradient
    from trueness.explainers.paths import IntegratedGradients
    from trueness.explainers.simple import Blurred, Random

__all__ = [
    "Attention",
    "AttentionFlow",
    "AttentionRollout",
    "Blurred",
    "DeepLift",
    "DeepShap",
    "Explainer",
    "Facts",
    "Gradient",
    "GradientShap",
    "GradientXAttention",
    "HideOne",
    "InputXGradient",
    "IntegratedGradients",
    "KernelShap",
    "LayerAttention",
    "LeaveOneOut",
    "Lime",
    "Occlusion",
    "Random",
    "Rationale",
    "SmoothGradient",
    "Target",
    "TokenNumber",
    "explainer",
]


def __getattr__(name: str) -> Any:
    if any(name in names for names in CLASSES.values()):
        return find(name)
    if name in __all__:  # only models of texts have these; they were always found here
        return import_module("trueness.kinds.text.explainers.catalogue").find(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
