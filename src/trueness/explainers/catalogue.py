"""All explainers of text, registered; importing this loads torch."""

from trueness.explainers.blurred import Blurred
from trueness.explainers.deep_lift import DeepLift, DeepShap
from trueness.explainers.flow import AttentionFlow
from trueness.explainers.gradients import Gradient, GradientJW2019, GradientMadsen2022, InputXGradient
from trueness.explainers.leave_one_out import LeaveOneOut
from trueness.explainers.masking import KernelShap, Lime, Occlusion
from trueness.explainers.paths import (
    DeepLiftCourt2022,
    GradientShap,
    IntegratedGradients,
    IntegratedGradientsMadsen2022,
    SmoothGradient,
)
from trueness.explainers.simple import Attention, Random
from trueness.explainers.text import TEXT_EXPLAINERS, Target, TextExplainer, explainer
from trueness.explainers.transformers import AttentionRollout, GradientXAttention, LayerAttention

__all__ = [
    "TEXT_EXPLAINERS",
    "Attention",
    "AttentionFlow",
    "AttentionRollout",
    "Blurred",
    "DeepLift",
    "DeepLiftCourt2022",
    "DeepShap",
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
    "Lime",
    "Occlusion",
    "Random",
    "SmoothGradient",
    "Target",
    "TextExplainer",
    "explainer",
]
