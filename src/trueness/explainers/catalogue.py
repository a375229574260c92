"""The explainers that work on every kind of input, by name. Torch loads with the first one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

from trueness.explainers.contract import Explainer
from trueness.registry import Registry

CLASSES = {
    "gradients": ("Gradient", "InputXGradient"),
    "leave_one_out": ("HideOne",),
    "masked_copies": ("KernelShap", "Lime", "Occlusion"),
    "noisy_copies": ("GradientShap", "SmoothGradient"),
    "paths": ("IntegratedGradients",),
    "simple": ("Blurred", "Random"),
}
"""Modules of this package, each with its explainers."""
_COMMON = {
    "gradient": ("Gradient", "size of the logit's gradient"),
    "input-x-gradient": ("InputXGradient", "gradient of the logit times the way from a blank example, signed"),
    "integrated-gradients": (
        "IntegratedGradients",
        "gradients averaged on the way from a blank example, times it, signed",
    ),
    "gradient-shap": ("GradientShap", "expected gradients: random points of the way, signed"),
    "smooth-gradient": ("SmoothGradient", "size of the gradient averaged over noisy copies"),
    "lime": ("Lime", "LIME: ridge regression on 1,000 masked copies, signed"),
    "kernel-shap": ("KernelShap", "Kernel SHAP: Shapley values from masked copies, signed"),
    "occlusion": ("Occlusion", "change of the output when neighbours are hidden together, signed"),
    "leave-one-out": ("HideOne", "change of the probability when one unit is hidden, signed"),
    "random": ("Random", "random scores, fixed by a seed: the baseline"),
}


def find(name: str) -> Any:
    """The explainer of that class name."""
    module = next(module for module, names in CLASSES.items() if name in names)
    return getattr(import_module(f"trueness.explainers.{module}"), name)


def _make(name: str, settings: Mapping[str, Any]) -> Explainer:
    made: Explainer = find(name)(**settings)
    return made


def add_common(registry: Registry[Explainer], settings: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Register the methods that work on every kind, some with other settings; also `blurred[NAME]`."""
    for name, (class_name, description) in _COMMON.items():
        registry.add_later(name, partial(_make, class_name, (settings or {}).get(name, {})), description)
    registry.add_family(
        r"blurred\[(.+)\]",
        lambda name: _make("Blurred", {"sharp": registry[name]}),
        "Blurred",
        lambda one: f"blurred[{registry.name_of(one.sharp)}]",
    )


def add_later(registry: Registry[Explainer], name: str, address: str, description: str, **settings: Any) -> None:
    """Register what a class at `module:Name` makes of some settings, loaded when it is first asked for."""
    module, _, class_name = address.partition(":")
    registry.add_later(name, lambda: getattr(import_module(module), class_name)(**settings), description)
