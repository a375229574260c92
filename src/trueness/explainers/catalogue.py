"""All explainers of text, registered; importing this loads torch."""

from trueness.explainers.gradients import Gradient, GradientJW2019, GradientMadsen2022, InputXGradient
from trueness.explainers.leave_one_out import LeaveOneOut
from trueness.explainers.simple import Attention, Random
from trueness.explainers.text import TEXT_EXPLAINERS, Target, TextExplainer, explainer

__all__ = [
    "TEXT_EXPLAINERS",
    "Attention",
    "Gradient",
    "GradientJW2019",
    "GradientMadsen2022",
    "InputXGradient",
    "LeaveOneOut",
    "Random",
    "Target",
    "TextExplainer",
    "explainer",
]
