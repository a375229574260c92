"""Classifiers and how they are trained. What needs torch loads when it is first asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trueness.models.families import TEXT_MODELS, Family
from trueness.models.linear import VECTOR_MODELS, LinearModel

if TYPE_CHECKING:
    from trueness.models.black_box import load_black_box
    from trueness.models.classifier import Classifier
    from trueness.models.network import Prediction, TextNetwork

__all__ = [
    "TEXT_MODELS",
    "VECTOR_MODELS",
    "Classifier",
    "Family",
    "LinearModel",
    "Prediction",
    "TextNetwork",
    "load_black_box",
]
_HOME = {"Classifier": "classifier", "load_black_box": "black_box", "Prediction": "network", "TextNetwork": "network"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"trueness.models.{_HOME[name]}"), name)
