"""Explanation methods that work on any kind of input. The classes load with torch when they are first asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trueness.explainers.contract import TEXT_EXPLAINERS, Explainer, Facts, Target, explainer

if TYPE_CHECKING:
    from trueness.explainers.gradients import Gradient, GradientJW2019, GradientMadsen2022, InputXGradient
    from trueness.explainers.masked_copies import KernelShap, Lime, Occlusion
    from trueness.explainers.noisy_copies import GradientShap, SmoothGradient
    from trueness.explainers.paths import DeepLiftCourt2022, IntegratedGradients, IntegratedGradientsMadsen2022
    from trueness.explainers.simple import Attention, Blurred, Random, Rationale, TokenNumber
    from trueness.kinds.text.explainers.deep_lift import DeepLift, DeepShap
    from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut, LeaveOneOutJW2019
    from trueness.kinds.text.explainers.transformers import (
        AttentionFlow,
        AttentionRollout,
        GradientXAttention,
        LayerAttention,
    )

__all__ = [
    "TEXT_EXPLAINERS",
    "Attention",
    "AttentionFlow",
    "AttentionRollout",
    "Blurred",
    "DeepLift",
    "DeepLiftCourt2022",
    "DeepShap",
    "Explainer",
    "Facts",
    "Gradient",
    "GradientJW2019",
    "GradientMadsen2022",
    "GradientShap",
    "GradientXAttention",
    "InputXGradient",
    "IntegratedGradients",
    "IntegratedGradientsMadsen2022",
    "KernelShap",
    "LayerAttention",
    "LeaveOneOut",
    "LeaveOneOutJW2019",
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
    if name in __all__:
        return import_module("trueness.kinds.text.explainers.catalogue").find(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
