"""Explanation methods that work on any kind of input. The classes load with torch when they are first asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trueness.explainers.catalogue import CLASSES, find
from trueness.explainers.contract import Explainer, Facts, Target, explainer
from trueness.registry import FILLED_BY

if TYPE_CHECKING:
    from trueness.explainers.from_captum import captum
    from trueness.explainers.from_lime import lime
    from trueness.explainers.from_shap import shap
    from trueness.explainers.gradients import Gradient, InputXGradient
    from trueness.explainers.leave_one_out import HideOne
    from trueness.explainers.masked_copies import KernelShap, Lime, Occlusion
    from trueness.explainers.noisy_copies import GradientShap, SmoothGradient
    from trueness.explainers.paths import IntegratedGradients
    from trueness.explainers.simple import Blurred, Random

OF_A_KIND = "explainers of a kind"
"""Under which the top of the package names the module that has explainers which were always found here."""

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
    "captum",
    "explainer",
    "lime",
    "shap",
]
_OF_OTHERS = {"captum": "from_captum", "lime": "from_lime", "shap": "from_shap"}
"""Functions that make explainers of those of other libraries, and their modules."""


def __getattr__(name: str) -> Any:
    if any(name in names for names in CLASSES.values()):
        return find(name)
    if name in _OF_OTHERS:
        return getattr(import_module(f"trueness.explainers.{_OF_OTHERS[name]}"), name)
    for module in FILLED_BY.get(OF_A_KIND, ()) if name in __all__ else ():
        return import_module(module).find(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
